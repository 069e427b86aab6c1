"""Options of commands that take a live or saved queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from prophase.cli.output import Format, finite, progress_bar, show_result
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import SourceOption
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.sim.forecast.live_twin import LiveTwin
    from prophase.sim.kueue.snapshot import KueueSnapshot
    from prophase.sim.slurm.snapshot import QueueSnapshot
    from prophase.sim.slurm.twin import QueueTwin

_Snapshot = TypeVar("_Snapshot")
QueueOption = Annotated[
    Path | None,
    typer.Option("--saved", help="A saved queue. [default: ask now]"),
]
KueueOption = Annotated[
    bool,
    typer.Option("--kueue", help="Ask Kueue, through the API server of the kubeconfig."),
]
HistoryOption = Annotated[
    Path | None,
    typer.Option(help="Finished jobs that run times are learnt from: a workspace or a trace."),
]
JobArgument = Annotated[
    str, typer.Argument(help="Id of a waiting job; name of a Workload or of its Job.")
]
DrawsOption = Annotated[int, typer.Option(min=10, help="Futures to simulate.")]


@dataclass(frozen=True)
class TwinOptions:
    """Which queue is run forward, and from what."""

    queue: QueueOption = None
    kueue: KueueOption = False
    history: HistoryOption = None
    source: SourceOption = None
    draws: DrawsOption = 15
    seed: SeedOption = 0


def show_of_twin(
    name: str,
    options: TwinOptions,
    answer: Callable[[LiveTwin], Sequence[JsonObject]],
    *,
    doing: str,
    note: str,
    format: Format,
) -> None:
    """Run the queue forward and show what is asked of it.

    Parameters
    ----------
    answer : callable
        Returns the rows of the answer.
    doing, note : str
        What the progress bar says meanwhile, and what the numbers are.
    """
    with progress_bar() as progress:
        progress("looking at the queue", None)
        twin = twin_of(options)
        progress(doing, None)
        rows = list(answer(twin))
    notes = [note]
    if twin.finished is None or twin.finished.empty:
        notes.append("Without --history jobs are taken to run until their limits.")
    show_result(Result.of_rows(name, finite(rows), notes=notes), format)


def _of_now(look: Callable[[Path], _Snapshot], save: Path | None) -> _Snapshot:
    """Ask now, and keep the answer in a folder if one is named."""
    if save is not None:
        return look(save)
    with TemporaryDirectory(prefix="prophase-queue-") as folder:
        return look(Path(folder))


def snapshot_of(queue: Path | None, save: Path | None = None) -> QueueSnapshot:
    """Return a saved queue of Slurm, or the one of this moment."""
    from prophase.sim.slurm.snapshot import QueueSnapshot

    if queue is not None:
        return QueueSnapshot.read(queue)
    from prophase.integrations.slurm.queue_snapshot import look

    return _of_now(look, save)


def kueue_snapshot_of(queue: Path | None, save: Path | None = None) -> KueueSnapshot:
    """Return a saved queue of Kueue, or the one of this moment."""
    from prophase.sim.kueue.snapshot import KueueSnapshot

    if queue is not None:
        return KueueSnapshot.read(queue)
    from prophase.integrations.kubernetes.kueue_queue import look

    return _of_now(look, save)


def twin_of(options: TwinOptions) -> LiveTwin:
    """Return the twin of a queue, with the run times of a history."""
    from prophase.cli.provenance import open_trace

    queue, draws, seed = options.queue, options.draws, options.seed
    finished = None
    if options.history is not None:
        finished = open_trace(options.history, source=options.source).jobs
    if options.kueue or (queue is not None and (queue / "workloads.json").is_file()):
        from prophase.sim.kueue.kueue_twin import KueueTwin

        held = kueue_snapshot_of(queue)
        if finished is None:
            # Workloads stay for a while after they have ended
            finished = held.finished
        ended = finished[finished["end_s"] <= held.now_s]
        return KueueTwin(held, ended, draws=draws, random_state=seed)
    from prophase.sim.slurm.twin import QueueTwin

    snapshot = snapshot_of(queue)
    if finished is not None:
        finished = finished[finished["end_s"] <= snapshot.now_s]
    return QueueTwin(snapshot, finished, draws=draws, random_state=seed)


def slurm_twin(twin: LiveTwin) -> QueueTwin:
    """Return the twin of a Slurm queue; refuse another one."""
    from prophase.sim.slurm.twin import QueueTwin

    if not isinstance(twin, QueueTwin):
        raise ParameterError(
            "this is answered for Slurm's queues only. For Kueue there are queue eta and queue why."
        )
    return twin
