"""What a replay returns: when and where each job ran, and what that means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from prophase.sim.attempts import Attempts
from prophase.sim.cluster import Cluster
from prophase.sim.signatures import ASK_CPU, ASK_GPUS, ASK_INSTANCES, ASK_MILLI, CPU, Floats, Ints
from prophase.sim.workload import Workload


@dataclass(frozen=True)
class Schedule:
    """Start, end and place of every job of a workload on a cluster."""

    workload: Workload
    cluster: Cluster
    attempts: Attempts
    order: str
    place: str
    queue: str
    notes: tuple[str, ...] = ()

    @cached_property
    def _first_attempt(self) -> Ints:
        """Row of each job's first attempt; attempts are in the order of their starts."""
        rows = np.empty(len(self.workload), np.int64)
        rows[self.attempts.job[::-1]] = np.arange(len(self.attempts))[::-1]
        return rows

    @cached_property
    def start_s(self) -> Floats:
        """First start."""
        return self.attempts.start_s[self._first_attempt]

    @cached_property
    def end_s(self) -> Floats:
        """End of the last attempt."""
        ends = np.full(len(self.workload), -np.inf)
        np.maximum.at(ends, self.attempts.job, self.attempts.end_s)
        return ends

    @cached_property
    def run_s(self) -> Floats:
        """Time spent running, over all attempts."""
        lengths = self.attempts.end_s - self.attempts.start_s
        total: Floats = np.bincount(
            self.attempts.job, weights=lengths, minlength=len(self.workload)
        ).astype(np.float64)
        return total

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

    @property
    def table(self) -> pd.DataFrame:
        """Return one row per job: times, and the nodes and GPUs of its first instance."""
        first = self.attempts.first_instance[self._first_attempt]
        names = self.cluster.nodes["node_id"].to_numpy(str)
        return pd.DataFrame(
            {
                "job_id": self.workload.jobs["job_id"],
                "submit_s": self.workload.submit_s,
                "start_s": self.start_s,
                "end_s": self.end_s,
                "duration_s": self.workload.duration_s,
                "wait_s": self.wait_s,
                "jct_s": self.jct_s,
                "instances": self.workload.asks[:, ASK_INSTANCES],
                "node_id": names[self.attempts.node[first]],
                "gpu_ids": [_bits(bits) for bits in self.attempts.gpu_bits[first]],
            }
        )

    def metrics(self) -> dict[str, Any]:
        """Return the measures people compare schedules by; times in seconds, per job."""
        asks = self.workload.asks
        gpus = asks[:, ASK_GPUS] * asks[:, ASK_MILLI] / 1000 * asks[:, ASK_INSTANCES]
        cores = asks[:, ASK_CPU] / 1000 * asks[:, ASK_INSTANCES]
        begin, finish = float(self.workload.submit_s.min()), float(self.end_s.max())
        span = finish - begin
        slowdown = self.jct_s / np.maximum(self.workload.duration_s, 10.0)
        capacity_gpu = self.cluster.gpus * span
        capacity_cpu = float(self.cluster.matrix[:, CPU].sum()) / 1000 * span
        return {
            "jobs": len(self.workload),
            **_spread("wait_s", self.wait_s),
            **_spread("jct_s", self.jct_s),
            "mean_bounded_slowdown": float(np.maximum(slowdown, 1.0).mean()),
            "waited_pct": float(100 * (self.wait_s > 0).mean()),
            "makespan_s": span,
            "gpu_utilisation_pct": _share(
                float((gpus * self.workload.duration_s).sum()), capacity_gpu
            ),
            "cpu_utilisation_pct": _share(
                float((cores * self.workload.duration_s).sum()), capacity_cpu
            ),
            "gpu_hours": float((gpus * self.workload.duration_s).sum() / 3600),
        }


def _spread(name: str, values: Floats) -> dict[str, float]:
    p50, p90, p99 = np.percentile(values, [50, 90, 99])
    return {
        f"mean_{name}": float(values.mean()),
        f"p50_{name}": float(p50),
        f"p90_{name}": float(p90),
        f"p99_{name}": float(p99),
    }


def _share(used: float, capacity: float) -> float | None:
    return 100 * used / capacity if capacity else None


def _bits(bits: int) -> str:
    return " ".join(str(gpu) for gpu in range(int(bits).bit_length()) if int(bits) >> gpu & 1)
