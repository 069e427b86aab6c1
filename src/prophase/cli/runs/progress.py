"""prophase runs status, show, reset: how far a campaign and its runs are."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, say, show_result, text_table
from prophase.cli.runs.options import (
    DEFAULT_CAMPAIGN,
    CampaignOption,
    ScenarioOption,
    SinceOption,
    StateOption,
    TaskOption,
    UntilOption,
    named,
    opened,
    who,
)
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.result import Result, Table

if TYPE_CHECKING:
    from prophase.runs.campaign import Campaign


_REFRESH_S = 1.0


def status_command(
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    failed: Annotated[
        bool, typer.Option("--failed", help="List the runs that failed, with their notes.")
    ] = False,
    all_runs: Annotated[bool, typer.Option("--all", help="List every run.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Keep the table up to date until all is done.")
    ] = False,
    scenario: ScenarioOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    task: TaskOption = None,
    state: StateOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Show how many runs are in which state, and which workers are alive.

    With a scenario, date, task or state, the runs that are meant are listed.

    Examples:

    `prophase runs status`

    `prophase runs status --scenario "eu*" --since 2024-01-01 --state failed`
    """
    from prophase.runs.run_filter import RunFilter
    from prophase.runs.status import campaign_status, list_runs

    where = RunFilter.of_text(scenario=scenario, since=since, until=until, task=task, state=state)
    with opened(campaign) as held:
        if live:
            _follow(held)
            return
        if failed or all_runs or not where.is_empty:
            rows = list_runs(held, failed=failed, where=where)
            show_result(Result.of_rows("runs-status", rows), format)
            return
        now = campaign_status(held)
        silent_s = [worker["silent_s"] for worker in now["workers"]]
        heard = f", the last heard of {min(silent_s):.0f} s ago" if silent_s else ""
        show_result(
            Result.of_rows(
                "runs-status",
                now["states"],
                values=now,
                notes=[f"{counted(len(silent_s), 'worker')}{heard}."],
            ),
            format,
        )


def _follow(campaign: Campaign) -> None:
    """Write the table again whenever it changes; in place on a terminal."""
    from prophase.runs.states import RunState
    from prophase.runs.status import state_counts

    before: list[str] = []
    while True:
        lines = list(text_table(state_counts(campaign)))
        if lines != before:
            if before and sys.stdout.isatty():
                typer.echo(f"\x1b[{len(before)}F\x1b[J", nl=False)
            typer.echo("\n".join(lines))
            before = lines
        counts = campaign.store.counts()
        if all(state.failed or state is RunState.FINISHED for state in counts):
            return
        time.sleep(_REFRESH_S)


def tasks_command(
    scenario: ScenarioOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    task: TaskOption = None,
    state: StateOption = None,
    ended: Annotated[
        str | None, typer.Option(help="Only attempts that ended so: completed, oom, failed, ...")
    ] = None,
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """List the task instances of finished and failed runs, one row per attempt.

    An attempt that ran out of memory needs at least what it was given (`at_least_gib`).

    Example:

    `prophase runs tasks --of-task train --ended oom`
    """
    from prophase.runs.run_filter import RunFilter
    from prophase.runs.status import list_tasks

    where = RunFilter.of_text(scenario=scenario, since=since, until=until, task=task, state=state)
    with opened(campaign) as held:
        rows = list_tasks(held, where=where, ended=ended)
    notes = [] if rows else ["No such task instance has been measured yet."]
    show_result(Result.of_rows("runs-tasks", rows, notes=notes), format)


def show_command(
    run: Annotated[int, typer.Argument(help="Id of the run; see prophase runs status --all.")],
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Show where a run is, everything that happened to it, and how its tasks ended.

    Example:

    `prophase runs show 3`
    """
    from prophase.runs.states import RunState
    from prophase.runs.status import show_run

    with opened(campaign) as held:
        found = show_run(held, run)
    if format is Format.table:
        for name, value in _facts(found).items():
            if value is not None:
                typer.echo(f"{name:<15} {value}")
        typer.echo("")
    tables = [Table("history", found["history"])]
    if found["tasks"]:
        tables.append(Table("tasks", found["tasks"]))
    told = {name: found[name] for name in ("tasks", "history")}
    show_result(Result("runs-show", tables=tables, values={**_facts(found), **told}), format)
    if RunState(found["state"]).failed:
        step = 17 if found["state"] > RunState.EXECUTE_TRIGGER_FAILED else 0
        say(f"Next: prophase runs reset {run} --to {step}{named(campaign)}")


def _facts(found: JsonObject) -> JsonObject:
    named = ("id", "scenario", *found["attributes"], "execution_date", "version", "state", "what",
             "dag_id", "run_id", "profiling_id", "notes")  # fmt: skip
    known = {**found["attributes"], **found}
    return {name: known[name] for name in named}


def reset_command(
    runs: Annotated[list[int] | None, typer.Argument(help="Ids of the runs.")] = None,
    to: Annotated[str, typer.Option(help="0 (registered), 17 (deployed) or 37 (executed).")] = "17",
    all_failed: Annotated[
        bool, typer.Option("--all-failed", help="Reset every failed run that has come that far.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Why; kept in the history.")] = "",
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Set runs back, so that workers pick them up again.

    Back to 0, everything is done again. Back to 17, only tasks that have not succeeded run again,
    with the memory that is set now.

    Example:

    `prophase runs reset 12 --to 17 --reason "more memory for train"`
    """
    from prophase.runs.status import reset_runs

    with opened(campaign) as held:
        rows = reset_runs(
            held, runs or (), to=to, all_failed=all_failed, actor=who(), reason=reason
        )
    show_result(
        Result.of_rows(
            "runs-reset",
            rows,
            notes=[f"Next: prophase runs work{named(campaign)}"],
        ),
        format,
    )
