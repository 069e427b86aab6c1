"""prophase runs tick: one round, for cron or another scheduler."""

from __future__ import annotations

from prophase.cli.output import Format, FormatOption, emit
from prophase.cli.runs.options import (
    DEFAULT_CAMPAIGN,
    CampaignOption,
    log_to_stderr,
    opened,
)
from prophase.plural import counted


def command(
    campaign: CampaignOption = DEFAULT_CAMPAIGN, format: FormatOption = Format.table
) -> None:
    """Go once round the six branches, and through the maintainer if it is due.

    Repeat it from cron or another scheduler; executions go on in between.

    Example:

    `prophase runs tick`
    """
    from prophase.runs.answers import state_counts
    from prophase.runs.worker import Worker

    log_to_stderr()
    with opened(campaign) as held:
        worker = Worker(held)
        moves = worker.tick()
        held.workers.leave(worker.name)
        emit(state_counts(held), format, remarks=[f"{counted(moves, 'run')} moved."])
