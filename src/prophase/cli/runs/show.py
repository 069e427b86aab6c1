"""prophase runs show: the story of one run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, emit, say
from prophase.cli.runs.options import DEFAULT_CAMPAIGN, CampaignOption, named, opened


def command(
    run: Annotated[int, typer.Argument(help="Id of the run; see prophase runs status --all.")],
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Show where a run is and everything that happened to it.

    Example:

    `prophase runs show 3`
    """
    from prophase.runs.answers import show_run
    from prophase.runs.states import RunState

    with opened(campaign) as held:
        found = show_run(held, run)
    if format is Format.table:
        for name, value in _facts(found).items():
            if value is not None:
                typer.echo(f"{name:<15} {value}")
        typer.echo("")
    emit(found["history"], format, document={**_facts(found), "history": found["history"]})
    if RunState(found["state"]).failed:
        step = 17 if found["state"] > RunState.EXECUTE_TRIGGER_FAILED else 0
        say(f"Next: prophase runs reset {run} --to {step}{named(campaign)}")


def _facts(found: dict[str, Any]) -> dict[str, Any]:
    named = ("id", "scenario", *found["attributes"], "execution_date", "version", "state", "what",
             "dag_id", "run_id", "profiling_id", "notes")  # fmt: skip
    known = {**found["attributes"], **found}
    return {name: known[name] for name in named}
