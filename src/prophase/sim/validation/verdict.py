"""What a replay may be used for, class by class, by limits that are stated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from prophase.errors import ParameterError, not_among
from prophase.sim.validation.wait_scores import WaitScores
from prophase.stats import Estimate

#: errors beyond are told as a factor, not in percent
_MANY = 5.0


@dataclass(frozen=True)
class Thresholds:
    """Up to where a simulation counts as valid.

    Attributes
    ----------
    mean_error : float
        Mean wait off by at most this share.
    quantile_error : float
        Median, 90 % and 99 % quantile off by at most this share.
    ks : float
        Largest gap between the distribution functions.
    rank_correlation : float
        Least Spearman correlation over jobs.
    least_jobs : int
        A class with fewer jobs gets no verdict.
    negligible_s : float
        Waits up to this count as none.
    """

    mean_error: float = 0.15
    quantile_error: float = 0.25
    ks: float = 0.10
    rank_correlation: float = 0.80
    least_jobs: int = 100
    negligible_s: float = 5.0

    @classmethod
    def parse(cls, limits: Mapping[str, str]) -> Self:
        """Read limits given by name, such as ``{"ks": "0.2"}``."""
        known = {field.name: field for field in fields(cls)}
        values: dict[str, float] = {}
        for name, text in limits.items():
            if name not in known:
                raise ParameterError(
                    not_among(f"limit {name!r} is unknown.", name, known, heading="Limits")
                )
            try:
                values[name] = float(text)
            except ValueError as cause:
                raise ParameterError(f"limit {name}={text}: is no number.") from cause
            if not values[name] >= 0:
                raise ParameterError(f"limit {name}={text}: a limit is 0 or more.")
        whole = {k: int(v) if k == "least_jobs" else v for k, v in values.items()}
        return cls(**whole)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ValidityFinding:
    """One question, whether the simulation answers it, and by which number."""

    use: str
    holds: bool
    words: str
    #: the interval lies on one side of the limit; None without an interval
    firm: bool | None


@dataclass(frozen=True)
class ClassVerdict:
    """Whether a class of jobs is simulated well enough, and for what."""

    name: str
    jobs: int
    #: None: too few jobs to tell
    valid: bool | None
    findings: tuple[ValidityFinding, ...]
    words: str


def judge(name: str, jobs: int, scores: WaitScores | None, limits: Thresholds) -> ClassVerdict:
    """Return the verdict on one class."""
    if scores is None or jobs < limits.least_jobs:
        few = f"too few jobs: {jobs:,}, fewer than {limits.least_jobs:,}"
        return ClassVerdict(name, jobs, None, (), few)
    found = tuple(_findings(scores, limits))
    good = [one.use for one in found if one.holds]
    bad = [f"{one.use} ({one.words})" for one in found if not one.holds]
    parts = [f"valid for {_listed(good)}"] if good else []
    parts += [f"not valid for {_listed(bad)}"] if bad else []
    shaky = [one.use for one in found if one.firm is False]
    words = "; ".join(parts)
    if shaky:
        words += f". The days of the trace differ too much to be sure of {_listed(shaky)}"
    return ClassVerdict(name, jobs, not bad, found, words)


def _findings(scores: WaitScores, limits: Thresholds) -> Iterator[ValidityFinding]:
    error = scores.mean_error
    yield ValidityFinding(
        "the mean wait",
        abs(error.value) <= limits.mean_error,
        f"{_percent(error.value)}, limit {limits.mean_error:.0%}",
        _firm(error, -limits.mean_error, limits.mean_error),
    )
    worst, off = max(scores.quantile_errors.items(), key=lambda pair: abs(pair[1].value))
    yield ValidityFinding(
        "the quantiles",
        abs(off.value) <= limits.quantile_error,
        f"{worst} {_percent(off.value)}, limit {limits.quantile_error:.0%}",
        _firm(off, -limits.quantile_error, limits.quantile_error),
    )
    yield ValidityFinding(
        "the distribution",
        scores.ks.value <= limits.ks,
        f"KS {scores.ks.value:.2g}, limit {limits.ks:.2g}",
        _firm(scores.ks, -np.inf, limits.ks),
    )
    yield _single_jobs(scores, limits)


def _single_jobs(scores: WaitScores, limits: Thresholds) -> ValidityFinding:
    """Judge the order of jobs: ranks, and whether knowing nothing would be closer."""
    use = "single jobs"
    idle = max(scores.observed_s["p99"], scores.simulated_s["p99"]) <= limits.negligible_s
    if idle:
        return ValidityFinding(use, True, "hardly any job waits on either side", None)
    rank = scores.rank_correlation
    if rank is None:
        return ValidityFinding(use, False, "the waits of one side are all alike", None)
    guess, error = min(
        ("nobody waits", scores.mae_zero_s), ("the median wait", scores.mae_median_s),
        key=lambda pair: pair[1],
    )  # fmt: skip
    if scores.mae_s >= error:
        words = f"off by {scores.mae_s:,.0f} s on average, guessing {guess!r} by {error:,.0f} s"
        return ValidityFinding(use, False, words, None)
    holds = rank.value >= limits.rank_correlation
    words = f"rank correlation {rank.value:.2f}, limit {limits.rank_correlation:.2f}"
    return ValidityFinding(use, holds, words, _firm(rank, limits.rank_correlation, np.inf))


def _firm(estimate: Estimate, low: float, high: float) -> bool | None:
    """Tell whether the whole interval is inside the limits, or the whole of it outside."""
    if not estimate.known:
        return None
    inside = low <= estimate.low and estimate.high <= high
    outside = estimate.high < low or estimate.low > high
    return inside or outside


def _percent(share: float) -> str:
    if not np.isfinite(share):
        return "nobody waited in the trace"
    return f"{share:+.0%}" if share < _MANY else f"{1 + share:,.0f} times as long"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
