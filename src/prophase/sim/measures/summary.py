"""The numbers people compare schedules by, in total and per class."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from prophase.sim.attempts import FINISHED
from prophase.sim.job_times import JobTimes
from prophase.sim.measures.cost import costs, job_costs
from prophase.sim.measures.fairness import fairness
from prophase.sim.measures.job_classes import groups_of
from prophase.sim.measures.offered_load import load_measures
from prophase.sim.measures.time_use import hours_account, time_by_use
from prophase.sim.signatures import ASK_CPU, ASK_INSTANCES, Floats, Ints
from prophase.stats import calendar_blocks, mean
from prophase.trace.prices import Prices

_DAY_S, _HOUR_S = 86400.0, 3600.0
_INTERVAL = ("mean_wait_low_s", "mean_wait_high_s")
_LONG_WAITS = {"1min": 60.0, "10min": 600.0, "1h": _HOUR_S, "1d": _DAY_S}


class Summary:
    """The measures of one schedule; what several of them need is worked out once."""

    def __init__(self, schedule: JobTimes, prices: Prices | None = None) -> None:
        self.schedule = schedule
        self.prices = prices

    def total(self) -> dict[str, Any]:
        """Return the measures of all jobs together, and those of the cluster."""
        found = self.of_jobs(None) | self._interval()
        found["makespan_s"] = self._makespan_s()
        found |= self._utilisation() | self._fragmentation() | self._hours()
        found["fairness"] = self._fairness()
        found |= load_measures(self.schedule)
        if "overload" in found:
            # the mean depends on how long the trace is: no interval over its days holds it
            found = {name: found[name] for name in found if name not in _INTERVAL}
        if self.prices is not None:
            found["cost"] = costs(self.schedule, self.prices, self._job_cost, self._lost_share)
        return found

    def classes(self, by: str) -> list[dict[str, Any]]:
        """Return the measures of the jobs of every class."""
        groups = groups_of(self.schedule.workload, by)
        return [{by: name, **self.of_jobs(rows)} for name, rows in groups.rows()]

    def of_jobs(self, rows: Ints | None) -> dict[str, Any]:
        """Return the measures of some jobs, or of all."""
        pick: Any = slice(None) if rows is None else rows
        schedule = self.schedule
        wait, attempts = schedule.wait_s[pick], self._attempts[pick]
        started = np.isfinite(wait)
        waits = wait[started]
        found: dict[str, Any] = {
            "jobs": len(wait),
            **_spread("wait_s", waits),
            **_spread("jct_s", schedule.jct_s[pick][started]),
            **_spread("bounded_slowdown", schedule.bounded_slowdown[pick][started]),
            "waited_pct": _percent(waits > 0),
            **{f"waited_over_{n}_pct": _percent(waits > long) for n, long in _LONG_WAITS.items()},
            # Little's law turns the sum of all waits into the mean length of the queue
            "mean_waiting_jobs": float(waits.sum()) / self._span_s,
            "mean_waiting_gpus": float(waits @ self._gpus[pick][started]) / self._span_s,
            "attempts": int(attempts.sum()),
            "restarts": int(np.maximum(attempts - 1, 0).sum()),
            "unfinished_jobs": int((~self._finished[pick]).sum()),
        }
        if rows is not None:
            found["gpu_hours_allocated"] = float(self._gpus[rows] @ schedule.run_s[rows]) / _HOUR_S
            if self.prices is not None:
                found["cost"] = float(self._job_cost[rows].sum())
        return found

    def _interval(self) -> dict[str, float]:
        """Return a 95 % interval of the mean wait, over days of submission."""
        started = np.isfinite(self.schedule.wait_s)
        days = calendar_blocks(self.schedule.workload.submit_s[started])
        wait = mean(self.schedule.wait_s[started], days).within(0.0)
        if not wait.known:
            return {}
        return dict(zip(_INTERVAL, (wait.low, wait.high), strict=True))

    def _makespan_s(self) -> float:
        ends = self.schedule.occupancy.end_s
        return float(ends.max() - self.schedule.edges[0]) if ends.size else 0.0

    def _utilisation(self) -> dict[str, Any]:
        schedule, held = self.schedule, self.schedule.occupancy
        used, owned = schedule.used_gpus, schedule.capacity.gpus
        found: dict[str, Any] = {
            "gpu_utilisation_pct": _share(float(used.sum()), float(owned.sum()))
        }
        for name, amount, capacity in (
            ("cpu", held.cores, schedule.capacity.cores),
            ("memory", held.memory_gib, schedule.capacity.memory_gib),
        ):
            # nobody asks for any: the trace does not tell, which is not the same as no use
            known = capacity is not None and bool(amount.any())
            found[f"{name}_utilisation_pct"] = (
                _share(float((amount * held.length_s).sum()), float(capacity.mean()) * self._span_s)
                if known and capacity is not None
                else None
            )
        found["gpu_utilisation_by_type_pct"] = {
            schedule.type_name(int(kind)): _share(float(used[kind].sum()), float(owned[kind].sum()))
            for kind in np.flatnonzero(schedule.gpus_by_type)
        }
        return found

    def _fragmentation(self) -> dict[str, Any]:
        """Return the idle GPUs that typical jobs could not use, on average over time."""
        if not self.schedule.cluster.gpus:
            return {}
        wasted = float(self.schedule.fragmented_gpus.sum(axis=0).mean())
        owned = float(self.schedule.capacity.gpus.sum(axis=0).mean())
        idle = owned - float(self.schedule.used_gpus.sum(axis=0).mean())
        return {
            "mean_fragmented_gpus": wasted,
            "fragmentation_of_idle_pct": _share(wasted, idle) if idle > 1e-9 * owned else None,
            "fragmentation_of_all_pct": _share(wasted, owned),
        }

    def _hours(self) -> dict[str, Any]:
        held, capacity = self.schedule.occupancy, self.schedule.capacity
        gpus = capacity.gpus.sum(axis=0) if self.schedule.cluster.gpus else None
        found = {}
        for name, amount, owned in (
            ("gpu_hours", held.gpus, gpus),
            ("core_hours", held.cores, capacity.cores),
            ("gib_hours", held.memory_gib, capacity.memory_gib),
        ):
            if amount.any() or (name == "gpu_hours" and gpus is not None):
                had = None if owned is None else float(owned.mean()) * self._span_s
                found[name] = hours_account(amount, self._uses, had)
        return found

    def _fairness(self) -> dict[str, Any]:
        schedule = self.schedule
        if "user" not in schedule.workload.jobs:
            return {"users": 0}
        users = pd.factorize(schedule.workload.jobs["user"])[0]
        asks = schedule.workload.asks
        amount = self._gpus if self._gpus.any() else asks[:, ASK_CPU] * asks[:, ASK_INSTANCES]
        return fairness(
            users, schedule.wait_s, schedule.bounded_slowdown, amount * schedule.run_s / _HOUR_S
        )

    @cached_property
    def _gpus(self) -> Floats:
        return self.schedule.workload.gpus

    @cached_property
    def _attempts(self) -> Ints:
        held = self.schedule.occupancy
        return np.bincount(held.job, minlength=len(self.schedule.workload))

    @cached_property
    def _finished(self) -> Any:
        held, jobs = self.schedule.occupancy, len(self.schedule.workload)
        return np.bincount(held.job[held.outcome == FINISHED], minlength=jobs) > 0

    @cached_property
    def _span_s(self) -> float:
        edges = self.schedule.edges
        return float(edges[-1] - edges[0])

    @cached_property
    def _uses(self) -> dict[str, Floats]:
        return time_by_use(self.schedule)

    @cached_property
    def _lost_share(self) -> Floats:
        held, jobs = self.schedule.occupancy, len(self.schedule.workload)
        good = np.bincount(held.job, self._uses["useful"] + self._uses["slowed"], jobs)
        ran = self.schedule.run_s
        share: Floats = 1.0 - np.divide(good, ran, out=np.ones(len(ran)), where=ran > 0)
        return share

    @cached_property
    def _job_cost(self) -> Floats:
        assert self.prices is not None
        return job_costs(self.schedule, self.prices)


def _spread(name: str, values: Floats) -> dict[str, float | None]:
    names = [f"{what}_{name}" for what in ("mean", "p50", "p90", "p99")]
    if not values.size:
        return dict.fromkeys(names)
    numbers: Sequence[float] = [values.mean(), *np.percentile(values, [50, 90, 99])]
    return {what: float(number) for what, number in zip(names, numbers, strict=True)}


def _percent(which: Any) -> float | None:
    return float(100 * which.mean()) if which.size else None


def _share(used: float, capacity: float) -> float | None:
    return 100 * used / capacity if capacity else None
