"""prophase runs init, register, set, demo: make a campaign and change it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    progress_bar,
    show_result,
    typed_command,
)
from prophase.cli.runs.options import (
    DEFAULT_CAMPAIGN,
    CampaignOption,
    log_to_stderr,
    named,
    opened,
    who,
)
from prophase.plural import counted
from prophase.result import Result


def init_command(
    pipeline: Annotated[Path, typer.Argument(help="YAML file of the pipeline.")],
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    database: Annotated[
        str | None,
        typer.Option(help="postgresql://USER@HOST/NAME; without it, a SQLite file in the folder."),
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Make a campaign for a pipeline, or bring the tables of one up to date.

    Example:

    `prophase runs init pipeline.yaml --database postgresql://me@db/campaigns`
    """
    from prophase.runs.campaign import Campaign
    from prophase.runs.pipeline import read_pipeline

    made = Campaign.create(campaign, pipeline, database=database)
    tasks = read_pipeline(pipeline).tasks
    rows = [
        {
            "task": task.name,
            "after": " ".join(task.after) or None,
            "memory_gib": task.memory_gib,
            "cpu_cores": task.cpu_cores,
            "attempts": task.attempts,
        }
        for task in tasks.values()
    ]
    where = f"{made.database.shown_url}"
    made.close()
    show_result(
        Result.of_rows(
            "runs-init",
            rows,
            notes=[
                f"Runs are kept in {where}",
                f"Next: prophase runs register FILE{named(campaign)}",
            ],
        ),
        format,
    )


def register_command(
    scenarios: Annotated[Path, typer.Argument(help="YAML file with the scenarios.")],
    dates: Annotated[
        list[str] | None,
        typer.Option(
            help="Dates of the runs: one, several joined by commas, or a range such as "
            "2024-01-01..2024-03-31/7."
        ),
    ] = None,
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Register the scenarios of a file at their dates, with the job code as it is now.

    What is registered already stays as it is; changed job code makes new runs.

    Example:

    `prophase runs register scenarios.yaml --dates 2024-01-01..2024-03-31/7`
    """
    from prophase.runs.status import state_counts

    with opened(campaign) as held:
        added, there = held.register(scenarios, dates or (), actor=who())
        show_result(
            Result.of_rows(
                "runs-register",
                state_counts(held),
                values={"added": added, "there_already": there},
                notes=[
                    f"{counted(added, 'run')} added, {there:,} there already.",
                    f"Next: prophase runs work{named(campaign)}",
                ],
            ),
            format,
        )


_ADVICE = "requests of the 1st, 2nd, 3rd try that a sizer recommends; advice=default forgets them"


def set_command(
    assignments: Annotated[
        list[str] | None, typer.Argument(help="KEY=VALUE; without any, all settings are shown.")
    ] = None,
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Change settings; they hold from the next cycle on, without a restart.

    Examples:

    `prophase runs set execute.parallel=4 execute.interval_s=30`

    `prophase runs set task.train.memory_gib=16`

    `prophase runs set advice=recommendation.json`, written by `prophase size ws --format json`
    """
    from prophase.runs.store.settings import known_setting

    with opened(campaign) as held:
        for assignment in assignments or ():
            held.set(assignment, actor=who())
        settings = held.settings.read()
        source, ladders = held.settings.recommended()
    touched = {assignment.partition("=")[0].strip() for assignment in assignments or ()}
    rows = [
        {"setting": key, "value": value, "what": known_setting(key).text}
        for key, value in settings.items()
        if not touched or key in touched
    ]
    if not touched or "advice" in touched:
        told = f"{source}: {counted(len(ladders), 'task')}" if source else None
        rows.append({"setting": "advice", "value": told, "what": _ADVICE})
    show_result(Result.of_rows("runs-set", rows), format)


def demo_command(
    folder: Annotated[Path, typer.Argument(help="Folder for the example.")] = Path("runs-demo"),
    quick: Annotated[bool, typer.Option("--quick", help="Smaller, and done in seconds.")] = False,
    format: FormatOption = Format.table,
) -> None:
    """Run the built-in pipeline: 27 small tasks, two scenarios, two dates, in about a minute.

    Memory is really allocated. On the heavy scenario one task runs out of it and is run again
    with more.

    Example:

    `prophase runs demo`
    """
    from prophase.runs.campaign import example_campaign
    from prophase.runs.measured_rows import export
    from prophase.runs.states import RunState
    from prophase.runs.worker import Worker

    log_to_stderr()
    campaign = example_campaign(folder, quick=quick)
    with progress_bar() as show:

        def stop() -> bool:
            counts = campaign.store.counts()
            done = counts.get(RunState.FINISHED, 0)
            show(f"{done} of {sum(counts.values())} runs finished", None)
            return False

        Worker(campaign).work(stop=stop)
    exported = export(campaign, folder / "ws", replace=True, command=typed_command())
    rows = [
        {
            "id": run,
            "task": row["task"],
            "attempt": row["attempt"],
            "request_gib": row["request_memory_gib"],
            "peak_gib": row["memory_peak_gib"],
            "status": row["status"],
        }
        for run, row in campaign.store.task_rows()
        if row["task"] == "train_trees"
    ]
    lifted = sum(row["status"] == "oom" for row in rows)
    campaign.close()
    show_result(
        Result.of_rows(
            "runs-demo",
            rows,
            notes=[
                f"{exported['jobs']:,} task rows and {exported.get('usage', 0):,} samples are in "
                f"{as_typed(folder / 'ws')}; {lifted} times memory ran out and was lifted.",
                f"Next: prophase describe {as_typed(folder / 'ws')}",
            ],
        ),
        format,
    )
