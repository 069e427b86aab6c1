"""A schedule over time: what was used, free and of no use, and who waited."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prophase.sim.job_times import JobTimes
from prophase.sim.measures.capacity import bin_means
from prophase.sim.measures.occupancy import Waiting
from prophase.sim.signatures import CPU, GPU_TYPE, GPUS, Floats


@dataclass(frozen=True)
class StateCurve:
    """One resource over time, as averages over bins: of all nodes, or of one GPU type."""

    name: str
    unit: str
    edges: Floats
    owned: Floats
    used: Floats
    #: idle GPUs that typical jobs cannot use; zero for cores
    fragmented: Floats

    def coarser(self, times: int) -> StateCurve:
        """Return the same curve over bins that many times as wide; they divide all bins."""

        def mean(values: Floats) -> Floats:
            wide: Floats = values.reshape(-1, times).mean(axis=1)
            return wide

        return replace(
            self,
            edges=self.edges[::times],
            owned=mean(self.owned),
            used=mean(self.used),
            fragmented=mean(self.fragmented),
        )

    @property
    def free(self) -> Floats:
        """Idle and of use; sharing may give out more than there is."""
        idle: Floats = np.maximum(self.owned - self.used, 0.0)
        return np.maximum(idle - self.fragmented, 0.0)


def state_curves(schedule: JobTimes) -> list[StateCurve]:
    """Return the cluster's main resource over time: GPUs in total and per type, else cores."""
    edges, capacity = schedule.edges, schedule.capacity
    if schedule.cluster.gpus and schedule.used_gpus.any():
        kinds = np.flatnonzero(schedule.gpus_by_type)
        parts = [
            StateCurve(
                schedule.type_name(int(kind)),
                "GPUs",
                edges,
                capacity.gpus[kind],
                schedule.used_gpus[kind],
                schedule.fragmented_gpus[kind],
            )
            for kind in kinds[np.argsort(-schedule.gpus_by_type[kinds], kind="stable")]
        ]
        if len(parts) == 1:
            return parts
        whole = StateCurve(
            "all GPU types",
            "GPUs",
            edges,
            capacity.gpus.sum(axis=0),
            schedule.used_gpus.sum(axis=0),
            schedule.fragmented_gpus.sum(axis=0),
        )
        return [whole, *parts]
    held = schedule.occupancy
    if capacity.cores is None or not held.cores.any():
        return []
    used = bin_means(held.start_s, held.end_s, held.cores, edges)[0]
    return [StateCurve("all nodes", "cores", edges, capacity.cores, used, np.zeros(len(edges) - 1))]


def queue_curves(schedule: JobTimes) -> tuple[Floats, Floats]:
    """Return the jobs, and the GPUs they ask for, that waited, averaged over each bin.

    Examples
    --------
    >>> import pandas as pd
    >>> from prophase.sim import Cluster, Workload, simulate
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 10.0})
    >>> jobs["request_gpus"] = 4.0
    >>> schedule = simulate(Workload.from_jobs(jobs), Cluster.parse("1x4"))
    >>> waiting, gpus = queue_curves(schedule)
    >>> float(waiting.mean()), float(gpus.mean())
    (0.5, 2.0)
    """
    waits = Waiting.of(schedule.occupancy, schedule.workload.submit_s)
    ones = np.ones(len(waits.job))
    jobs = bin_means(waits.from_s, waits.to_s, ones, schedule.edges)[0]
    gpus = bin_means(waits.from_s, waits.to_s, waits.gpus, schedule.edges)[0]
    # sums that cancel leave dust
    return np.maximum(jobs, 0.0), np.maximum(gpus, 0.0)


@dataclass(frozen=True)
class NodeUse:
    """The used share of nodes over time; beyond a number neighbours share a row."""

    edges: Floats
    #: (rows, bins)
    share: Floats
    #: first node of each row, and its GPU type
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    nodes_per_row: int
    unit: str


def node_use(schedule: JobTimes, *, most_rows: int, bins: int) -> NodeUse | None:
    """Return how busy each node was, by GPUs, or by cores where nobody asks for GPUs.

    Nodes stand by GPU type. None if there are neither GPUs in use nor stated cores.
    """
    matrix, held = schedule.cluster.matrix, schedule.occupancy
    by_gpu = bool(held.gpus.any())
    if not by_gpu and (schedule.capacity.cores is None or not held.cores.any()):
        return None
    amount = matrix[:, GPUS].astype(float) if by_gpu else matrix[:, CPU] / 1000
    instances = np.bincount(held.attempt, minlength=len(held.job))[held.attempt]
    use = held.instance_gpus if by_gpu else held.cores[held.attempt] / instances
    shown = np.flatnonzero(amount > 0)
    shown = shown[np.argsort(matrix[shown, GPU_TYPE], kind="stable")]
    per_row = -(-len(shown) // most_rows)
    row_of = np.zeros(len(amount), np.int64)
    row_of[shown] = np.arange(len(shown)) // per_row
    firsts = shown[::per_row]
    edges = np.linspace(schedule.edges[0], schedule.edges[-1], bins + 1)
    used = bin_means(
        held.start_s[held.attempt],
        held.end_s[held.attempt],
        use,
        edges,
        row_of[held.node],
        len(firsts),
    )
    total = np.bincount(row_of[shown], amount[shown], len(firsts))
    names = schedule.cluster.nodes["node_id"].astype(str).to_numpy(object)
    return NodeUse(
        edges,
        np.maximum(used / total[:, None], 0.0),
        tuple(names[firsts]),
        tuple(schedule.cluster.gpu_types[kind] for kind in matrix[firsts, GPU_TYPE]),
        per_row,
        "GPUs" if by_gpu else "cores",
    )
