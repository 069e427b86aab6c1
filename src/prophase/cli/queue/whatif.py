"""prophase queue whatif: other orders, nodes that go down."""

from __future__ import annotations

from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption
from prophase.cli.queue.queue_options import TwinOptions, show_of_twin, slurm_twin
from prophase.errors import ParameterError


def command(
    options: TwinOptions,
    order: Annotated[
        list[str] | None,
        typer.Option(
            "--instead", help="Another order: fifo, shortest, smallest, largest; repeatable."
        ),
    ] = None,
    down: Annotated[
        list[str] | None, typer.Option(help="Nodes that take no more jobs, e.g. n[1-4].")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Run the queue forward by other orders, or with fewer nodes, and compare when jobs start.

    Examples:

    `prophase queue whatif --instead shortest --instead fifo`

    `prophase queue whatif --saved now --history ws --down n[1-4]`
    """
    from prophase.sim.slurm.twin_answers import what_if

    if not order and not down:
        raise ParameterError("name an order (--instead shortest) or nodes that go down (--down).")
    show_of_twin(
        "queue-whatif",
        options,
        lambda twin: what_if(slurm_twin(twin), orders=order or (), down=down or ()),
        doing="running it forward",
        note="Seconds from now over all waiting jobs; change: 80 % of the futures lie within.",
        format=format,
    )
