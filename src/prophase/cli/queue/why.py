"""prophase queue why: what does my job wait for?"""

from __future__ import annotations

from prophase.cli.output import Format, FormatOption
from prophase.cli.queue.queue_options import JobArgument, TwinOptions, show_of_twin


def command(job: JobArgument, options: TwinOptions, format: FormatOption = Format.table) -> None:
    """Say what one job waits for, by taking away one cause after the other.

    Examples:

    `prophase queue why 4711 --history ws`
    """
    from prophase.sim.slurm.twin_answers import why_waits

    show_of_twin(
        "queue-why",
        options,
        lambda twin: why_waits(twin, job),
        doing="taking causes away",
        note="Seconds from now in one future; change: against the queue as it is.",
        format=format,
    )
