"""prophase runs reset: let a run go on from an earlier state."""

from __future__ import annotations

from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, emit
from prophase.cli.runs.options import DEFAULT_CAMPAIGN, CampaignOption, opened, who
from prophase.errors import ParameterError


def command(
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

    Back to 0, everything is done anew. Back to 17, only tasks that have not succeeded run again,
    with the memory that is set now.

    Example:

    `prophase runs reset 12 --to 17 --reason "more memory for train"`
    """
    from prophase.runs.states import reset_state

    goal = reset_state(to)
    if bool(runs) == all_failed:
        raise ParameterError("Name the runs to reset, or pass --all-failed.")
    with opened(campaign) as held:
        if all_failed:
            chosen = [r.id for r in held.store.runs() if r.state.failed and r.state > goal]
        else:
            chosen = list(runs or ())
        rows = [
            {
                "id": run,
                "was": int(held.store.reset(run, goal, actor=who(), reason=reason)),
                "is": int(goal),
            }
            for run in chosen
        ]
    emit(rows, format, remarks=["Next: prophase runs work"])
