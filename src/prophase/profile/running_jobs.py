"""Running jobs held against the profile that was predicted for them at submission.

A profile says what its jobs use. A running job that uses something else is of another kind than
its metadata says, or does not do what it usually does: it hangs, or runs out of memory soon.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import InputError, MissingColumnError
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.clusters.profiles import Profile
from prophase.stats import Estimate, calendar_blocks, share
from prophase.trace.describe.trace_clock import latest_moment_s
from prophase.trace.schema import JOBS

#: metric of a job -> column of the usage series it is made of, and how
_SERIES = {
    "cpu_mean_cores": ("cpu_cores", "mean"),
    "memory_mean_gib": ("memory_gib", "mean"),
    "memory_peak_gib": ("memory_gib", "peak"),
    "gpu_util_mean_pct": ("gpu_util_pct", "mean"),
    "gpu_memory_mean_gib": ("gpu_memory_gib", "mean"),
    "gpu_memory_peak_gib": ("gpu_memory_gib", "peak"),
}
_PEAKS = tuple(metric for metric in _SERIES if metric.endswith("_peak_gib"))
#: a metric this factor beyond all but one in a hundred jobs of the profile is unlike it
_BEYOND = 1.25
#: means are judged after this share of the profile's median run time
_EARLY = 0.1
#: completed jobs that show how often an alarm is false
_MOST_HELD, _FEWEST_HELD = 6_000, 30
_REMEDIES = {
    "duration_s": "see whether it makes progress, before its time limit ends it",
    "memory high": "it may run out of memory: write a checkpoint, and ask for more the next time",
    "gpu low": "its GPU waits: look at input and communication, or whether it hangs",
    "cpu low": "it computes less than usual: see whether it hangs or waits for input",
}
_OTHERWISE = "see whether code or input changed; the prediction of its profile does not hold for it"


@dataclass(frozen=True)
class RunningJob:
    """One running job beside its profile; ``metric`` is what deviates most, if anything does."""

    job_id: str
    #: as its profile, unlike its profile, too early, or profile unknown
    verdict: str
    profile: str
    elapsed_s: float
    #: elapsed time over the median run time of its profile; NaN if that is not known
    run_share: float
    metric: str = ""
    value: float = math.nan
    #: what 98 of 100 jobs of the profile keep within
    least: float = math.nan
    most: float = math.nan
    #: when it first deviated, since its start; NaN without a usage series
    since_s: float = math.nan
    advice: str = ""

    @property
    def deviates(self) -> bool:
        return self.verdict == "unlike its profile"

    def sentence(self) -> str:
        """Return what a person wants to know, in one line."""
        if not self.deviates:
            return f"{self.job_id}: {self.verdict} ({self.profile or 'none'})."
        column = JOBS.get(self.metric)
        unit = column.unit if column is not None else ""
        value, least, most = (units.amount(n, unit) for n in (self.value, self.least, self.most))
        elapsed = units.duration(self.elapsed_s)
        part, times = f"{self.run_share:.0%} of", f"{self.run_share:.1f} times"
        usual = f", {part if self.run_share < 2 else times} a usual run"
        ran = elapsed if math.isnan(self.run_share) else elapsed + usual
        if self.metric == "duration_s":
            return (
                f"{self.job_id} has run {ran}; 99 of 100 jobs of its profile ({self.profile}) end "
                f"within {most}: {self.advice}."
            )
        since = "" if math.isnan(self.since_s) else f" since {units.duration(self.since_s)}"
        return (
            f"{self.job_id} has run {ran}: its {self.metric} is {value}{since}, where 98 of 100 "
            f"jobs of its profile ({self.profile}) have {least} to {most}: {self.advice}."
        )


def watch_running(
    jobs: pd.DataFrame,
    profiles: list[Profile],
    classifier: ProfileClassifier,
    *,
    usage: pd.DataFrame | None = None,
    now_s: float | None = None,
) -> list[RunningJob]:
    """Hold every running job of a table against the profile that its metadata predicts.

    A profile that is likelier than all others together is enough: how often a wrong one gives a
    false alarm is measured by ``false_alarms``.

    Parameters
    ----------
    jobs : DataFrame
        A job table; rows with a start and no end are running.
    profiles : list of Profile
        ``WorkloadProfiler.profiles_``.
    usage : DataFrame, optional
        Samples so far, ``series_id`` being the job; without it, the metrics of the job table.
    now_s : float, optional
        The time; the latest time in the tables if not given.
    """
    running = _running(jobs)
    if running.empty:
        return []
    now = _latest(jobs, usage) if now_s is None else now_s
    told = classifier.assign(running, partial=True, likely=True)["profile"].astype(str)
    known = {str(one.profile): one for one in profiles}
    samples = _by_job(usage)
    found = []
    for (_, job), label in zip(running.iterrows(), told, strict=True):
        profile = known.get(label)
        name, elapsed = str(job["job_id"]), now - float(job["start_s"])
        if elapsed < 0:
            raise InputError(
                f"job {name} started {units.duration(-elapsed)} after the time given. Set --at to "
                "when the table was taken."
            )
        if profile is None:
            found.append(RunningJob(name, "profile unknown", "", elapsed, math.nan))
            continue
        found.append(_judged(job, profile, elapsed, samples.get(name)))
    return sorted(found, key=lambda one: (not one.deviates, -one.elapsed_s))


def as_predicted(
    profiles: list[Profile], done: pd.DataFrame, classifier: ProfileClassifier
) -> list[Profile]:
    """Return the profiles, each as wide as the completed jobs are whose metadata predicts it.

    Metadata predicts some profiles wrongly. What 98 of 100 jobs *of* a profile keep within is then
    narrower than what 98 of 100 jobs do that are *taken for* it, and a running job is one of those.
    """
    told = classifier.assign(done, partial=True, likely=True)["profile"].astype(str).to_numpy()
    found = []
    for one in profiles:
        own = done[told == str(one.profile)]
        dynamic = dict(one.dynamic)
        for name, held in one.dynamic.items():
            values = own[name].dropna().to_numpy(dtype=np.float64) if name in own else np.empty(0)
            if len(values):
                low, high = np.quantile(values, (0.01, 0.99)).tolist()
                wider = {"q01": min(low, held.quantiles["q01"]),
                         "q99": max(high, held.quantiles["q99"])}  # fmt: skip
                dynamic[name] = replace(held, quantiles={**held.quantiles, **wider})
        found.append(replace(one, dynamic=dynamic))
    return found


def completed(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the latest jobs that did what they should, in order of their start."""
    done = jobs[(jobs["duration_s"] > 0) & jobs["start_s"].notna()]
    if "status" in done and done["status"].eq("completed").any():
        done = done[done["status"].eq("completed")]
    return done.sort_values("start_s", kind="stable").tail(_MOST_HELD)


def false_alarms(
    done: pd.DataFrame, profiles: list[Profile], classifier: ProfileClassifier
) -> Estimate:
    """Return the share of completed jobs that would have been named by the time they ended.

    They did what they should, so each of them would have been a false alarm. The earlier ones
    say how wide the profiles are, as predicted, and the last third is judged; jobs whose profile is
    unknown are left out.
    """
    if len(done) < _FEWEST_HELD:
        return Estimate(math.nan, reason=f"fewer than {_FEWEST_HELD} completed jobs")
    first, last = done[: 2 * len(done) // 3], done[2 * len(done) // 3 :]
    known = {str(one.profile): one for one in as_predicted(profiles, first, classifier)}
    told = classifier.assign(last, partial=True, likely=True)["profile"].astype(str)
    rows = [(job, known[label]) for (_, job), label in zip(last.iterrows(), told, strict=True)
            if label in known]  # fmt: skip
    if not rows:
        return Estimate(math.nan, reason="no completed job whose profile its metadata tells")
    named = [_judged(job, one, float(job["duration_s"]), None).deviates for job, one in rows]
    return share(named, calendar_blocks([float(job["start_s"]) for job, _ in rows]))


def _running(jobs: pd.DataFrame) -> pd.DataFrame:
    if "start_s" not in jobs:
        raise MissingColumnError(
            "the job table has no start_s, so nothing is known to run. Import when jobs started."
        )
    ended = pd.Series(False, index=jobs.index)
    for name in ("end_s", "duration_s"):
        if name in jobs:
            ended |= jobs[name].notna()
    if "status" in jobs:
        ended |= ~jobs["status"].fillna("running").isin(("running", "unknown"))
    return jobs[jobs["start_s"].notna() & ~ended]


def _latest(jobs: pd.DataFrame, usage: pd.DataFrame | None) -> float:
    last = latest_moment_s(jobs)
    return last if usage is None or usage.empty else max(last, float(usage["time_s"].max()))


def _by_job(usage: pd.DataFrame | None) -> Mapping[str, pd.DataFrame]:
    if usage is None:
        return {}
    return {
        str(name): part.sort_values("time_s")
        for name, part in usage.groupby("series_id", sort=False)
    }


@dataclass(frozen=True)
class _Metric:
    """A metric so far, and what the profile's jobs keep within; ``since_s`` if it left that."""

    name: str
    value: float
    least: float
    most: float
    since_s: float

    @property
    def factor(self) -> float:
        """How far outside it lies; 1 inside."""
        if self.value > self.most:
            return self.value / max(self.most, 1e-9)
        return max(self.least, 1e-9) / max(self.value, 1e-9) if self.value < self.least else 1.0

    @property
    def advice(self) -> str:
        side = "high" if self.value > self.most else "low"
        word = f"{self.name.split('_', maxsplit=1)[0]} {side}"
        return _REMEDIES.get(self.name) or _REMEDIES.get(word, _OTHERWISE)


def _judged(
    job: pd.Series, profile: Profile, elapsed: float, samples: pd.DataFrame | None
) -> RunningJob:
    length = profile.dynamic.get("duration_s")
    usual = length.quantiles["q50"] if length else math.nan
    run_share = elapsed / usual if usual > 0 else math.nan
    early = run_share < _EARLY
    seen = list(_metrics(job, profile, elapsed, samples, early))
    worst = max((one for one in seen if one.factor > _BEYOND), key=lambda m: m.factor, default=None)
    if worst is None:
        verdict = "too early" if early or not seen else "as its profile"
        return RunningJob(str(job["job_id"]), verdict, profile.name, elapsed, run_share)
    return RunningJob(
        str(job["job_id"]),
        "unlike its profile",
        profile.name,
        elapsed,
        run_share,
        worst.name,
        worst.value,
        worst.least,
        worst.most,
        worst.since_s,
        worst.advice,
    )


def _metrics(
    job: pd.Series, profile: Profile, elapsed: float, samples: pd.DataFrame | None, early: bool
) -> Iterator[_Metric]:
    """Yield every metric of the job that can be judged by now."""
    length = profile.dynamic.get("duration_s")
    if length is not None:
        high = length.quantiles["q99"]
        since = high if elapsed > high else math.nan
        yield _Metric("duration_s", elapsed, 0.0, high, since)
    for name in _SERIES:
        held = profile.dynamic.get(name)
        if held is None or (early and name not in _PEAKS):
            continue
        # a peak so far is a lower bound of the peak: only too high can be seen
        low = 0.0 if name in _PEAKS else held.quantiles["q01"]
        high = held.quantiles["q99"]
        course = _course(name, samples, float(job["start_s"]))
        if course is not None:
            value, since = course.iloc[-1], _left(course, low, high)
        elif name in job and pd.notna(job[name]):
            value, since = float(job[name]), math.nan
        else:
            continue
        yield _Metric(name, float(value), low, high, since)


def _course(name: str, samples: pd.DataFrame | None, start_s: float) -> pd.Series | None:
    """Return a metric as it stood after every sample, by seconds since the start."""
    column, how = _SERIES[name]
    if samples is None or column not in samples or samples[column].notna().sum() == 0:
        return None
    known = samples[samples[column].notna()]
    so_far = known[column].expanding()
    course = so_far.max() if how == "peak" else so_far.mean()
    return pd.Series(course.to_numpy(), index=known["time_s"].to_numpy() - start_s)


def _left(course: pd.Series, low: float, high: float) -> float:
    """Return when a metric left its range for good; NaN if it is inside."""
    outside = ((course > high * _BEYOND) | (course < low / _BEYOND)).to_numpy()
    if not outside[-1]:
        return math.nan
    inside = np.flatnonzero(~outside)
    return float(course.index[inside[-1] + 1 if len(inside) else 0])
