"""prophase eta: when will my job start?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    RowOutputs,
    progress_bar,
    show_result,
)
from prophase.cli.replay_options import ClusterSettings, ReplaySettings
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import MEMORY, SeedOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError
from prophase.json_types import JsonObject

if TYPE_CHECKING:
    from prophase.trace.trace_tables import Trace


@dataclass(frozen=True)
class JobSettings:
    """A waiting job by its id, or what a job submitted now would ask for."""

    job: Annotated[str | None, typer.Option(help="Id of a job.")] = None
    gpus: Annotated[
        float | None, typer.Option(min=0, help="Instead: GPUs of a job submitted now.")
    ] = None
    cpus: Annotated[
        float | None, typer.Option(min=0, help="Instead: cores of a job submitted now.")
    ] = None
    memory: Annotated[str | None, MEMORY, Formerly("--memory-gib")] = None
    instances: Annotated[
        int, typer.Option(min=1, help="Instances of that job, each asking for the above.")
    ] = 1
    user: Annotated[str | None, typer.Option(help="Who submits it.")] = None
    gpu_type: Annotated[str | None, typer.Option(help="GPU types it may use, joined by |.")] = None
    time_limit: Annotated[
        str | None,
        typer.Option(help=f"Its time limit, {units.DURATION_HELP}."),
        Formerly("--limit"),
    ] = None

    def asked(self) -> str | JsonObject:
        """Return the id, or the columns of a new job."""
        if (self.job is None) == (self.gpus is None and self.cpus is None):
            raise ParameterError(
                "name a waiting job (--job ID), or what a new one asks for (--gpus)."
            )
        memory, limit = self.memory, self.time_limit
        columns = {
            "request_gpus": self.gpus,
            "request_cpu_cores": self.cpus,
            "request_memory_gib": None
            if memory is None
            else units.parse_memory(memory, g_is="binary", bare="GiB", where="--memory"),
            "user": self.user,
            "gpu_type": self.gpu_type,
            "time_limit_s": None
            if limit is None
            else units.parse_duration(limit, bare="s", where="--time-limit"),
        }
        if self.job is not None:
            return self.job
        given = {name: value for name, value in columns.items() if value is not None}
        return {**given, "instances": float(self.instances)}


def command(
    path: TraceArgument,
    wanted: JobSettings,
    cluster: ClusterSettings,
    replay: ReplaySettings,
    outputs: RowOutputs,
    now: Annotated[
        str | None,
        typer.Option(
            help="The instant: the trace's seconds, +36h after its first job, or a date such as "
            "2020-07-14T12:00. [default: its last event]"
        ),
    ] = None,
    source: SourceOption = None,
    draws: Annotated[int, typer.Option(min=10, help="Futures to simulate.")] = 100,
    check: Annotated[
        int, typer.Option(min=0, help="Past instants to check and widen intervals by; 0: none.")
    ] = 15,
    seed: SeedOption = 0,
    format: FormatOption = Format.table,
) -> None:
    """Say when a waiting job will start, with an interval that is back-tested.

    Running jobs run for as long as finished jobs like them did; waiting jobs get run times
    the same way and newcomers arrive as on past days. The same forecasts are first made for past
    instants, and the interval is widened until it would have held 80 % of the true starts. If
    those forecasts were not 30 % closer than recent waits of jobs alike, none is given.

    Examples:

    `prophase eta ws --job 4711 --queue easy`

    `prophase eta ws --gpus 4 --user ann --time-limit 8h --cluster 100x8 --out eta.csv`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sim.forecast.start_answer import StartQuestion, answer_start

    outputs.check(path)
    asked, policy = wanted.asked(), replay.values()
    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(path, source=source)
        machines = cluster.of(trace, path, source)
        now_s = None if now is None else _instant(now, trace)
        question = StartQuestion(asked, now_s, draws, check, seed)
        found, result = answer_start(trace, machines, question, policy, progress)
    show_result(result, format)
    outputs.write(result, path)
    if not found.known:
        raise typer.Exit(1)


def _instant(text: str, trace: Trace) -> float:
    """Read an instant on the trace's clock."""
    from datetime import UTC, datetime

    if text.startswith("+"):
        first = float(trace.jobs["submit_s"].min())
        return first + units.parse_duration(text[1:], bare="s", where="--now")
    try:
        return float(text)
    except ValueError:
        pass
    try:
        day = datetime.fromisoformat(text)
    except ValueError as cause:
        raise ParameterError(
            f"--now {text}: write seconds, +36h after the first job, or 2020-07-14T12:00."
        ) from cause
    if trace.clock == "relative":
        raise ParameterError(f"--now {text}: this trace knows no dates. Write +36h or seconds.")
    # traces with dates keep wall time as if it were UTC
    return day.replace(tzinfo=day.tzinfo or UTC).timestamp()
