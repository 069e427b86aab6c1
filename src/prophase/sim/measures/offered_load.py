"""How much jobs ask for against what the cluster has, and what is left waiting when it is more.

The offered load of a resource is what jobs would hold on average if nobody had to wait: what they
ask for times how long they run, over the time of submissions. Beyond the capacity no order and no
placement helps: the queue grows as long as jobs come, and waits tell how long the trace is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase import units
from prophase.plural import listed
from prophase.sim.cluster import PLENTY
from prophase.sim.job_times import JobTimes
from prophase.sim.signatures import (
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_TYPES,
    CPU,
    GPUS,
    MEMORY,
    Floats,
)

_DAY_S, _HOUR_S = 86_400.0, 3600.0
#: fewer jobs, or jobs that all come within one run time, are a burst: it has an end
_FEW_JOBS = 20
_TENTHS = 10


@dataclass(frozen=True)
class ResourceLoad:
    """The load of one resource; amounts in GPUs, cores or GiB."""

    resource: str
    unit: str
    offered: float
    capacity: float
    #: in the tenth of the time in which most was asked for
    peak: float
    #: of jobs that had not started when the last one was submitted, amount times seconds
    backlog: float
    span_s: float

    @property
    def share(self) -> float:
        """Offered load over capacity: beyond 1 the queue grows without end."""
        return self.offered / self.capacity

    @property
    def growth_s_per_day(self) -> float:
        """How much longer the whole capacity needs for what waits, per day of submissions."""
        return self.backlog / self.capacity / (self.span_s / _DAY_S)

    @property
    def in_words(self) -> str:
        """What jobs ask for against what there is, such as ``T4 GPUs (2.9 times, 58 of 20)``."""
        return (
            f"{self.resource} ({self.share:.3g} times, {self.offered:,.0f} of "
            f"{self.capacity:,.0f}{' GiB' * (self.unit == 'GiB')})"
        )

    @property
    def enough(self) -> str:
        """What would hold the load, such as ``58 T4 GPUs``."""
        amount = f"{self.offered:,.0f}"
        return f"{amount} GiB of memory" if self.unit == "GiB" else f"{amount} {self.resource}"


def _sentence(worst: ResourceLoad, others: list[ResourceLoad]) -> str:
    """Say which resources are overloaded, what waits, and what would hold."""
    clear_s, days = worst.backlog / worst.capacity, worst.span_s / _DAY_S
    growth = units.duration(worst.growth_s_per_day) if days >= 1 else ""
    also = f" So it is with the {listed([one.in_words for one in others])}." if others else ""
    return (
        f"Overloaded: jobs ask for {worst.share:.3g} times the {worst.resource} there are "
        f"({worst.offered:,.0f} of {worst.capacity:,.0f} {worst.unit} at once), so waits grow as "
        f"long as jobs come, and their mean tells how long the trace is.{also} When the last job "
        f"came, work for {units.duration(clear_s)} of all these {worst.resource} was waiting"
        + (f", {growth} more every day" if growth else "")
        + f". Only more than {listed([one.enough for one in (worst, *others)])} hold this load."
    )


def offered_loads(schedule: JobTimes) -> list[ResourceLoad]:
    """Return the load of every resource that jobs ask for and that limits, GPU types apart."""
    workload, matrix = schedule.workload, schedule.cluster.matrix
    span = float(np.ptp(workload.submit_s)) if len(workload) else 0.0
    if span <= 0:
        return []
    asks = workload.asks
    instances = asks[:, ASK_INSTANCES]
    found = []
    asked: list[tuple[str, str, Floats, float]] = [
        ("GPUs", "GPUs", workload.gpus, float(matrix[:, GPUS].sum())),
        *_by_type(schedule),
        ("cores", "cores", workload.cores, _limit(matrix[:, CPU], 1000.0)),
        (
            "memory",
            "GiB",
            asks[:, ASK_MEMORY] * instances / 1024.0,
            _limit(matrix[:, MEMORY], 1024.0),
        ),
    ]
    waits = ~(schedule.start_s <= workload.submit_s[-1])
    tenth = np.minimum(
        (workload.submit_s - workload.submit_s[0]) / span * _TENTHS, _TENTHS - 1
    ).astype(np.int64)
    for name, unit, amount, capacity in asked:
        if not amount.any() or not 0 < capacity < np.inf:
            continue
        work = amount * workload.duration_s
        peak = float(np.bincount(tenth, work, _TENTHS).max()) / (span / _TENTHS)
        backlog = float(work[waits].sum())
        offered = float(work.sum()) / span
        found.append(ResourceLoad(name, unit, offered, capacity, peak, backlog, span))
    return found


def overloaded(schedule: JobTimes, loads: list[ResourceLoad]) -> list[ResourceLoad]:
    """Return the overloaded resources, the worst first; none if the trace is too short to tell.

    All GPUs together are left out where a type of them is overloaded, which says more.
    """
    if len(schedule.workload) < _FEW_JOBS or not loads:
        return []
    beyond = sorted((one for one in loads if one.share > 1), key=lambda load: -load.share)
    if not beyond or beyond[0].span_s < float(np.median(schedule.workload.duration_s)):
        return []
    typed = any(one.unit == "GPUs" and one.resource != "GPUs" for one in beyond)
    return [one for one in beyond if not typed or one.resource != "GPUs"]


def load_measures(schedule: JobTimes) -> dict[str, Any]:
    """Return the loads in percent of the capacity, and what is overloaded."""
    loads = offered_loads(schedule)
    if not loads:
        return {}
    found: dict[str, Any] = {
        "offered_load_pct": {load.resource: 100 * load.share for load in loads},
        "peak_load_pct": {load.resource: 100 * load.peak / load.capacity for load in loads},
    }
    beyond = overloaded(schedule, loads)
    if beyond:
        worst = beyond[0]
        found["overload"] = {
            "resource": worst.resource,
            "needed": worst.offered,
            "capacity": worst.capacity,
            "backlog_h": worst.backlog / worst.capacity / _HOUR_S,
            "backlog_growth_h_per_day": worst.growth_s_per_day / _HOUR_S,
            **_throughput(schedule, worst.span_s / _DAY_S),
            "also": [
                {"resource": one.resource, "needed": one.offered, "capacity": one.capacity}
                for one in beyond[1:]
            ],
            "said": _sentence(worst, beyond[1:]),
        }
    return found


def times_asked(cells: pd.DataFrame) -> pd.Series:
    """Return how many times the capacity jobs ask for, of overloaded replays; a row per replay."""
    if "overload.needed" not in cells:
        return pd.Series(dtype=np.float64)
    return (cells["overload.needed"] / cells["overload.capacity"]).dropna()


def _throughput(schedule: JobTimes, days: float) -> dict[str, float]:
    """Return how many jobs came, and how many ended, per day of submissions."""
    ended = schedule.end_s <= schedule.workload.submit_s[-1]
    return {
        "jobs_submitted_per_day": len(schedule.workload) / days,
        "jobs_ended_per_day": float(ended.sum()) / days,
    }


def _by_type(schedule: JobTimes) -> list[tuple[str, str, Floats, float]]:
    """Return what jobs ask for that accept one type of GPU alone."""
    owned = schedule.gpus_by_type
    if (owned > 0).sum() < 2:
        return []
    types, gpus = schedule.workload.asks[:, ASK_TYPES], schedule.workload.gpus
    has_gpus = schedule.workload.asks[:, ASK_GPUS] > 0
    return [
        (
            f"{schedule.type_name(int(kind))} GPUs",
            "GPUs",
            np.where(has_gpus & (types == 1 << int(kind)), gpus, 0.0),
            float(owned[kind]),
        )
        for kind in np.flatnonzero(owned)
    ]


def _limit(amounts: Any, unit: float) -> float:
    """Return what all nodes have, infinite if one of them does not limit."""
    return np.inf if (amounts >= PLENTY).any() else float(amounts.sum()) / unit
