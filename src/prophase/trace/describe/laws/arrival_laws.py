"""Poisson arrivals whose rate depends on the hour, or takes turns between calm and busy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from prophase.trace.describe.column_arrays import Floats
from prophase.trace.describe.laws.probability_laws import FitError
from prophase.trace.describe.trace_clock import HOUR_S, hour_of_week, week_exposure_h

_WEEK_HOURS = 168


@dataclass(frozen=True)
class HourlyPoisson:
    """One rate per hour of the week (168 values, repeated daily if only the hour of day counts)."""

    rates_per_h: Floats
    size: int
    clock: str

    @property
    def parameters(self) -> Mapping[str, float]:
        return {
            "least_per_h": float(self.rates_per_h.min()),
            "mean_per_h": float(self.rates_per_h.mean()),
            "greatest_per_h": float(self.rates_per_h.max()),
        }

    def log_likelihood(self, times: Floats) -> float:
        """Return the log-likelihood (per second) of stretches of times, one per row."""
        arrived = times[:, 1:]
        rates = self.rates_per_h[hour_of_week(arrived, self.clock)] / HOUR_S
        return float(np.log(rates).sum() - self.expected(times).sum())

    def expected(self, times: Floats) -> Floats:
        """Return how many arrivals the law expects inside each gap."""
        return np.maximum(np.diff(self._cumulated(times), axis=1), 0.0)

    def _cumulated(self, times: Floats) -> Floats:
        """Integrate the rate up to each time, from the start of the first time's week."""
        # hour_of_week knows where the week starts; only the rest of the hour is left
        hour = hour_of_week(times, self.clock)
        inside = np.mod(times, HOUR_S) / HOUR_S
        before = np.concatenate([[0.0], np.cumsum(self.rates_per_h)])
        begun = np.floor(times / HOUR_S) - hour
        # whole weeks since the first time, whatever day the week starts on
        weeks = np.round((begun - begun.flat[0]) / _WEEK_HOURS)
        return np.asarray(weeks * before[-1] + before[hour] + inside * self.rates_per_h[hour])


def by_hour_of_week(times: Floats, clock: str) -> HourlyPoisson:
    """Fit 168 rates to stretches of times, one per row."""
    counts, hours = _tally(times, clock)
    return HourlyPoisson(_rates(counts, hours), int((hours > 0).sum()), clock)


def by_hour_of_day(times: Floats, clock: str) -> HourlyPoisson:
    """Fit 24 rates to stretches of times, one per row."""
    counts, hours = (part.reshape(7, 24).sum(axis=0) for part in _tally(times, clock))
    return HourlyPoisson(np.tile(_rates(counts, hours), 7), int((hours > 0).sum()), clock)


def _tally(times: Floats, clock: str) -> tuple[Floats, Floats]:
    """Count arrivals and hours watched, per hour of the week."""
    arrived = hour_of_week(times[:, 1:].ravel(), clock)
    counts = np.bincount(arrived, minlength=_WEEK_HOURS).astype(np.float64)
    watched = [week_exposure_h(float(row[0]), float(row[-1]), clock) for row in times]
    return counts, np.sum(watched, axis=0)


def _rates(counts: Floats, hours: Floats) -> Floats:
    if not np.any(hours > 0):
        raise FitError("the arrivals span no time")
    return np.divide(counts, hours, out=np.zeros_like(counts), where=hours > 0)


# Two-state Markov-modulated Poisson arrivals: calm and busy times that take turns.
#
# The likelihood of the gaps is a product of 2 x 2 matrices exp(D0 gap) L (Fischer and
# Meier-Hellstern 1993, "The MMPP cookbook"). It is multiplied as a tree, so that NumPy does
# all pairs of one level at once.


#: parameters further than this from a mean of one (as logarithms) mean that a state vanished
_FAR = 16.0


@dataclass(frozen=True)
class ModulatedPoisson:
    """Arrival rates in the two states, and the rates of leaving them; all per second."""

    calm_rate: float
    busy_rate: float
    leave_calm: float
    leave_busy: float

    @property
    def rates(self) -> tuple[float, float, float, float]:
        return self.calm_rate, self.busy_rate, self.leave_calm, self.leave_busy

    def log_likelihood(self, gaps: Floats) -> float:
        """Return the log-likelihood of stretches of gaps, one stretch per row."""
        logs, matrices = _steps(gaps, self.rates)
        start = np.array(_at_an_arrival(self.rates))
        product, scale = _multiplied(matrices)
        end = np.einsum("i,sij->s", start, product)
        return float(logs.sum() + scale.sum() + np.log(end).sum())

    def shares_below(self, gaps: Floats) -> Floats:
        """Return for every gap the chance of a shorter one, given all that came before."""
        below = np.empty_like(gaps)
        calm, busy = self.calm_rate, self.busy_rate
        for stretch, row in enumerate(gaps):
            at_calm, at_busy = _at_an_arrival(self.rates)
            e11, e12, e21, e22 = (part.tolist() for part in _exponential(row, self.rates))
            for place in range(row.size):
                now_calm = at_calm * e11[place] + at_busy * e21[place]
                now_busy = at_calm * e12[place] + at_busy * e22[place]
                below[stretch, place] = 1.0 - (now_calm + now_busy)
                now_calm, now_busy = now_calm * calm, now_busy * busy
                total = now_calm + now_busy or 1.0
                at_calm, at_busy = now_calm / total, now_busy / total
        return np.clip(below, 0.0, 1.0)


def fit_modulated(gaps: Floats) -> ModulatedPoisson:
    """Return the two-state law of highest likelihood for stretches of gaps (one per row)."""
    unit = float(gaps.mean())
    scaled = gaps / unit

    def cost(point: Floats) -> float:
        if np.abs(point).max() > _FAR:
            return 1e300
        value = ModulatedPoisson(*np.exp(point).tolist()).log_likelihood(scaled)
        return -value if math.isfinite(value) else 1e300

    # a burst of many short gaps, and a long calm: from both ends
    starts = [np.log([0.3, 3.0, 0.01, 0.02]), np.log([0.5, 30.0, 0.1, 1.0])]
    begun = min(starts, key=cost)
    found = minimize(
        cost,
        begun,
        method="Nelder-Mead",
        options={"maxfev": 500, "xatol": 2e-3, "fatol": 1e-2, "adaptive": True},
    )
    if found.fun >= 1e299:
        raise FitError("the likelihood has no maximum that can be computed")
    rates = np.exp(found.x) / unit
    if rates[0] > rates[1]:
        rates = rates[[1, 0, 3, 2]]
    return ModulatedPoisson(*rates.tolist())


def _at_an_arrival(rates: tuple[float, float, float, float]) -> tuple[float, float]:
    """Return how likely each state is when something arrives."""
    calm, busy, leave_calm, leave_busy = rates
    weight_calm, weight_busy = calm * leave_busy, busy * leave_calm
    total = weight_calm + weight_busy
    return weight_calm / total, weight_busy / total


def _eigen(rates: tuple[float, float, float, float]) -> tuple[float, float, float]:
    """Return the slow eigenvalue of D0, the distance to the fast one, and D0's first entry."""
    calm, busy, leave_calm, leave_busy = rates
    first, last = -(leave_calm + calm), -(leave_busy + busy)
    root = math.sqrt((first - last) ** 2 + 4 * leave_calm * leave_busy)
    return (first + last + root) / 2, root, first


def _scaled_exponential(
    gaps: Floats, rates: tuple[float, float, float, float]
) -> tuple[Floats, tuple[Floats, Floats, Floats, Floats]]:
    """Return slow * gap and the entries of exp(D0 gap) over exp(slow * gap)."""
    slow, root, first = _eigen(rates)
    _, _, leave_calm, leave_busy = rates
    last = 2 * slow - root - first
    # exp(D0 gap) = a I + b D0 for a 2 x 2 matrix with two real eigenvalues
    b = -np.expm1(-root * gaps) / root
    a = 1.0 - slow * b
    return slow * gaps, (a + b * first, b * leave_calm, b * leave_busy, a + b * last)


def _exponential(
    gaps: Floats, rates: tuple[float, float, float, float]
) -> tuple[Floats, Floats, Floats, Floats]:
    logs, (e11, e12, e21, e22) = _scaled_exponential(gaps, rates)
    size = np.exp(logs)
    return size * e11, size * e12, size * e21, size * e22


def _steps(gaps: Floats, rates: tuple[float, float, float, float]) -> tuple[Floats, Floats]:
    """Return log scales and the matrix of every gap: no arrival for so long, then one."""
    logs, (e11, e12, e21, e22) = _scaled_exponential(gaps, rates)
    calm, busy = rates[:2]
    matrices = np.stack([e11 * calm, e12 * busy, e21 * calm, e22 * busy])
    return logs, matrices


def _multiplied(matrices: Floats) -> tuple[Floats, Floats]:
    """Multiply the matrices of each stretch in order; returns (stretch, 2, 2) and log scales."""
    scale = np.zeros(matrices.shape[1])
    while matrices.shape[2] > 1:
        if matrices.shape[2] % 2:
            one = np.array([1.0, 0.0, 0.0, 1.0])[:, None, None]
            matrices = np.concatenate(
                [matrices, np.broadcast_to(one, (4, matrices.shape[1], 1))], axis=2
            )
        left, right = matrices[:, :, 0::2], matrices[:, :, 1::2]
        matrices = np.stack(
            [
                left[0] * right[0] + left[1] * right[2],
                left[0] * right[1] + left[1] * right[3],
                left[2] * right[0] + left[3] * right[2],
                left[2] * right[1] + left[3] * right[3],
            ]
        )
        size = matrices.max(axis=0)
        matrices = matrices / size
        scale += np.log(size).sum(axis=1)
    return matrices[:, :, 0].T.reshape(-1, 2, 2), scale
