"""What a replay decided: every attempt of every job, with its time and place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from prophase.sim.signatures import Floats, Ints

Scalar = TypeVar("Scalar", bound=np.generic)
#: how an attempt ended
FINISHED, PREEMPTED, NODE_LOST, OUT_OF_MEMORY, RESIZED = range(5)
OUTCOMES = ("finished", "preempted", "node_lost", "out_of_memory", "resized")


@dataclass(frozen=True)
class Attempts:
    """When each attempt ran, on which node and GPUs each of its instances, and how it ended.

    Attempts are in the order in which they started; the one of a job that is never interrupted
    is its only one.
    """

    #: row of the job in the workload
    job: Ints
    start_s: Floats
    end_s: Floats
    outcome: NDArray[np.int8]
    #: first row of the attempt in ``node`` and ``gpu_bits``; its instances follow each other
    first_instance: Ints
    node: Ints
    gpu_bits: Ints
    #: how often the job had climbed its ladder of requests before; 0 without a ladder
    rung: Ints | None = None
    #: time of the attempt that did not bring its job forward: run again later, or restarting
    lost_s: Floats | None = None

    #: request of each attempt, where jobs climb a ladder; otherwise the workload's holds
    asks: Ints | None = None

    def __len__(self) -> int:
        return len(self.job)

    @classmethod
    def single(
        cls,
        start_s: Floats,
        end_s: Floats,
        first: Ints,
        node: Ints,
        gpu_bits: Ints,
        job: Ints | None = None,
    ) -> Attempts:
        """Take jobs that run once each, in the order of the workload."""
        job = np.arange(len(start_s)) if job is None else job
        finished = np.full(len(job), FINISHED, np.int8)
        return cls(job, start_s, end_s, finished, first, node, gpu_bits)


def grown(rows: NDArray[Scalar], needed: int) -> NDArray[Scalar]:
    """Return an array with room for so many rows, at least twice the old ones if it has to grow."""
    if needed <= len(rows):
        return rows
    larger = np.zeros((max(needed, 2 * len(rows)), *rows.shape[1:]), rows.dtype)
    larger[: len(rows)] = rows
    return larger
