"""Options of commands that take a live or saved queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, finite, progress_bar, show_result
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import SourceOption
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.sim.slurm.snapshot import QueueSnapshot
    from prophase.sim.slurm.twin import QueueTwin

QueueOption = Annotated[
    Path | None,
    typer.Option("--saved", help="A saved queue. [default: ask Slurm now]"),
]
HistoryOption = Annotated[
    Path | None,
    typer.Option(help="Finished jobs that run times are learnt from: a workspace or a trace."),
]
JobArgument = Annotated[str, typer.Argument(help="Id of a waiting job.")]
DrawsOption = Annotated[int, typer.Option(min=10, help="Futures to simulate.")]


@dataclass(frozen=True)
class TwinOptions:
    """Which queue is run forward, and from what."""

    queue: QueueOption = None
    history: HistoryOption = None
    source: SourceOption = None
    draws: DrawsOption = 15
    seed: SeedOption = 0


def show_of_twin(
    name: str,
    options: TwinOptions,
    answer: Callable[[QueueTwin], Sequence[JsonObject]],
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
        twin = twin_of(options.queue, options.history, options.source, options.draws, options.seed)
        progress(doing, None)
        rows = list(answer(twin))
    notes = [note]
    if options.history is None:
        notes.append("Without --history jobs are taken to run until their limits.")
    show_result(Result.of_rows(name, finite(rows), notes=notes), format)


def snapshot_of(queue: Path | None, save: Path | None = None) -> QueueSnapshot:
    """Return a saved queue, or the one of this moment."""
    from prophase.sim.slurm.snapshot import QueueSnapshot

    if queue is not None:
        return QueueSnapshot.read(queue)
    from prophase.integrations.slurm.queue_snapshot import look

    if save is not None:
        return look(save)
    with TemporaryDirectory(prefix="prophase-queue-") as folder:
        return look(Path(folder))


def twin_of(
    queue: Path | None, history: Path | None, source: str | None, draws: int, seed: int
) -> QueueTwin:
    """Return the twin of a queue, with the run times of a history."""
    from prophase.cli.provenance import open_trace
    from prophase.sim.slurm.twin import QueueTwin

    snapshot = snapshot_of(queue)
    finished = None
    if history is not None:
        jobs = open_trace(history, source=source).jobs
        finished = jobs[jobs["end_s"] <= snapshot.now_s]
    return QueueTwin(snapshot, finished, draws=draws, random_state=seed)
