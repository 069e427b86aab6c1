"""prophase runs show: the story of one run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, emit, say
from prophase.cli.runs.options import DEFAULT_CAMPAIGN, CampaignOption, opened


def command(
    run: Annotated[int, typer.Argument(help="Id of the run; see prophase runs status --all.")],
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Show where a run is and everything that happened to it.

    Example:

    `prophase runs show 3`
    """
    with opened(campaign) as held:
        found, story = held.store.run(run), held.store.history(run)
    facts = {
        "id": found.id,
        "scenario": found.scenario,
        **found.attributes,
        "execution_date": str(found.execution_date),
        "version": found.version[:8],
        "state": int(found.state),
        "what": found.state.label,
        "dag_id": found.dag_id,
        "run_id": found.run_id,
        "profiling_id": found.profiling_id,
        "notes": found.notes,
    }
    moves = [
        {
            "time": datetime.fromtimestamp(move.time_s, UTC).isoformat(" ", "seconds")[:19],
            "state": int(move.to_state),
            "what": move.to_state.label,
            "event": move.event,
            "actor": move.actor,
            "reason": move.reason,
        }
        for move in story
    ]
    if format is Format.table:
        for name, value in facts.items():
            if value is not None:
                typer.echo(f"{name:<15} {value}")
        typer.echo("")
    emit(moves, format, document={**facts, "history": moves})
    if found.state.failed:
        step = 17 if found.state > 30 else 0
        say(f"Next: prophase runs reset {run} --to {step}")
