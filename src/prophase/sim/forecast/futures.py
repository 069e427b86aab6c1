"""The futures of a queue: what runs and waits now, run times drawn, newcomers as on past days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.sim.cluster import Cluster
from prophase.sim.forecast.queue_state import HELD, QueueState, pinned
from prophase.sim.forecast.remaining_time import RunTimes
from prophase.sim.signatures import Floats, Ints
from prophase.sim.simulation import simulate
from prophase.sim.workload import Workload

_DAY_S = 86_400.0
#: newcomers are taken from so many past days, at most
_PAST_DAYS = 7
#: days of newcomers that are let in
_AHEAD_DAYS = 3


@dataclass
class Futures:
    """The jobs of every simulated future; what differs is how long they run and who comes."""

    cluster: Cluster
    #: rows that run: a job on several nodes has one for each
    running: int
    #: rows that run or wait; newcomers follow
    present: int
    table: pd.DataFrame
    asks: Ints
    #: per row and future
    left_s: Floats
    #: rows of the newcomers of each past day, and how long after now each of all rows arrives
    days: list[Ints]
    after_s: Floats
    rng: np.random.Generator
    notes: list[str]

    @classmethod
    def of(
        cls,
        state: QueueState,
        cluster: Cluster,
        draws: int,
        newcomers: bool,
        random_state: int,
    ) -> Futures:
        rng = np.random.default_rng(random_state)
        history = RunTimes.of(state.finished, state.running.drop(columns=HELD, errors="ignore"))
        notes = []
        running, cluster, tied = pinned(state.running, cluster)
        if tied < len(state.running):
            notes.append(
                f"the nodes of {len(state.running) - tied:,} of {len(state.running):,} running "
                "jobs are not known: free room may be more scattered than simulated"
            )
        # the widest first: small ones fit anywhere
        width = running.get("request_gpus", pd.Series(0.0, running.index)).fillna(0.0)
        running = running.iloc[np.argsort(-width.to_numpy(np.float64), kind="stable")]
        past = _past_days(state) if newcomers else None
        if newcomers and past is None:
            notes.append("less than a day of history: nobody is expected to arrive")
        parts = [
            running.drop(columns=[HELD, "wait_s"], errors="ignore"),
            state.waiting.assign(elapsed_s=0.0),
            *([] if past is None else [past]),
        ]
        table = pd.concat([part for part in parts if len(part)], ignore_index=True)
        left = history.draw(table, rng, draws)
        present = len(running) + len(state.waiting)
        # rows of one job end together
        first = pd.factorize(table["job_id"].iloc[:present])[0]
        left[:present] = left[np.unique(first, return_index=True)[1]][first]
        days: list[Ints] = []
        after = np.zeros(len(table))
        if past is not None:
            known = past["duration_s"].to_numpy(np.float64)
            left[present:] = np.where(np.isnan(known)[:, None], left[present:], known[:, None])
            after[present:] = past["_after_s"].to_numpy(np.float64)
            rows = present + np.arange(len(past))
            code = past["_day"].to_numpy(np.int64)
            days = [rows[code == day] for day in range(int(past["_whole"].iloc[0]))]
            days = [one[np.argsort(after[one], kind="stable")] for one in days]
        table = table.drop(columns=["_day", "_after_s", "_whole"], errors="ignore")
        shaped = Workload.from_jobs(
            table.assign(submit_s=np.arange(len(table), dtype=float), duration_s=1.0)
        )
        return cls(
            cluster, len(running), present, table, shaped.asks, left, days, after, rng, notes
        )

    def run(self, jobs: Sequence[str], policy: Mapping[str, Any]) -> tuple[Floats, float]:
        """Return when jobs start, one row per future, and the share of homeless running jobs.

        A job that fits on no node never starts: its starts are missing.
        """
        starts, homeless = [], []
        for left in self.left_s.T:
            schedule = simulate(self._workload(left), self.cluster, **policy)
            ids = schedule.workload.jobs["job_id"].iloc[: self.present].to_numpy(str)
            places = [np.flatnonzero(ids == job) for job in jobs]
            starts.append(
                [max(schedule.start_s[at[0]], 0.0) if len(at) else np.nan for at in places]
            )
            began = schedule.start_s[: self.running]
            homeless.append(float((~(began < 0.0)).mean()) if self.running else 0.0)
        return np.array(starts), float(np.mean(homeless))

    def _workload(self, left: Floats) -> Workload:
        """Return one future; now is 0 s, and what runs has begun a second before."""
        rows = [np.arange(self.present)]
        submit = [np.where(rows[0] < self.running, -1.0, 0.0)]
        ahead = _AHEAD_DAYS if self.days else 0
        chosen = self.rng.integers(max(1, len(self.days)), size=ahead)
        for place, day in enumerate(chosen):
            rows.append(self.days[day])
            submit.append(self.after_s[self.days[day]] + place * _DAY_S)
        taken, when = np.concatenate(rows), np.concatenate(submit)
        duration = left[taken] + (when < 0)
        table = self.table.take(taken).reset_index(drop=True)
        table["submit_s"], table["duration_s"] = when, duration
        if "time_limit_s" in table:
            limit = table["time_limit_s"] - table["elapsed_s"] + (when < 0)
            table["time_limit_s"] = np.maximum(limit, duration)
        return Workload(table, when, duration, self.asks[taken], {})


def _past_days(state: QueueState) -> pd.DataFrame | None:
    """Return the jobs submitted on past days, with day and time since the same hour as now."""
    parts = [
        state.finished,
        state.running.drop(columns=["elapsed_s", HELD], errors="ignore"),
        state.waiting,
    ]
    seen = pd.concat([part for part in parts if len(part)], ignore_index=True)
    if "duration_s" not in seen:
        seen["duration_s"] = np.nan
    before = state.now_s - seen["submit_s"].to_numpy(np.float64)
    whole = int(min(before.max() // _DAY_S, _PAST_DAYS))
    if whole < 1:
        return None
    # day 0 is the last 24 hours
    day = np.ceil(before / _DAY_S).astype(np.int64) - 1
    rows = np.flatnonzero((day >= 0) & (day < whole))
    chosen = seen.take(rows).drop(columns=["wait_s", "end_s"], errors="ignore")
    return chosen.assign(
        job_id=[f"newcomer {number}" for number in range(len(rows))],
        elapsed_s=0.0,
        _day=day[rows],
        _after_s=((day + 1) * _DAY_S - before)[rows],
        _whole=whole,
    )
