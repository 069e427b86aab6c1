"""prophase runs reset: let a run go on from an earlier state."""

from __future__ import annotations

from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, emit
from prophase.cli.runs.options import DEFAULT_CAMPAIGN, CampaignOption, named, opened, who


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
    from prophase.runs.answers import reset_runs

    with opened(campaign) as held:
        rows = reset_runs(
            held, runs or (), to=to, all_failed=all_failed, actor=who(), reason=reason
        )
    emit(rows, format, remarks=[f"Next: prophase runs work{named(campaign)}"])
