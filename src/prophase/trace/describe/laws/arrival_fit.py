"""Fit laws to the arrivals: Poisson, renewal, and Poisson whose rate changes.

Every law is judged in the same way: time is stretched by the rate the law expects
(the time-rescaling theorem), after which a right law leaves steady arrivals of rate one.
What is left of gaps and bursts is what the law cannot explain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import chdtrc

from prophase import units
from prophase.trace.describe.column_arrays import Floats, NotComputable
from prophase.trace.describe.laws.arrival_laws import by_hour_of_day, by_hour_of_week, fit_modulated
from prophase.trace.describe.laws.goodness_of_fit import (
    GOOD_DISPERSION,
    LEAST_VALUES,
    MANNER,
    ROUGH_DISPERSION,
    Verdict,
    asymptotic_p,
    bootstrap_p,
    judge,
    ks_distance,
    tested_values,
)
from prophase.trace.describe.laws.probability_laws import (
    Exponential,
    FitError,
    Gamma,
    Law,
    Lognormal,
    Weibull,
)
from prophase.trace.describe.trace_clock import DAY_S, WEEK_S

_STRETCHES = 10
#: arrivals per window of rescaled time in which counts are compared
_PER_WINDOW = 20
_LEAST_WINDOWS = 10


@dataclass(frozen=True)
class ArrivalFit:
    """One arrival law at its best, and what it leaves unexplained."""

    law: str
    kind: str
    parameters: Mapping[str, float]
    aic: float
    aic_above_best: float
    #: greatest gap between rescaled gaps and what they should be, 0..1
    ks: float
    p_value: float
    p_method: str
    #: variance over mean of counts in rescaled time; 1 if every burst is explained
    dispersion: float
    dispersion_p: float
    verdict: Verdict
    words: str


@dataclass(frozen=True)
class ArrivalLaws:
    """All arrival laws, best (least AIC) first."""

    arrivals: int
    gaps_fitted: int
    stretches: int
    #: arrivals are spread over this many seconds, because the clock cannot tell them apart
    resolution_s: float
    seed: int
    fits: tuple[ArrivalFit, ...]
    not_fitted: Mapping[str, str]
    gap_shares: tuple[float, ...]
    gap_quantiles: tuple[float, ...]

    @property
    def best(self) -> ArrivalFit:
        return self.fits[0]


@dataclass(frozen=True)
class _Stretches:
    """Consecutive arrivals in one or more pieces of equal length."""

    times: Floats
    clock: str

    @property
    def gaps(self) -> Floats:
        return np.diff(self.times, axis=1)


def fit_arrivals(
    times: Floats,
    *,
    clock: str = "relative",
    sample: int = 20_000,
    random_state: int = 0,
) -> ArrivalLaws | NotComputable:
    """Fit arrival laws to submission times and judge each of them.

    Parameters
    ----------
    times : array of float
        Submission times in seconds, in any order; NaN where missing.
    sample : int, default=20_000
        Fit at most this many gaps, in ten stretches spread over the trace: modulated laws
        need arrivals that follow each other, so gaps cannot be drawn one by one.

    Examples
    --------
    >>> gaps = np.random.default_rng(1).exponential(60.0, 5000)
    >>> found = fit_arrivals(np.cumsum(gaps))
    >>> next(fit.verdict for fit in found.fits if fit.law == "Poisson")
    'good'
    """
    known = np.sort(times[~np.isnan(times)])
    if known.size <= LEAST_VALUES:
        return NotComputable(f"{known.size} arrivals are known; a law needs {LEAST_VALUES + 1}")
    if known[0] == known[-1]:
        return NotComputable("all jobs arrive at the same time")
    random = np.random.default_rng(random_state)
    resolution = clock_resolution(known)
    if resolution:
        known = np.sort(known + random.uniform(0.0, resolution, known.size))
    stretches = _Stretches(_pieces(known, sample), clock)
    fits, failed = _fit_each(stretches, random)
    if not fits:
        return NotComputable(f"no law could be fitted: {next(iter(failed.values()))}")
    best = min(fit.aic for fit in fits)
    shares = np.linspace(0.0, 1.0, 101)
    return ArrivalLaws(
        arrivals=int(known.size),
        gaps_fitted=int(stretches.gaps.size),
        stretches=len(stretches.times),
        resolution_s=resolution,
        seed=random_state,
        fits=tuple(
            sorted((replace(f, aic_above_best=f.aic - best) for f in fits), key=lambda f: f.aic)
        ),
        not_fitted=failed,
        gap_shares=tuple(shares.tolist()),
        gap_quantiles=tuple(np.quantile(stretches.gaps, shares).tolist()),
    )


def clock_resolution(times: Floats) -> float:
    """Return the tick of a clock that several arrivals share, 0 if no two are at once.

    Examples
    --------
    >>> clock_resolution(np.array([0.0, 0.0, 60.0, 180.0]))
    60.0
    """
    gaps = np.diff(np.sort(times))
    if not gaps.size or gaps.min() > 0:
        return 0.0
    for tick in (60.0, 1.0):
        if np.all(np.mod(times, tick) == 0):
            return tick
    return float(min(gaps[gaps > 0].min(initial=1.0), 1.0))


def _pieces(times: Floats, sample: int) -> Floats:
    if times.size <= sample + 1:
        return times[None, :]
    length = sample // _STRETCHES + 1
    firsts = np.linspace(0, times.size - length, _STRETCHES).astype(int)
    return np.stack([times[first : first + length] for first in firsts])


def _fit_each(
    stretches: _Stretches, random: np.random.Generator
) -> tuple[list[ArrivalFit], dict[str, str]]:
    fits: list[ArrivalFit] = []
    failed: dict[str, str] = {}
    renewals: tuple[type[Law], ...] = (Exponential, Gamma, Weibull, Lognormal)
    attempts: dict[str, Callable[[_Stretches, np.random.Generator], ArrivalFit]] = {
        **{_renewal_name(family): partial(_renewal, family) for family in renewals},
        "Poisson by hour": _hourly,
        "two-state MMPP": _modulated,
    }
    with np.errstate(all="ignore"):
        for name, attempt in attempts.items():
            try:
                fit = attempt(stretches, random)
            except FitError as cause:
                failed[name] = str(cause)
                continue
            if np.isfinite(fit.aic):
                fits.append(fit)
            else:
                failed[name] = "the gaps are out of the range that can be computed"
    return fits, failed


def _renewal_name(family: type[Law]) -> str:
    return "Poisson" if family is Exponential else f"renewal, {family.name} gaps"


def _renewal(family: type[Law], stretches: _Stretches, random: np.random.Generator) -> ArrivalFit:
    gaps = stretches.gaps
    flat = gaps.ravel()
    flat = np.maximum(flat, max(flat[flat > 0].min(initial=1.0), 1e-9) * 1e-3)
    law = family.fit(flat)
    below = law.share_below(flat).reshape(gaps.shape)
    parameters = law.parameters
    if family is Exponential:
        parameters = {"rate_per_h": 3600.0 / law.mean}
    p_value = bootstrap_p(law, tested_values(flat, random), random)
    return _judged(
        _renewal_name(family),
        "Poisson" if family is Exponential else "renewal",
        parameters,
        law.aic(flat),
        below,
        (p_value, "parametric bootstrap"),
    )


def _hourly(stretches: _Stretches, random: np.random.Generator) -> ArrivalFit:
    span = float(stretches.times.max() - stretches.times.min())
    if span < 2 * DAY_S:
        raise FitError("the trace is shorter than two days")
    weekly = span >= 2 * WEEK_S and stretches.gaps.size >= 10 * 168
    pattern = (by_hour_of_week if weekly else by_hour_of_day)(stretches.times, stretches.clock)
    below = -np.expm1(-pattern.expected(stretches.times))
    return _judged(
        f"Poisson by hour of the {'week' if weekly else 'day'}",
        "modulated",
        pattern.parameters,
        2 * pattern.size - 2 * pattern.log_likelihood(stretches.times),
        below,
        (asymptotic_p(below.ravel(), random), "large sample, lenient"),
    )


def _modulated(stretches: _Stretches, random: np.random.Generator) -> ArrivalFit:
    gaps = stretches.gaps
    law = fit_modulated(gaps)
    below = law.shares_below(gaps)
    parameters = {
        "calm_per_h": law.calm_rate * 3600,
        "busy_per_h": law.busy_rate * 3600,
        "calm_lasts_s": 1 / law.leave_calm,
        "busy_lasts_s": 1 / law.leave_busy,
    }
    return _judged(
        "two-state MMPP",
        "modulated",
        parameters,
        8 - 2 * law.log_likelihood(gaps),
        below,
        (asymptotic_p(below.ravel(), random), "large sample, lenient"),
    )


def _judged(
    name: str,
    kind: str,
    parameters: Mapping[str, float],
    aic: float,
    below: Floats,
    p: tuple[float, str],
) -> ArrivalFit:
    distance = ks_distance(below.ravel())
    dispersion, dispersion_p = residual_dispersion(below)
    bursty = dispersion > GOOD_DISPERSION and dispersion_p < 0.05
    verdict = judge(distance, p[0], off=bursty)
    if bursty and dispersion > ROUGH_DISPERSION:
        verdict = "bad"
    return ArrivalFit(
        law=name,
        kind=kind,
        parameters=parameters,
        aic=float(aic),
        aic_above_best=0.0,
        ks=distance,
        p_value=p[0],
        p_method=p[1],
        dispersion=dispersion,
        dispersion_p=dispersion_p,
        verdict=verdict,
        words=_words(name, verdict, distance, dispersion, bursty=bursty),
    )


def residual_dispersion(below: Floats) -> tuple[float, float]:
    """Return variance over mean of counts in rescaled time, and the chance of as much or more.

    ``below`` holds, per stretch, the chance of a shorter gap under the law.
    """
    waits = -np.log1p(-np.minimum(below, 1 - 1e-12))
    counts = []
    for row in waits:
        ends = np.cumsum(row)
        windows = int(ends[-1] // _PER_WINDOW)
        if windows:
            place = (ends[ends < windows * _PER_WINDOW] // _PER_WINDOW).astype(int)
            counts.append(np.bincount(place, minlength=windows))
    found = np.concatenate(counts) if counts else np.zeros(0)
    if found.size < _LEAST_WINDOWS or found.mean() == 0:
        return float("nan"), float("nan")
    dispersion = float(found.var(ddof=1) / found.mean())
    return dispersion, float(chdtrc(found.size - 1, dispersion * (found.size - 1)))


def _words(name: str, verdict: Verdict, distance: float, dispersion: float, *, bursty: bool) -> str:
    said = (
        f"{name[0].upper()}{name[1:]} fits {MANNER[verdict]}: gaps between arrivals are off by "
        f"up to {100 * distance:.1f} percentage points"
    )
    if np.isnan(dispersion):
        return said + "."
    if not bursty:
        return said + " and no burst is left unexplained."
    return said + (
        f", and counts vary {units.number(dispersion)} times as much as the law allows: "
        "it does not explain the bursts."
    )
