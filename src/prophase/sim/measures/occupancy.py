"""Who held what, and who waited, from when to when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from prophase.sim.attempts import Attempts
from prophase.sim.cluster import Cluster
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    GPU_TYPE,
    Floats,
    Ints,
)
from prophase.sim.workload import Workload


@dataclass(frozen=True)
class Occupancy:
    """The attempts that ran; those that never started are left out.

    Instances are listed attempt by attempt; ``attempt`` leads from one to its attempt.
    """

    job: Ints
    start_s: Floats
    end_s: Floats
    outcome: Ints
    #: part of the attempt that did not bring its job forward
    lost_s: Floats
    #: of all instances of an attempt together
    gpus: Floats
    cores: Floats
    memory_gib: Floats
    attempt: Ints
    instance: Ints
    node: Ints
    gpu_bits: Ints
    gpu_type: Ints
    #: GPUs of one instance, its share of each, and its milli-cores
    instance_gpus: Floats
    instance_milli: Ints
    instance_cpu: Ints

    @property
    def length_s(self) -> Floats:
        """How long each attempt ran."""
        return self.end_s - self.start_s

    @classmethod
    def of(cls, workload: Workload, cluster: Cluster, attempts: Attempts) -> Self:
        """Take the attempts of a"""
        ran = np.flatnonzero(np.isfinite(attempts.start_s) & np.isfinite(attempts.end_s))
        job = attempts.job[ran]
        asks, row = workload.asks, job
        if attempts.asks is not None:
            asks, row = attempts.asks, ran
        instances = asks[row, ASK_INSTANCES]
        milli = asks[row, ASK_MILLI]
        gpus = asks[row, ASK_GPUS] * milli / 1000
        attempt = np.repeat(np.arange(len(ran)), instances)
        number = np.arange(len(attempt)) - np.repeat(np.cumsum(instances) - instances, instances)
        rows = attempts.first_instance[ran][attempt] + number
        node = attempts.node[rows]
        return cls(
            job,
            attempts.start_s[ran],
            attempts.end_s[ran],
            attempts.outcome[ran].astype(np.int64),
            np.zeros(len(ran)) if attempts.lost_s is None else attempts.lost_s[ran],
            gpus * instances,
            asks[row, ASK_CPU] / 1000 * instances,
            asks[row, ASK_MEMORY] / 1024 * instances,
            attempt,
            number,
            node,
            attempts.gpu_bits[rows],
            cluster.matrix[node, GPU_TYPE],
            gpus[attempt],
            milli[attempt],
            asks[row, ASK_CPU][attempt],
        )


@dataclass(frozen=True)
class Waiting:
    """One interval per attempt: from submission, or the end of the attempt before, to its start."""

    job: Ints
    from_s: Floats
    to_s: Floats
    gpus: Floats

    @classmethod
    def of(cls, held: Occupancy, submit_s: Floats) -> Self:
        """Return the waits of the jobs that started."""
        order = np.lexsort((held.start_s, held.job))
        job, start = held.job[order], held.start_s[order]
        begin = submit_s[job]
        again = np.flatnonzero(job[1:] == job[:-1]) + 1
        begin[again] = held.end_s[order][again - 1]
        waited = start > begin
        return cls(job[waited], begin[waited], start[waited], held.gpus[order][waited])
