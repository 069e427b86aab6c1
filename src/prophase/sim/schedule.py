"""What a replay returns: when and where each job ran, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from prophase import units
from prophase.plain import finite
from prophase.short_form import ShortForm
from prophase.sim.attempts import Attempts
from prophase.sim.cluster import Cluster
from prophase.sim.measures.capacity import Capacity, bin_means
from prophase.sim.measures.occupancy import Occupancy
from prophase.sim.measures.tables import attempt_table, job_table
from prophase.sim.rules.node_availability import Absences
from prophase.sim.signatures import GPU_TYPE, GPUS, Floats, Ints
from prophase.sim.workload import Workload
from prophase.trace.prices import Prices

if TYPE_CHECKING:
    from prophase.sim.forecast.start_forecast import StartForecast

#: bins of time that curves are averaged over
BINS = 480
#: a job shorter than this counts as if it had run so long, or its slowdown would mean nothing
_SLOWDOWN_BOUND_S = 10.0


@dataclass(frozen=True, repr=False)
class Schedule(ShortForm):
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

    @property
    def table(self) -> pd.DataFrame:
        """Return one row per job: times, attempts, and node and GPUs of its first instance."""
        return job_table(self)

    @property
    def attempt_table(self) -> pd.DataFrame:
        """Return one row per attempt and instance: times, outcome, node and GPUs."""
        return attempt_table(self)

    def metrics(
        self,
        by: str | None = None,
        prices: Prices | Mapping[str, Any] | str | Path | None = None,
    ) -> dict[str, Any]:
        """Return the measures people compare schedules by.

        Times are in seconds, per job; waits count the time before the first attempt and
        between attempts. Averages over time run from the first submission to the last end.
        What the trace or the cluster does not state is None.

        Parameters
        ----------
        by : str, optional
            Measure each class of jobs too (``classes``): ``"class"`` for short or long x GPUs,
            ``"gpus"`` for GPUs asked for, or any column of the job table, such as ``"user"``.
        prices : Prices, mapping or path, optional
            What an hour of a GPU type, a core and a GiB costs; adds ``cost``.

        Examples
        --------
        >>> from prophase.sim import simulate
        >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 3600.0})
        >>> jobs["user"], jobs["request_gpus"] = ["ann", "bob"], 1.0
        >>> schedule = simulate(Workload.from_jobs(jobs), Cluster.parse("1x1"))
        >>> found = schedule.metrics(by="user", prices={"gpu_hour": {"default": 2.0}})
        >>> found["mean_wait_s"], found["gpu_utilisation_pct"], found["cost"]["allocated"]
        (1800.0, 100.0, 4.0)
        >>> [(row["user"], row["mean_wait_s"]) for row in found["classes"]]
        [('ann', 0.0), ('bob', 3600.0)]
        """
        # brings numba and statistics with it, which times and tables do without
        from prophase.sim.measures.summary import Summary

        summary = Summary(self, None if prices is None else Prices.take(prices))
        found = summary.total()
        if by is not None:
            found["by"], found["classes"] = by, summary.classes(by)
        return found

    def summary(self) -> list[str]:
        """Say who ran where, how long jobs waited and how long it took."""
        wait = self.wait_s[np.isfinite(self.wait_s)]
        nodes = f"{len(self.cluster):,} nodes, {self.cluster.gpus:,} GPUs"
        said = [f"Schedule of {len(self.workload):,} jobs on {nodes}"]
        said.append(f"order {self.order}, place {self.place}, queue {self.queue}")
        if len(wait):
            mean, most = units.duration(float(wait.mean())), units.duration(float(wait.max()))
            said.append(f"mean wait {mean}, longest {most}")
        return [*said, *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return policy, cluster and measures as JSON holds them."""
        found: dict[str, Any] = finite(
            {
                "order": self.order,
                "place": self.place,
                "queue": self.queue,
                "nodes": len(self.cluster),
                "gpus": self.cluster.gpus,
                **self.metrics(),
                "notes": list(self.notes),
            }
        )
        return found

    def eta(self, job: str | Mapping[str, Any], now_s: float, **settings: Any) -> StartForecast:
        """Forecast at ``now_s`` when a job starts, as if this schedule were a log until then.

        Settings are those of ``forecast_start``; order, place and queue are this schedule's.
        """
        from prophase.sim.forecast.queue_state import recorded_jobs
        from prophase.sim.forecast.start_forecast import forecast_start

        policy = {"order": self.order, "place": self.place, "queue": self.queue, **settings}
        return forecast_start(recorded_jobs(self), self.cluster, job, now_s=now_s, **policy)

    @cached_property
    def occupancy(self) -> Occupancy:
        """Who held what, attempt by attempt and instance by instance."""
        return Occupancy.of(self)

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
        return Capacity.of(self, self.edges)

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
        from prophase.sim.measures.fragmentation import fragmented_gpus

        return fragmented_gpus(self, self.edges)
