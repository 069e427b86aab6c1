"""prophase queueing: what queueing theory says, and whether it applies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, show_result
from prophase.cli.replay_options import ClusterOption, ClusterSettings, QueueOption
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import GoalOption, SeedOption
from prophase.cli.trace_options import SourceOption
from prophase.errors import ParameterError

if TYPE_CHECKING:
    from prophase.trace.trace_tables import Trace


@dataclass(frozen=True)
class QueueModelSettings:
    """One queue: what arrives, how long it takes, how many serve it."""

    arrivals: Annotated[
        str | None, typer.Option(help="Arrival rate, e.g. 45/s, 100/h, 2/10min.")
    ] = None
    service: Annotated[
        str | None, typer.Option(help=f"Mean service time, {units.DURATION_HELP}.")
    ] = None
    servers: Annotated[int | None, typer.Option(help="Servers, such as GPUs.")] = None
    arrival_scv: Annotated[
        float | None, typer.Option(help="Variance over squared mean of gaps between arrivals.")
    ] = None
    service_scv: Annotated[
        float | None, typer.Option(help="Variance over squared mean of service times.")
    ] = None
    approximation: Annotated[
        str | None,
        typer.Option(help="One approximation; without it all are shown."),
        Formerly("--method"),
    ] = None
    capacity: Annotated[
        int | None, typer.Option(help="mmck: most jobs inside, waiting and in service.")
    ] = None
    goal: GoalOption = None


def command(
    model: Annotated[
        str,
        typer.Argument(
            help="mmc, mmck, loss, mg1, mgc, mdc, ggc, priorities, gangs, staffing, pools or "
            "trace; `list` explains them."
        ),
    ],
    one_queue: QueueModelSettings,
    path: Annotated[
        Path | None,
        typer.Argument(help="trace, pools: a workspace, or a file or folder of a trace."),
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(help=f"Show P(wait > this time), {units.DURATION_HELP}; repeatable."),
    ] = None,
    job_class: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            help="name=a,arrivals=2/h,service=30min,scv=1,need=1; repeatable, urgent first.",
        ),
    ] = None,
    preemptive: Annotated[
        bool, typer.Option("--preemptive", help="priorities: urgent jobs interrupt lesser ones.")
    ] = False,
    source: SourceOption = None,
    resource: Annotated[
        str,
        typer.Option("--server-is", help="trace: a server is one of gpus, cores, jobs."),
        Formerly("--resource"),
    ] = "gpus",
    cluster: ClusterOption = None,
    queue: QueueOption = "skip",
    seed: SeedOption = 0,
    format: FormatOption = Format.table,
) -> None:
    """Ask queueing theory: waits, queue lengths, utilisation, servers for a target.

    Every answer says what it assumes and whether it is exact. A load that the servers cannot
    carry is refused with the number that could. From a trace, the exact waits come first,
    formulas beside them, and every assumption that fails is named.

    Examples:

    `prophase queueing mmc --arrivals 45/s --service 1s --servers 50`

    `prophase queueing mgc --arrivals 100/h --service 2h --service-scv 10 --goal "p95 wait < 1h"`

    `prophase queueing priorities --servers 8 --class name=urgent,arrivals=2/h,service=1h
    --class name=batch,arrivals=5/h,service=1h`

    `prophase queueing trace philly.csv.gz --servers 600`

    `prophase queueing pools ws --cluster '50x8 V100, 20x2 T4'`
    """
    from prophase.sim.queueing.questions import QueueQuestion, answer_question

    asked = QueueQuestion(
        model,
        **vars(one_queue),
        over=over or (),
        classes=job_class or (),
        preemptive=preemptive,
        resource=resource,
        seed=seed,
        cluster=cluster,
        queue=queue,
    )
    answer = answer_question(
        asked,
        lambda: _opened(path, source, ["jobs"] if model == "trace" else None),
        lambda trace, named: ClusterSettings(cluster=named).of(trace, path or Path(), source),
    )
    show_result(answer, format)


def _opened(path: Path | None, source: str | None, tables: list[str] | None) -> Trace:
    from prophase.cli.provenance import open_trace

    if path is None:
        raise ParameterError(
            "this model needs a path: a workspace, or a file or folder of a trace."
        )
    return open_trace(path, source=source, tables=tables)
