"""Poisson arrivals whose rate depends on the hour of the day or of the week."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from prophase.trace.describe.clock import HOUR_S, hour_of_week, week_exposure_h
from prophase.trace.describe.laws.law import FitError
from prophase.trace.describe.part import Floats

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
