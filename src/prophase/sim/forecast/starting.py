"""Forecast when a waiting job starts: the queue as it is, run forward many times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.cluster import Cluster
from prophase.sim.forecast.holding import HELD, pinned
from prophase.sim.forecast.remaining import RunTimes
from prophase.sim.forecast.state import QueueState
from prophase.sim.forecast.stretch import Stretch
from prophase.sim.replaying import simulate
from prophase.sim.signatures import Floats, Ints
from prophase.sim.workload import Workload

#: less history than this supports no forecast
LEAST_FINISHED = 50
_DAY_S = 86_400.0
#: newcomers are taken from so many past days, at most
_PAST_DAYS = 7
#: days of newcomers that are let in
_AHEAD_DAYS = 3
#: more running jobs than this share that find no room: the cluster is not the one described
_HOMELESS = 0.05


@dataclass(frozen=True)
class StartForecast:
    """When a job is expected to start, in seconds from now; ``reason`` if that cannot be told.

    Attributes
    ----------
    p10_s, p50_s, p90_s : float
        Between the outer two it starts in 80 % of all cases.
    starts_s : array
        Start in each simulated future.
    """

    job_id: str
    now_s: float
    p10_s: float | None
    p50_s: float | None
    p90_s: float | None
    running: int
    waiting: int
    ahead: int
    starts_s: Floats = field(repr=False, default_factory=lambda: np.empty(0))
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether there is a forecast."""
        return not self.reason

    def share_within(self, seconds: float) -> float | None:
        """Return the probability that the job starts within so many seconds."""
        return float((self.starts_s <= seconds).mean()) if self.known else None

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON knows them."""
        return {
            "job_id": self.job_id,
            "now_s": self.now_s,
            "p10_s": self.p10_s,
            "p50_s": self.p50_s,
            "p90_s": self.p90_s,
            "start_p10_s": None if self.p10_s is None else self.now_s + self.p10_s,
            "start_p50_s": None if self.p50_s is None else self.now_s + self.p50_s,
            "start_p90_s": None if self.p90_s is None else self.now_s + self.p90_s,
            "running": self.running,
            "waiting": self.waiting,
            "ahead": self.ahead,
            "draws": len(self.starts_s),
            "reason": self.reason,
            "notes": list(self.notes),
        }


def forecast_start(
    jobs: pd.DataFrame,
    cluster: Cluster,
    job: str | Mapping[str, Any],
    *,
    now_s: float | None = None,
    draws: int = 100,
    newcomers: bool = True,
    stretch: Stretch | None = None,
    random_state: int = 0,
    **policy: Any,
) -> StartForecast:
    """Say when a job will start, with an interval, or why that cannot be said.

    Running jobs keep what they hold for a time drawn from finished jobs of their kin that ran
    at least as long; waiting jobs get run times the same way, and newcomers arrive as on past
    days. Nothing that happens after ``now_s`` is looked at.

    Parameters
    ----------
    jobs : DataFrame
        Job table with ``submit_s``, ``start_s`` and ``end_s`` or ``duration_s``.
    job : str or mapping
        A waiting job's id, or a request submitted now: ``{"request_gpus": 4, "user": "ann"}``.
    now_s : float, optional
        The instant; the last event of the table if not given.
    draws : int, default=100
        Futures to simulate.
    newcomers : bool, default=True
        Let jobs arrive after now, as they did on past days.
    stretch : Stretch, optional
        Widen the interval; ``measure_coverage`` finds how much is needed.
    **policy
        Settings of ``simulate``: ``order``, ``place``, ``queue`` ...

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": [f"j{i}" for i in range(100)]})
    >>> jobs["submit_s"], jobs["duration_s"] = 100.0 * jobs.index, 190.0
    >>> jobs["request_gpus"], jobs["start_s"] = 1.0, 190.0 * jobs.index
    >>> found = forecast_start(jobs, Cluster.uniform(1, 1), "j70", now_s=12_000.0)
    >>> round(found.p50_s)
    1300
    """
    if draws < 10:
        raise ParameterError(f"draws is {draws}: an interval needs at least 10.")
    if now_s is None:
        now_s = last_event_s(jobs)
    state = QueueState.at(jobs, now_s)
    job_id, state = _target(jobs, state, job)
    counts = {
        "job_id": job_id,
        "now_s": state.now_s,
        "running": len(state.running),
        "waiting": len(state.waiting),
        "ahead": int((state.waiting["job_id"].astype(str) == job_id).to_numpy().argmax()),
    }

    def abstain(reason: str) -> StartForecast:
        return StartForecast(**counts, p10_s=None, p50_s=None, p90_s=None, reason=reason)  # type: ignore[arg-type]

    if len(state.finished) < LEAST_FINISHED:
        return abstain(
            f"only {len(state.finished):,} jobs have finished by then; {LEAST_FINISHED} are needed"
        )
    futures = _Futures.of(state, cluster, job_id, draws, newcomers, random_state)
    try:
        starts, homeless = futures.run(policy)
    except InputError as cause:
        return abstain(str(cause))
    if homeless > _HOMELESS:
        return abstain(
            f"{homeless:.0%} of the running jobs find no room on this cluster: it is not the one "
            "they run on"
        )
    if np.isnan(starts).mean() > 0.05:
        return abstain("the job never starts in some of the simulated futures")
    found = np.nan_to_num(starts, nan=np.inf)
    raw_low, middle, raw_high = np.quantile(found, [0.1, 0.5, 0.9])
    low, high = (stretch or Stretch()).apply(float(raw_low), float(raw_high))
    return StartForecast(
        **counts,  # type: ignore[arg-type]
        p10_s=low,
        p50_s=float(middle),
        p90_s=high,
        starts_s=found,
        notes=tuple(futures.notes),
    )


def last_event_s(jobs: pd.DataFrame) -> float:
    """Return the last instant that a job table tells of: a submission, start or end."""
    columns = [name for name in ("submit_s", "start_s", "end_s") if name in jobs]
    times = jobs[columns].to_numpy(np.float64, na_value=np.nan)
    if not np.isfinite(times).any():
        raise InputError("the job table tells no time at all; name --now.")
    return float(np.nanmax(times))


def _target(
    jobs: pd.DataFrame, state: QueueState, job: str | Mapping[str, Any]
) -> tuple[str, QueueState]:
    """Find the job among those that wait, or add it as the last of them."""
    if isinstance(job, str):
        if (state.waiting["job_id"].astype(str) == job).any():
            return job, state
        for what, part in (("already runs", state.running), ("has already run", state.finished)):
            if (part["job_id"].astype(str) == job).any():
                raise ParameterError(f"job {job} {what} at {state.now_s:,.0f} s.")
        if (jobs["job_id"].astype(str) == job).any():
            raise ParameterError(f"job {job} is not submitted by {state.now_s:,.0f} s.")
        raise ParameterError(f"job {job} is not in the job table.")
    unknown = [name for name in job if name not in state.waiting and not name.startswith("attr_")]
    if unknown:
        raise ParameterError(f"the job table has no column {unknown[0]} to ask for.")
    row = {"job_id": "new job", "submit_s": state.now_s, "instances": 1.0, **job}
    added = pd.DataFrame([{name: row.get(name) for name in state.waiting.columns}])
    added = added.astype(
        {n: t for n, t in state.waiting.dtypes.items() if pd.api.types.is_float_dtype(t)}
    )
    both = pd.concat([state.waiting, added], ignore_index=True) if len(state.waiting) else added
    return str(row["job_id"]), replace(state, waiting=both)


@dataclass
class _Futures:
    """The jobs of every simulated future; what differs is how long they run and who comes."""

    cluster: Cluster
    job_id: str
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
        job_id: str,
        draws: int,
        newcomers: bool,
        random_state: int,
    ) -> _Futures:
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
            cluster, job_id, len(running), present, table, shaped.asks, left, days, after, rng,
            notes,
        )  # fmt: skip

    def run(self, policy: Mapping[str, Any]) -> tuple[Floats, float]:
        """Return the start of the job in each future, and the share of homeless running jobs."""
        starts, homeless = [], []
        for left in self.left_s.T:
            schedule = simulate(self._workload(left), self.cluster, **policy)
            ids = schedule.workload.jobs["job_id"].to_numpy(str)
            place = np.flatnonzero(ids == self.job_id)
            if not len(place):
                raise InputError("the job fits on no node of this cluster")
            starts.append(max(schedule.start_s[place[0]], 0.0))
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
