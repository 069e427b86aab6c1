"""How far simulated waits are from observed ones, with intervals from whole days."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import rankdata

from prophase.sim.signatures import Floats

QUANTILES = (0.5, 0.9, 0.99)
_DAY_S, _LEVEL = 86_400.0, 0.95
#: two or three days say next to nothing about how days differ
_LEAST_DAYS = 4


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval over days; no interval where there are under four days."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class WaitScores:
    """Observed and simulated waits of one class of jobs, in seconds.

    Attributes
    ----------
    mean_error, p50_error ... : Estimate
        Simulated over observed, minus 1: 0.1 says the simulation waits 10 % too long. Infinite
        where nobody waited but the simulation makes jobs wait.
    bias_s : Estimate
        Mean of simulated - observed.
    ks : Estimate
        Kolmogorov-Smirnov distance: the largest gap between the two distribution functions.
    rank_correlation : Estimate or None
        Spearman's, over jobs; None where the waits of one side are all alike.
    mae_s : float
        Mean absolute error over jobs; ``mae_zero_s`` and ``mae_median_s`` are those of two
        guesses that learn nothing: nobody waits, and everybody waits the observed median.
    """

    jobs: int
    days: int
    observed_mean_s: float
    simulated_mean_s: float
    observed_s: dict[str, float]
    simulated_s: dict[str, float]
    mean_error: Estimate
    quantile_errors: dict[str, Estimate]
    bias_s: Estimate
    ks: Estimate
    rank_correlation: Estimate | None
    mae_s: float
    mae_zero_s: float
    mae_median_s: float
    ks_zero: float
    ks_median: float


def score_waits(
    submit_s: Floats,
    observed_s: Floats,
    simulated_s: Floats,
    *,
    negligible_s: float = 5.0,
    draws: int = 300,
    random_state: int = 0,
) -> WaitScores:
    """Compare waits job by job and as distributions.

    Parameters
    ----------
    negligible_s : float, default=5
        Waits up to this count as none in distance and ranks, and quantiles this close as equal:
        a scheduler's own reaction time is not modelled.
    draws : int, default=300
        Bootstrap samples of whole days.

    Examples
    --------
    >>> waits = np.arange(200.0)
    >>> scores = score_waits(np.arange(200) * 3600.0, waits, 1.1 * waits)
    >>> round(scores.mean_error.value, 3), scores.rank_correlation.value > 0.99
    (0.1, True)
    """
    pair = _Pair(observed_s, simulated_s, negligible_s)
    names = [f"p{round(100 * share)}" for share in QUANTILES]
    whole = pair.statistics(np.ones(len(observed_s)))
    low, high, days = _over_days(submit_s, pair.statistics, whole, draws, random_state)

    def estimate(place: int, least: float = -np.inf, most: float = np.inf) -> Estimate:
        if low is None or high is None:
            return Estimate(float(whole[place]))
        ends = np.clip([low[place], high[place]], least, most)
        return Estimate(float(whole[place]), float(ends[0]), float(ends[1]))

    median = np.full(len(observed_s), float(np.median(observed_s)))
    observed = np.quantile(observed_s, QUANTILES)
    simulated = np.quantile(simulated_s, QUANTILES)
    return WaitScores(
        jobs=len(observed_s),
        days=days,
        observed_mean_s=float(observed_s.mean()),
        simulated_mean_s=float(simulated_s.mean()),
        observed_s=dict(zip(names, observed.tolist(), strict=True)),
        simulated_s=dict(zip(names, simulated.tolist(), strict=True)),
        mean_error=estimate(1, -1.0),
        quantile_errors={name: estimate(4 + place, -1.0) for place, name in enumerate(names)},
        bias_s=estimate(0),
        ks=estimate(2, 0.0, 1.0),
        rank_correlation=None if np.isnan(whole[3]) else estimate(3, -1.0, 1.0),
        mae_s=float(np.abs(simulated_s - observed_s).mean()),
        mae_zero_s=float(np.abs(observed_s).mean()),
        mae_median_s=float(np.abs(median - observed_s).mean()),
        ks_zero=_Pair(observed_s, np.zeros(len(median)), negligible_s).distance(),
        ks_median=_Pair(observed_s, median, negligible_s).distance(),
    )


class _Pair:
    """Two waits per job, sorted once, so that any weighting of the jobs is quick to score."""

    def __init__(self, observed: Floats, simulated: Floats, negligible_s: float) -> None:
        self.waits = (observed, simulated)
        self.negligible_s = negligible_s
        self.orders = (np.argsort(observed), np.argsort(simulated))
        kept = [np.where(waits <= negligible_s, 0.0, waits) for waits in self.waits]
        both = np.concatenate(kept)
        self.order = np.argsort(both, kind="stable")
        ordered = both[self.order]
        # a distribution function is known only past the last of equal values
        self.last = np.append(ordered[1:] != ordered[:-1], True)
        self.ranks = [rankdata(waits) for waits in kept]

    def statistics(self, weight: Floats) -> Floats:
        """Return bias, mean error, distance, rank correlation and the quantile errors."""
        observed, simulated = (float(np.average(w, weights=weight)) for w in self.waits)
        errors = [
            self.error(self.quantile(0, share, weight), self.quantile(1, share, weight))
            for share in QUANTILES
        ]
        return np.array(
            [
                simulated - observed,
                self.error(observed, simulated),
                self.distance(weight),
                self.correlation(weight),
                *errors,
            ]
        )

    def error(self, observed: float, simulated: float) -> float:
        if abs(simulated - observed) <= self.negligible_s:
            return 0.0
        return simulated / observed - 1.0 if observed > 0 else np.inf

    def quantile(self, side: int, share: float, weight: Floats) -> float:
        order = self.orders[side]
        reached = np.cumsum(weight[order])
        # between two values where both are equally near, as numpy's median is
        place = share * (reached[-1] - 1.0)
        below = order[np.searchsorted(reached, np.floor(place), side="right")]
        above = order[
            min(np.searchsorted(reached, np.floor(place) + 1.0, side="right"), len(order) - 1)
        ]
        values = self.waits[side]
        return float(values[below] + (place % 1.0) * (values[above] - values[below]))

    def distance(self, weight: Floats | None = None) -> float:
        jobs = len(self.waits[0])
        if weight is None:
            weight = np.ones(jobs)
        signed = np.concatenate([weight, -weight])[self.order]
        gaps = np.abs(np.cumsum(signed))[self.last] / weight.sum()
        return float(gaps.max())

    def correlation(self, weight: Floats) -> float:
        """Return Spearman's correlation; a bootstrap sample keeps the ranks of all jobs."""
        one, two = (ranks - np.average(ranks, weights=weight) for ranks in self.ranks)
        scale = np.sqrt((weight * one**2).sum() * (weight * two**2).sum())
        return float((weight * one * two).sum() / scale) if scale > 0 else np.nan


def _over_days(
    submit_s: Floats,
    statistics: Callable[[Floats], Floats],
    whole: Floats,
    draws: int,
    random_state: int,
) -> tuple[Floats | None, Floats | None, int]:
    """Draw whole days with replacement and return the interval of each statistic."""
    names, day = np.unique(np.floor(submit_s / _DAY_S), return_inverse=True)
    if len(names) < _LEAST_DAYS or draws < 2:
        return None, None, len(names)
    rng = np.random.default_rng(random_state)
    drawn = np.array([statistics(_weights(rng, day, len(names))) for _ in range(draws)])
    drawn = np.where(np.isfinite(drawn), drawn, whole)
    # distances grow when jobs repeat, which is no property of the days: take that off
    with np.errstate(invalid="ignore"):
        drawn = drawn - np.median(drawn, axis=0) + whole
    low, high = np.quantile(drawn, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
    # few days spread too little under the bootstrap: widen as t does over the normal law
    widen = float(stdtrit(len(names) - 1, (1 + _LEVEL) / 2) / stdtrit(1e9, (1 + _LEVEL) / 2))
    widen *= float(np.sqrt(len(names) / (len(names) - 1)))
    with np.errstate(invalid="ignore"):
        return whole - (whole - low) * widen, whole + (high - whole) * widen, len(names)


def _weights(rng: np.random.Generator, day: NDArray[np.intp], days: int) -> Floats:
    times = np.bincount(rng.integers(days, size=days), minlength=days)
    return times[day].astype(np.float64)
