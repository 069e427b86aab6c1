"""When and where each job ran, who held what meanwhile, and what was left idle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from prophase.sim.attempts import Attempts
from prophase.sim.cluster import Cluster
from prophase.sim.measures.capacity import Capacity, bin_means
from prophase.sim.measures.occupancy import Occupancy
from prophase.sim.rules.node_availability import Absences
from prophase.sim.signatures import GPU_TYPE, GPUS, Floats, Ints
from prophase.sim.workload import Workload

#: bins of time that curves are averaged over
BINS = 480
#: a job shorter than this counts as if it had run so long, or its slowdown would mean nothing
_SLOWDOWN_BOUND_S = 10.0


@dataclass(frozen=True, repr=False)
class JobTimes:
    """Start, end and place of every job of a workload on a cluster."""

    workload: Workload
    cluster: Cluster
    attempts: Attempts
    order: str
    place: str
    queue: str
    notes: tuple[str, ...] = ()
    #: when nodes were not there; None: never
    absences: Absences | None = None

    @cached_property
    def start_s(self) -> Floats:
        """First start; missing if the job never started."""
        first = np.full(len(self.workload), np.inf)
        np.minimum.at(first, self.attempts.job, np.nan_to_num(self.attempts.start_s, nan=np.inf))
        return np.where(np.isfinite(first), first, np.nan)

    @cached_property
    def end_s(self) -> Floats:
        """End of the last attempt."""
        last = np.full(len(self.workload), -np.inf)
        np.maximum.at(last, self.attempts.job, np.nan_to_num(self.attempts.end_s, nan=-np.inf))
        return np.where(np.isfinite(last), last, np.nan)

    @cached_property
    def run_s(self) -> Floats:
        """Time spent running, over all attempts."""
        held = self.occupancy
        return np.bincount(held.job, held.length_s, len(self.workload)).astype(np.float64)

    @cached_property
    def wait_s(self) -> Floats:
        """Time spent waiting, before the first attempt and between attempts."""
        if len(self.attempts) == len(self.workload):
            return self.start_s - self.workload.submit_s
        return self.jct_s - self.run_s

    @cached_property
    def jct_s(self) -> Floats:
        """Completion time: wait and run, over all attempts."""
        return self.end_s - self.workload.submit_s

    @cached_property
    def bounded_slowdown(self) -> Floats:
        """Completion time over run time; runs below ten seconds count as ten seconds."""
        needed = np.maximum(self.workload.duration_s, _SLOWDOWN_BOUND_S)
        slowdown: Floats = np.maximum(self.jct_s / needed, 1.0)
        return slowdown

    @cached_property
    def occupancy(self) -> Occupancy:
        """Who held what, attempt by attempt and instance by instance."""
        return Occupancy.of(self.workload, self.cluster, self.attempts)

    @cached_property
    def edges(self) -> Floats:
        """Edges of the bins that curves are averaged over: first submission to last end."""
        begin = float(self.workload.submit_s.min())
        ends = self.occupancy.end_s
        finish = float(ends.max()) if ends.size else begin
        # a schedule without length has no averages; a second keeps them finite
        return np.linspace(begin, finish if finish > begin else begin + 1.0, BINS + 1)

    @cached_property
    def gpus_by_type(self) -> Ints:
        """GPUs of each type, as the cluster numbers types."""
        matrix = self.cluster.matrix
        return np.bincount(
            matrix[:, GPU_TYPE], matrix[:, GPUS], len(self.cluster.gpu_types)
        ).astype(np.int64)

    def type_name(self, kind: int) -> str:
        """Return the name of a GPU type by its number."""
        return self.cluster.gpu_types[kind] or "GPU"

    @cached_property
    def capacity(self) -> Capacity:
        """What the cluster had, per bin of time."""
        return Capacity.of(self.cluster, self.absences, self.edges)

    @cached_property
    def used_gpus(self) -> Floats:
        """GPUs held by jobs, of shape (GPU types, bins), averaged over each bin."""
        held = self.occupancy
        return bin_means(
            held.start_s[held.attempt],
            held.end_s[held.attempt],
            held.instance_gpus,
            self.edges,
            held.gpu_type,
            len(self.cluster.gpu_types),
        )

    @cached_property
    def fragmented_gpus(self) -> Floats:
        """Idle GPUs that typical jobs cannot use, of shape (GPU types, bins)."""
        # brings numba with it, which times and tables do without
        from prophase.sim.measures.fragmentation import fragmented_gpus

        return fragmented_gpus(
            self.workload, self.cluster, self.occupancy, self.absences, self.edges
        )
