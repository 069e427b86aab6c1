"""prophase queue sooner: what would start my job sooner?"""

from __future__ import annotations

from prophase.cli.output import Format, FormatOption
from prophase.cli.queue.queue_options import JobArgument, TwinOptions, show_of_twin, slurm_twin


def command(job: JobArgument, options: TwinOptions, format: FormatOption = Format.table) -> None:
    """Try other partitions, fewer nodes or cores and shorter limits for one waiting job.

    Examples:

    `prophase queue sooner 4711 --history ws`
    """
    from prophase.sim.slurm.twin_answers import sooner

    show_of_twin(
        "queue-sooner",
        options,
        lambda twin: [one.row() for one in sooner(slurm_twin(twin), job)],
        doing="trying other requests",
        note="Seconds from now, the middle of 80 % of the futures, all other jobs as they are.",
        format=format,
    )
