"""What each attempt of a schedule asked for, since when, and its place in the queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prophase.sim.fitting import with_types
from prophase.sim.policies import order_policies
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import ASK_FEATURES, ASK_TYPES, Floats, Ints


@dataclass(frozen=True)
class Waits:
    """One row per attempt: a wait that ends with a start, and what it then held."""

    job: Ints
    ready_s: Floats
    start_s: Floats
    end_s: Floats
    #: what it waits for, one row of the request matrix
    asks: Ints
    #: place among all attempts by the order of the queue
    rank: Ints
    first_instance: Ints
    node: Ints
    gpu_bits: Ints

    def seconds(self, jobs: int) -> Floats:
        """Return how long each of that many jobs waited, over all attempts."""
        return np.bincount(self.job, self.start_s - self.ready_s, jobs).astype(np.float64)


def attempts_as_waits(schedule: Schedule) -> Waits:
    """Return the attempts that started, with the instants from which they waited.

    The first attempt of a job waits from submission, each further one from the end of the one
    before.
    """
    attempts, workload = schedule.attempts, schedule.workload
    began = np.flatnonzero(np.isfinite(attempts.start_s))
    job, start_s, end_s = attempts.job[began], attempts.start_s[began], attempts.end_s[began]
    ready_s = np.array(workload.submit_s[job], np.float64)
    in_turn = np.lexsort((start_s, job))
    again = np.flatnonzero(job[in_turn][1:] == job[in_turn][:-1]) + 1
    ready_s[in_turn[again]] = end_s[in_turn[again - 1]]
    asks = with_types(workload, schedule.cluster)[job]
    if attempts.asks is not None:
        climbed = attempts.asks[began].copy()
        climbed[:, [ASK_TYPES, ASK_FEATURES]] = asks[:, [ASK_TYPES, ASK_FEATURES]]
        asks = climbed
    rank = np.empty(len(job), np.int64)
    rank[np.lexsort((ready_s, *_places(schedule, job, start_s)))] = np.arange(len(job))
    return Waits(
        np.ascontiguousarray(job, np.int64),
        ready_s,
        np.array(start_s, np.float64),
        np.nan_to_num(end_s, nan=np.inf, posinf=np.inf),
        np.ascontiguousarray(asks),
        rank,
        np.ascontiguousarray(attempts.first_instance[began], np.int64),
        np.ascontiguousarray(attempts.node, np.int64),
        np.ascontiguousarray(attempts.gpu_bits, np.int64),
    )


def _places(schedule: Schedule, job: Ints, start_s: Floats) -> list[Floats]:
    """Return sort keys of the attempts, the last one first: the order of the queue if it stands.

    Where keys move with time, the attempt that started first is taken to have been ahead.
    """
    workload, name = schedule.workload, schedule.order
    if name.startswith("column:"):
        return [workload.submit_s[job], workload.key(name.removeprefix("column:"))[job]]
    policy = order_policies().get(name)
    if policy is None or policy.moves:
        return [start_s]
    return [workload.submit_s[job], np.asarray(policy.key(workload), np.float64)[job]]
