"""prophase runs status: how far is the campaign?"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, emit, text_table
from prophase.cli.runs.options import DEFAULT_CAMPAIGN, CampaignOption, opened
from prophase.plural import counted

if TYPE_CHECKING:
    from prophase.runs.campaign import Campaign

_REFRESH_S = 1.0


def command(
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    failed: Annotated[
        bool, typer.Option("--failed", help="List the runs that failed, with their notes.")
    ] = False,
    all_runs: Annotated[bool, typer.Option("--all", help="List every run.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Keep the table up to date until all is done.")
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """Show how many runs are in which state, and which workers are alive.

    Example:

    `prophase runs status`
    """
    from prophase.runs.answers import campaign_status, list_runs

    with opened(campaign) as held:
        if live:
            _follow(held)
            return
        if failed or all_runs:
            emit(list_runs(held, failed=failed), format)
            return
        now = campaign_status(held)
        silent_s = [worker["silent_s"] for worker in now["workers"]]
        heard = f", the last heard of {min(silent_s):.0f} s ago" if silent_s else ""
        emit(
            now["states"],
            format,
            document=now,
            remarks=[f"{counted(len(silent_s), 'worker')}{heard}."],
        )


def _follow(campaign: Campaign) -> None:
    """Write the table anew whenever it changes; in place on a terminal."""
    from prophase.runs.answers import state_counts
    from prophase.runs.states import RunState

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
