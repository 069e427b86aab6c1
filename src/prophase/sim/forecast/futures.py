"""The futures of a queue: what runs and waits now, run times drawn, newcomers as on past days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.sim.cluster import Cluster
from prophase.sim.forecast.queue_state import HELD, QueueState, StandingJobs, unfit
from prophase.sim.forecast.remaining_time import RunTimes
from prophase.sim.signatures import Floats, Ints
from prophase.sim.simulation import simulate
from prophase.sim.workload import Workload, name_some

_DAY_S = 86_400.0
#: newcomers are taken from so many past days, at most
_PAST_DAYS = 7
#: days of newcomers that are let in
_AHEAD_DAYS = 3
#: of which as many hours are simulated as the jobs asked about still wait, in these steps
_AHEAD_S = (2 * 3600.0, 8 * 3600.0, _DAY_S, _AHEAD_DAYS * _DAY_S)
#: running jobs are placed one after the other, so long before now and so far apart
_BEFORE_S, _APART_S = 1.0, 1e-3


@dataclass
class Futures:
    """The jobs of every simulated future; what differs is how long they run and who comes."""

    cluster: Cluster
    #: rows that run: a job on several nodes has one for each
    running: int
    #: rows that run or wait and fit; newcomers follow
    here: Ints
    table: pd.DataFrame
    asks: Ints
    #: per row and future
    left_s: Floats
    #: rows of the newcomers of each past day, and how long after now each of all rows arrives
    days: list[Ints]
    after_s: Floats
    rng: np.random.Generator
    #: share of the running jobs that find no room
    aside: float
    notes: list[str]

    @classmethod
    def of(
        cls,
        state: QueueState,
        cluster: Cluster,
        draws: int,
        newcomers: bool,
        random_state: int,
        place: str = "best_fit",
    ) -> Futures:
        """Draw run times and newcomers; jobs that fit on no node are left out and named."""
        rng = np.random.default_rng(random_state)
        history = RunTimes.of(state.finished, state.running.drop(columns=HELD, errors="ignore"))
        standing = StandingJobs.on(state.running, cluster, place)
        running, cluster, notes = standing.rows, standing.cluster, list(standing.notes)
        past = _past_days(state) if newcomers else None
        if newcomers and past is None:
            notes.append("less than a day of history: nobody is expected to arrive")
        parts = [
            running.drop(columns=[HELD, "wait_s"], errors="ignore"),
            state.waiting.assign(elapsed_s=0.0),
            *([] if past is None else [past]),
        ]
        table = pd.concat([part for part in parts if len(part)], ignore_index=True)
        present = len(running) + len(state.waiting)
        # how long a newcomer ran is known, as far as it has ended
        unknown = np.ones(len(table), np.bool_)
        if past is not None:
            unknown[present:] = past["duration_s"].isna()
        left = np.empty((len(table), draws))
        left[unknown] = history.draw(table[unknown], rng, draws)
        # rows of one job end together
        first = pd.factorize(table["job_id"].iloc[:present])[0]
        left[:present] = left[np.unique(first, return_index=True)[1]][first]
        if past is not None:
            known = past["duration_s"].to_numpy(np.float64)
            left[~unknown] = known[~unknown[present:], None]
        shaped = Workload.from_jobs(
            table.assign(submit_s=np.arange(len(table), dtype=float), duration_s=1.0)
        )
        stuck = unfit(table, shaped.asks, cluster)
        if stuck.any():
            waits = table["job_id"].iloc[:present][stuck[:present]]
            who = f"{len(waits):,} waiting ({name_some(waits)}), " if len(waits) else ""
            notes.append(
                f"jobs that fit on no node of this cluster even when it is empty are left out: "
                f"{who}{int(stuck[present:].sum()):,} of past days"
            )
        days: list[Ints] = []
        after = np.zeros(len(table))
        if past is not None:
            after[present:] = past["_after_s"].to_numpy(np.float64)
            rows = present + np.arange(len(past))
            code = np.where(stuck[present:], -1, past["_day"].to_numpy(np.int64))
            days = [rows[code == day] for day in range(int(past["_whole"].iloc[0]))]
            days = [one[np.argsort(after[one], kind="stable")] for one in days]
        table = table.drop(columns=["_day", "_after_s", "_whole"], errors="ignore")
        here = np.flatnonzero(~stuck[:present])
        return cls(
            cluster, len(running), here, table, shaped.asks, left, days, after, rng,
            standing.aside, notes,
        )  # fmt: skip

    def run(self, jobs: Sequence[str], policy: Mapping[str, Any]) -> tuple[Floats, float]:
        """Return when jobs start, one row per future, and the share of homeless running jobs.

        A job that fits on no node never starts: its starts are missing.
        """
        starts, homeless, step = [], [], 0
        settings = {**policy, "leave_out_unfit": True}
        for left in self.left_s.T:
            chosen = self.rng.integers(max(1, len(self.days)), size=_AHEAD_DAYS)
            while True:
                # who comes after a job has started does not change when it started
                workload = self._workload(left, chosen, _AHEAD_S[step])
                schedule = simulate(workload, self.cluster, **settings)
                ids = schedule.workload.jobs["job_id"].iloc[: len(self.here)].to_numpy(str)
                places = [np.flatnonzero(ids == job) for job in jobs]
                found = [schedule.start_s[at[0]] if len(at) else np.nan for at in places]
                last_s = float(np.nanmax([0.0, *found]))
                if step == len(_AHEAD_S) - 1 or not last_s > _AHEAD_S[step]:
                    break
                step += 1
            if step and last_s <= _AHEAD_S[step - 1]:
                step -= 1
            starts.append(np.maximum(found, 0.0))
            began = schedule.start_s[: self.running]
            homeless.append(float((~(began < 0.0)).mean()) if self.running else 0.0)
        return np.array(starts), self.aside + (1 - self.aside) * float(np.mean(homeless))

    def _workload(self, left: Floats, chosen: Ints, ahead_s: float) -> Workload:
        """Return one future; now is 0 s, and what runs has begun just before."""
        rows = [self.here]
        before = _BEFORE_S + _APART_S * np.arange(self.running, 0, -1)
        submit = [np.zeros(len(self.here))]
        submit[0][: self.running] = -before
        for place, day in enumerate(chosen if self.days else ()):
            when = self.after_s[self.days[day]] + place * _DAY_S
            rows.append(self.days[day][when <= ahead_s])
            submit.append(when[when <= ahead_s])
        taken, when = np.concatenate(rows), np.concatenate(submit)
        begun = np.maximum(-when, 0.0)
        duration = left[taken] + begun
        table = self.table.take(taken).reset_index(drop=True)
        table["submit_s"], table["duration_s"] = when, duration
        if "time_limit_s" in table:
            limit = table["time_limit_s"] - table["elapsed_s"] + begun
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
