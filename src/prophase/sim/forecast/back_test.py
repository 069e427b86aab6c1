"""Are the intervals honest? Forecasts made at past instants, against what then happened."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sim.cluster import Cluster
from prophase.sim.forecast.past_forecasts import held_by_others, wait_of_alike, why_withheld
from prophase.sim.forecast.queue_state import QueueState
from prophase.sim.forecast.start_forecast import IntervalWidening, StartForecast, forecast_waiting
from prophase.sim.signatures import Floats
from prophase.stats import Estimate, calendar_blocks, share

_LEAST = 10
#: a job that starts at once needs no forecast
_SOON_S = 60.0
_LOOK_BACK_S = 60 * 86_400.0


@dataclass(frozen=True)
class Coverage:
    """How often the true start lay inside the interval, and how far off the median was.

    Attributes
    ----------
    forecasts, instants : int
        Forecasts made, and the instants they were made at; jobs of one instant share their luck.
    covered : Estimate
        Share of true starts between p10 and p90, with its interval over days.
    baseline_covered : float
        The same for the guess that learns nothing: the waits of all jobs so far that waited at
        least as long as this one has.
    error_s, baseline_error_s : float
        Mean absolute error of the median.
    width_s, baseline_width_s : float
        Median length of the interval.
    stretch : IntervalWidening
        How much to widen intervals so that 80 % are covered, as these forecasts show.
    abstained : dict
        Forecasts that were not made, counted by reason.
    median_error_s, alike_error_s : float
        Median absolute error of the median, and of the recent waits of jobs alike.
    held : Estimate
        Share of true starts inside intervals that were fitted to the other instants.
    """

    forecasts: int
    instants: int
    covered: Estimate
    baseline_covered: float
    error_s: float
    baseline_error_s: float
    width_s: float
    baseline_width_s: float
    stretch: IntervalWidening
    abstained: dict[str, int]
    median_error_s: float
    alike_error_s: float
    held: Estimate

    @property
    def why_withheld(self) -> str:
        """Say why forecasts like these are not given; empty: they are."""
        return why_withheld(self.forecasts, self.median_error_s, self.alike_error_s, self.held)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON knows them."""
        return {**asdict(self), **self.covered.columns("covered")}


def measure_coverage(
    jobs: pd.DataFrame,
    cluster: Cluster,
    *,
    instants: int = 40,
    per_instant: int = 3,
    since_s: float | None = None,
    until_s: float | None = None,
    draws: int = 60,
    stretch: IntervalWidening | None = None,
    known_until_s: float | None = None,
    random_state: int = 0,
    **policy: Any,
) -> Coverage:
    """Forecast waiting jobs at random past instants and compare with their true starts.

    Each forecast sees only what was known at its instant. Jobs that started within a minute
    are not asked about.

    Parameters
    ----------
    jobs : DataFrame
        Job table with true starts.
    instants, per_instant : int
        How many instants, and at most how many waiting jobs at each.
    since_s, until_s : float, optional
        Part of the trace to draw instants from; the second half of it if not given.
    known_until_s : float, optional
        Take the table as it was then. Jobs that waited on count only if they have outstayed
        their forecast already.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> jobs = pd.DataFrame({"job_id": [f"j{i}" for i in range(400)]})
    >>> jobs["submit_s"] = np.cumsum(rng.exponential(100.0, 400))
    >>> jobs["duration_s"], jobs["request_gpus"] = rng.exponential(95.0, 400), 1.0
    >>> from prophase.sim import Workload, simulate
    >>> jobs["start_s"] = simulate(Workload.from_jobs(jobs), Cluster.uniform(1, 1)).start_s
    >>> found = measure_coverage(jobs, Cluster.uniform(1, 1), instants=10, draws=20)
    >>> found.forecasts >= 10
    True
    """
    rng = np.random.default_rng(random_state)
    if known_until_s is not None:
        jobs = as_known(jobs, known_until_s)
        until_s = known_until_s if until_s is None else until_s
    asked = _questions(jobs, instants, per_instant, since_s, until_s, rng)
    # as dictionaries, for jobs are looked up one by one
    rows_by_id = pd.Series(jobs.to_dict("records"), jobs["job_id"].astype(str))
    made: list[_Made] = []
    abstained: dict[str, int] = {}
    for number, (now_s, group) in enumerate(groupby(asked, key=lambda one: one.now_s)):
        questions, state = list(group), QueueState.at(jobs, now_s)
        found = forecast_waiting(
            state,
            cluster,
            [one.job_id for one in questions],
            draws=draws,
            stretch=stretch,
            random_state=random_state + number,
            **policy,
        )
        for one, told in zip(questions, found, strict=True):
            if not told.known:
                kind = re.sub(r"[\d,]*\d", "N", told.reason.split(":")[0])
                abstained[kind] = abstained.get(kind, 0) + 1
                continue
            if not one.started and told.p90_s is not None and one.ahead_s <= told.p90_s:
                continue  # whether it starts in time is not known yet
            waits = state.waits_s
            longer = waits[waits >= one.waited_s] - one.waited_s
            guess = np.quantile(longer if len(longer) else np.zeros(1), [0.1, 0.5, 0.9])
            alike = wait_of_alike(jobs, now_s, rows_by_id.loc[one.job_id])
            made.append(_Made(now_s, one.ahead_s, told, guess, alike))
    if len(made) < _LEAST:
        missed = ", ".join(f"{count} x {why}" for why, count in abstained.items()) or "no queue"
        raise InputError(
            f"only {len(made)} forecasts could be checked ({missed}); {_LEAST} are needed."
        )
    return _summed_up(made, abstained)


def calibrate(
    jobs: pd.DataFrame, cluster: Cluster, *, now_s: float, instants: int = 15, **settings: Any
) -> Coverage:
    """Check forecasts of the last 60 days, or half of the log if that is less.

    ``Coverage.stretch`` widens the forecasts that are made now. Settings are those of
    ``measure_coverage``.
    """
    history_s = now_s - float(jobs["submit_s"].min())
    since_s = now_s - min(_LOOK_BACK_S, history_s / 2)
    asked = {"per_instant": 2, "draws": 20, **settings}
    return measure_coverage(
        jobs, cluster, instants=instants, since_s=since_s, known_until_s=now_s, **asked
    )


def as_known(jobs: pd.DataFrame, now_s: float) -> pd.DataFrame:
    """Return the jobs submitted by then, without what happened later."""
    here = jobs[jobs["submit_s"] <= now_s]
    start = here["start_s"].where(here["start_s"] <= now_s)
    end = here["end_s"] if "end_s" in here else here["start_s"] + here["duration_s"]
    ended = start.notna() & (end <= now_s)
    return here.assign(start_s=start, end_s=end.where(ended)).drop(
        columns=["duration_s", "wait_s"], errors="ignore"
    )


@dataclass(frozen=True)
class _Made:
    now_s: float
    truth_s: float
    found: StartForecast
    guess: Floats
    alike_s: float

    @property
    def interval(self) -> tuple[float, float, float]:
        found = self.found
        assert found.p10_s is not None
        assert found.p50_s is not None
        assert found.p90_s is not None
        return found.p10_s, found.p50_s, found.p90_s


@dataclass(frozen=True)
class _Question:
    """When does this job start, asked at a past instant."""

    now_s: float
    job_id: str
    #: seconds until it started; until the table ends if it has not started
    ahead_s: float
    waited_s: float
    started: bool


def _questions(
    jobs: pd.DataFrame,
    instants: int,
    per_instant: int,
    since_s: float | None,
    until_s: float | None,
    rng: np.random.Generator,
) -> list[_Question]:
    """Choose instants and waiting jobs; those of one instant follow each other."""
    submit = jobs["submit_s"].to_numpy(np.float64, na_value=np.nan)
    start = jobs["start_s"].to_numpy(np.float64, na_value=np.nan)
    ids = jobs["job_id"].astype(str).to_numpy()
    begin, end = float(np.nanmin(submit)), float(np.nanmax(submit))
    since_s = (begin + end) / 2 if since_s is None else since_s
    until_s = end if until_s is None else until_s
    started = ~np.isnan(start)
    start = np.where(started, start, until_s)
    asked: list[_Question] = []
    # instants at which nobody waits are passed over
    for now_s in rng.uniform(since_s, until_s, 20 * instants):
        waiting = np.flatnonzero((submit <= now_s) & (start > now_s + _SOON_S))
        if not len(waiting):
            continue
        for row in rng.permutation(waiting)[:per_instant]:
            ahead_s, waited_s = float(start[row] - now_s), float(now_s - submit[row])
            asked.append(_Question(float(now_s), ids[row], ahead_s, waited_s, bool(started[row])))
        instants -= 1
        if not instants:
            break
    return asked


def _summed_up(made: list[_Made], abstained: dict[str, int]) -> Coverage:
    truth = np.array([one.truth_s for one in made])
    low, middle, high = np.array([one.interval for one in made]).T
    guess_low, guess_middle, guess_high = np.array([one.guess for one in made]).T
    # logs and schedulers count whole seconds
    inside = (low - 1.0 <= truth) & (truth <= high + 1.0)
    when_s = np.array([one.now_s for one in made])
    instants = len(np.unique(when_s))
    raw_low, raw_high = np.array([np.quantile(one.found.starts_s, [0.1, 0.9]) for one in made]).T
    return Coverage(
        forecasts=len(made),
        instants=instants,
        covered=share(inside, calendar_blocks(when_s)),
        baseline_covered=float(((guess_low - 1.0 <= truth) & (truth <= guess_high + 1.0)).mean()),
        error_s=float(np.abs(middle - truth).mean()),
        baseline_error_s=float(np.abs(guess_middle - truth).mean()),
        width_s=float(np.median(high - low)),
        baseline_width_s=float(np.median(guess_high - guess_low)),
        stretch=IntervalWidening.learn(raw_low, raw_high, truth, independent=instants),
        abstained=abstained,
        median_error_s=float(np.median(np.abs(middle - truth))),
        alike_error_s=float(np.median([abs(one.alike_s - one.truth_s) for one in made])),
        held=held_by_others(raw_low, raw_high, truth, when_s),
    )
