"""prophase runs work, tick: be a worker, or do one round for cron or another scheduler."""

from __future__ import annotations

from typing import Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, show_result
from prophase.cli.runs.options import (
    DEFAULT_CAMPAIGN,
    CampaignOption,
    log_to_stderr,
    named,
    opened,
)
from prophase.plural import counted
from prophase.result import Result


def work_command(
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    forever: Annotated[
        bool, typer.Option("--forever", help="Wait for further runs when all is done.")
    ] = False,
    patience: Annotated[
        str,
        typer.Option(
            help=f"How long to wait for a database that does not answer, {units.DURATION_HELP}."
        ),
    ] = "10min",
    format: FormatOption = Format.table,
) -> None:
    """Deploy, execute and profile runs until all are finished or have failed.

    Start as many workers as you like, on as many machines. A worker that is killed loses
    nothing: its runs continue, and another worker takes over.

    Example:

    `prophase runs work --forever`
    """
    from prophase.runs.states import RunState
    from prophase.runs.status import state_counts
    from prophase.runs.worker import Worker

    log_to_stderr()
    patience_s = units.parse_duration(patience, bare="s", where="--patience", positive=True)
    with opened(campaign, patience_s=patience_s) as held:
        worker = Worker(held)
        try:
            counts = worker.work(forever=forever)
        except KeyboardInterrupt:
            held.workers.leave(worker.name)
            typer.echo(
                "Stopped. What runs keeps running. Run the same command again to resume.", err=True
            )
            raise typer.Exit(130) from None
        failed = sum(number for state, number in counts.items() if state.failed)
        remarks = [f"{counted(counts.get(RunState.FINISHED, 0), 'run')} finished."]
        if failed:
            remarks.append(
                f"{failed:,} failed; see why with: prophase runs status --failed{named(campaign)}"
            )
        else:
            remarks.append(f"Next: prophase runs export --workspace ws{named(campaign)}")
        show_result(Result.of_rows("runs-work", state_counts(held), notes=remarks), format)
    if failed:
        raise typer.Exit(1)


def tick_command(
    campaign: CampaignOption = DEFAULT_CAMPAIGN, format: FormatOption = Format.table
) -> None:
    """Go once round the six branches, and through the maintainer if it is due.

    Repeat it from cron or another scheduler; executions continue in between.

    Example:

    `prophase runs tick`
    """
    from prophase.runs.status import state_counts
    from prophase.runs.worker import Worker

    log_to_stderr()
    with opened(campaign) as held:
        worker = Worker(held)
        moves = worker.tick()
        held.workers.leave(worker.name)
        show_result(
            Result.of_rows(
                "runs-tick",
                state_counts(held),
                notes=[f"{counted(moves, 'run')} moved."],
            ),
            format,
        )
