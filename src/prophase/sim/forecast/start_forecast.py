"""When a waiting job starts: the queue run forward many times, with honest intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.cluster import Cluster
from prophase.sim.forecast.futures import Futures
from prophase.sim.forecast.queue_state import QueueState, recorded_jobs
from prophase.sim.job_times import JobTimes
from prophase.sim.signatures import Floats
from prophase.trace.describe.trace_clock import latest_moment_s

#: name of a job that is only asked about
NEW_JOB = "new job"
#: an offset below a second would let clocks count as a large miss
_LEAST_OFFSET_S = 1.0


@dataclass(frozen=True)
class IntervalWidening:
    """How far to move both ends of an interval on the logarithm of the wait.

    Attributes
    ----------
    low, high : float
        Moves of the lower end (down) and of the upper end (up); below zero: inwards.
    offset_s : float
        Added to waits before the logarithm: a tenth of a usual wait, so that zero can move too.
    """

    low: float = 0.0
    high: float = 0.0
    offset_s: float = _LEAST_OFFSET_S

    def apply(self, low_s: float, high_s: float) -> tuple[float, float]:
        """Return the widened interval.

        Examples
        --------
        >>> IntervalWidening(high=np.log(2.0)).apply(0.0, 540.0)
        (0.0, 1081.0)
        """
        lower = (low_s + self.offset_s) * np.exp(-self.low) - self.offset_s
        upper = (high_s + self.offset_s) * np.exp(self.high) - self.offset_s
        return max(0.0, round(float(lower), 6)), max(0.0, round(float(upper), 6))

    @classmethod
    def learn(
        cls,
        low_s: Floats,
        high_s: Floats,
        truth_s: Floats,
        *,
        independent: int | None = None,
        outside: float = 0.1,
    ) -> Self:
        """Find moves that leave at most this share of the true starts beyond each end.

        This is split conformal prediction with quantiles (Romano et al. 2019), each end apart.

        Parameters
        ----------
        independent : int, optional
            How many of the forecasts are independent: those of one instant share their luck.
            Fewer call for more caution.

        Examples
        --------
        >>> truth = np.arange(100.0)
        >>> learnt = IntervalWidening.learn(truth - 5, truth + 5, truth)
        >>> learnt.low < 0 and learnt.high < 0
        True
        """
        offset = max(_LEAST_OFFSET_S, 0.1 * float(np.median(truth_s)))
        low, high, truth = (
            np.log(np.maximum(values, 0.0) + offset) for values in (low_s, high_s, truth_s)
        )
        place = min(1.0, (1.0 - outside) * (1.0 + 1.0 / (independent or len(truth_s))))
        return cls(
            float(np.quantile(low - truth, place)), float(np.quantile(truth - high, place)), offset
        )


#: less history than this supports no forecast
LEAST_FINISHED = 50
#: more running jobs than this share that find no room: the cluster is not the one described
_HOMELESS = 0.3


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
    stretch: IntervalWidening | None = None,
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
    stretch : IntervalWidening, optional
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
    if now_s is None:
        now_s = latest_moment_s(jobs)
    job_id, state = _target(jobs, QueueState.at(jobs, now_s), job)
    return forecast_waiting(
        state,
        cluster,
        [job_id],
        draws=draws,
        newcomers=newcomers,
        stretch=stretch,
        random_state=random_state,
        **policy,
    )[0]


def forecast_waiting(
    state: QueueState,
    cluster: Cluster,
    job_ids: Sequence[str],
    *,
    draws: int = 100,
    newcomers: bool = True,
    stretch: IntervalWidening | None = None,
    random_state: int = 0,
    **policy: Any,
) -> list[StartForecast]:
    """Say when jobs of a queue will start; all from the same futures.

    Settings are those of ``forecast_start``.
    """
    if draws < 10:
        raise ParameterError(f"draws is {draws}: an interval needs at least 10.")
    waiting = state.waiting["job_id"].astype(str).to_numpy()
    counts = [
        {
            "job_id": job_id,
            "now_s": state.now_s,
            "running": len(state.running),
            "waiting": len(waiting),
            "ahead": int((waiting == job_id).argmax()),
        }
        for job_id in job_ids
    ]

    def abstain(about: dict[str, Any], reason: str) -> StartForecast:
        return StartForecast(**about, p10_s=None, p50_s=None, p90_s=None, reason=reason)

    if len(state.finished) < LEAST_FINISHED:
        reason = (
            f"only {len(state.finished):,} jobs have finished by then; {LEAST_FINISHED} are needed"
        )
        return [abstain(about, reason) for about in counts]
    place = str(policy.get("place", "best_fit"))
    try:
        futures = Futures.of(state, cluster, draws, newcomers, random_state, place)
        starts, homeless = futures.run(job_ids, policy)
    except InputError as cause:
        return [abstain(about, str(cause).rstrip(".")) for about in counts]
    if homeless > _HOMELESS:
        reason = (
            f"{homeless:.0%} of the running jobs find no room on this cluster: it is not the one "
            "they run on"
        )
        return [abstain(about, reason) for about in counts]
    found = []
    for about, one in zip(counts, starts.T, strict=True):
        if np.isnan(one).all():
            found.append(abstain(about, "the job fits on no node of this cluster"))
        elif np.isnan(one).mean() > 0.05:
            found.append(abstain(about, "the job never starts in some of the simulated futures"))
        else:
            found.append(told_start(about, one, stretch, tuple(futures.notes)))
    return found


def told_start(
    about: Mapping[str, Any],
    starts: Floats,
    stretch: IntervalWidening | None,
    notes: tuple[str, ...] = (),
) -> StartForecast:
    """Return the forecast that the starts in many futures give; a missing one never comes."""
    known = np.nan_to_num(starts, nan=np.inf)
    raw_low, middle, raw_high = (float(q) for q in np.quantile(known, [0.1, 0.5, 0.9]))
    low, high = (stretch or IntervalWidening()).apply(raw_low, raw_high)
    return StartForecast(
        **about,
        p10_s=min(low, middle),
        p50_s=middle,
        p90_s=max(high, middle),
        starts_s=known,
        notes=notes,
    )


def forecast_in_schedule(
    schedule: JobTimes, job: str | Mapping[str, Any], now_s: float, **settings: Any
) -> StartForecast:
    """Forecast at ``now_s`` when a job starts, as if a schedule were a log until then.

    Settings are those of ``forecast_start``; order, place and queue are the schedule's.
    """
    policy = {"order": schedule.order, "place": schedule.place, "queue": schedule.queue}
    return forecast_start(
        recorded_jobs(schedule), schedule.cluster, job, now_s=now_s, **policy | settings
    )


def _target(
    jobs: pd.DataFrame, state: QueueState, job: str | Mapping[str, Any]
) -> tuple[str, QueueState]:
    """Find the job among those that wait, or add it as the last of them."""
    if isinstance(job, str):
        if (state.waiting["job_id"].astype(str) == job).any():
            return job, state
        late = "Name a job that waits, or an earlier instant with --now."
        for what, part in (("already runs", state.running), ("has already ended", state.finished)):
            if (part["job_id"].astype(str) == job).any():
                raise ParameterError(f"job {job} {what}, so it does not wait. {late}")
        if (jobs["job_id"].astype(str) == job).any():
            raise ParameterError(
                f"job {job} was not submitted yet. Ask for a later instant with --now."
            )
        raise ParameterError(f"job {job} is not in the job table.")
    unknown = [name for name in job if name not in state.waiting and not name.startswith("attr_")]
    if unknown:
        raise ParameterError(
            f"the job table has no column {unknown[0]}, so nothing is known of such jobs. "
            "Leave it out."
        )
    row = {"job_id": NEW_JOB, "submit_s": state.now_s, "instances": 1.0, **job}
    added = pd.DataFrame([{name: row.get(name) for name in state.waiting.columns}])
    added = added.astype(
        {n: t for n, t in state.waiting.dtypes.items() if pd.api.types.is_float_dtype(t)}
    )
    both = pd.concat([state.waiting, added], ignore_index=True) if len(state.waiting) else added
    return str(row["job_id"]), replace(state, waiting=both)
