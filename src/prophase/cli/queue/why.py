"""prophase queue why: what does my job wait for?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prophase.cli.output import Format, FormatOption
from prophase.cli.queue.queue_options import JobArgument, TwinOptions, show_of_twin, slurm_twin
from prophase.json_types import JsonObject

if TYPE_CHECKING:
    from prophase.sim.forecast.live_twin import LiveTwin


def command(job: JobArgument, options: TwinOptions, format: FormatOption = Format.table) -> None:
    """Say what one job waits for, by taking away one cause after the other.

    Examples:

    `prophase queue why 4711 --history ws`

    `prophase queue why train-7 --kueue`
    """
    show_of_twin(
        "queue-why",
        options,
        lambda twin: _causes(twin, job),
        doing="taking causes away",
        note="Seconds from now in one future; change: against the queue as it is.",
        format=format,
    )


def _causes(twin: LiveTwin, job: str) -> list[JsonObject]:
    from prophase.sim.kueue.kueue_twin import KueueTwin
    from prophase.sim.slurm.twin_answers import why_waits

    return twin.why(job) if isinstance(twin, KueueTwin) else why_waits(slurm_twin(twin), job)
