"""prophase runs demo: a campaign from nothing to exported rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, as_typed, emit, progress_bar, typed_command
from prophase.cli.runs.options import log_to_stderr


def command(
    folder: Annotated[Path, typer.Argument(help="Folder for the example.")] = Path("runs-demo"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Only the heavy scenario, at one date.")
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """Run the built-in pipeline: 27 small tasks, two scenarios, two dates, in about a minute.

    Memory is really allocated. On the heavy scenario one task runs out of it and is run again
    with more.

    Example:

    `prophase runs demo`
    """
    from prophase.runs.demo import example_campaign
    from prophase.runs.export import export
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
    emit(
        rows,
        format,
        remarks=[
            f"{exported['jobs']:,} task rows and {exported.get('usage', 0):,} samples are in "
            f"{as_typed(folder / 'ws')}; {lifted} times memory ran out and was lifted.",
            f"Next: prophase describe {as_typed(folder / 'ws')}",
        ],
    )
