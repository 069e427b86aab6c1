"""How far simulated waits are from observed ones, with intervals from whole days."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophase.sim.signatures import Floats
from prophase.stats import Estimate, calendar_blocks, statistics
from prophase.stats.blocks import DAY_S
from prophase.stats.ranks import ranks

QUANTILES = (0.5, 0.9, 0.99)


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
    draws: int = 200,
    random_state: int = 0,
) -> WaitScores:
    """Compare waits job by job and as distributions.

    Parameters
    ----------
    negligible_s : float, default=5
        Waits up to this count as none in distance and ranks, and quantiles this close as equal:
        a scheduler's own reaction time is not modelled.
    draws : int, default=200
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
    days = calendar_blocks(submit_s)

    def of_rows(rows: NDArray[np.intp]) -> Floats:
        return pair.statistics(np.bincount(rows, minlength=len(observed_s)).astype(np.float64))

    found = statistics(of_rows, days, draws=draws, random_state=random_state)
    bias, mean_error, ks, rank, *quantile_errors = found

    median = np.full(len(observed_s), float(np.median(observed_s)))
    observed = np.quantile(observed_s, QUANTILES)
    simulated = np.quantile(simulated_s, QUANTILES)
    return WaitScores(
        jobs=len(observed_s),
        days=len(np.unique(submit_s // DAY_S)),
        observed_mean_s=float(observed_s.mean()),
        simulated_mean_s=float(simulated_s.mean()),
        observed_s=dict(zip(names, observed.tolist(), strict=True)),
        simulated_s=dict(zip(names, simulated.tolist(), strict=True)),
        mean_error=mean_error.within(-1.0),
        quantile_errors={
            name: one.within(-1.0) for name, one in zip(names, quantile_errors, strict=True)
        },
        bias_s=bias,
        ks=ks.within(0.0, 1.0),
        rank_correlation=None if np.isnan(rank.value) else rank.within(-1.0, 1.0),
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
        self.ranks = [ranks(waits) for waits in kept]

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
