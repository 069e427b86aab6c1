"""Phases as a policy sees them: a label per sample, from that sample and those before it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Protocol, Self

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.past_use import windowed
from prophase.trace.series.hidden_markov_model import best_hmm

#: samples that phases are learned from, and of one run at most
_LEARNT_SAMPLES, _LEARNT_PER_RUN = 20_000, 1_500


class FleetLabeller(Protocol):
    """Whatever tells phases apart without looking ahead."""

    #: labels are 0 .. phases - 1
    phases: int

    def fit(self, fleet: Fleet) -> Self:
        """Learn the phases from fit series."""
        ...

    def labels(self, fleet: Fleet) -> Ints:
        """Return the phase of each sample."""
        ...


class LevelTrend:
    """Tell phases apart by how restless use is, where in its range it lies, and if it rises.

    Nothing is learned, so a series of a kind never seen before gets labels as good as any other.

    Examples
    --------
    >>> steady = Fleet.of_runs([[4.0] * 9])
    >>> sorted(set(LevelTrend().labels(steady).tolist()))
    [4]
    """

    phases = 18

    def __init__(self, *, window: int = 80) -> None:
        self.window = window

    def fit(self, fleet: Fleet) -> Self:
        return self

    def labels(self, fleet: Fleet) -> Ints:
        high = windowed(fleet, self.window)
        low = windowed(fleet, self.window, np.minimum)
        before = windowed(fleet, 3, np.minimum)
        scale = np.maximum(high, 1e-12)
        spread = (high - low) / scale
        restless = np.digitize(spread, (0.02, 0.2))
        place = np.where(spread > 0.002, (fleet.use - low) / np.maximum(high - low, 1e-12), 1.0)
        level = np.digitize(place, (0.25, 0.75))
        rising = (fleet.use - before) / scale > 0.01
        # calm series get labels 0 to 5, moving ones 6 to 11, restless ones 12 to 17
        found: Ints = ((restless * 3 + level) * 2 + rising).astype(np.int64)
        return found


@dataclass(eq=False)
class HiddenPhases:
    """Phases of a hidden Markov model, by the likeliest state given the samples so far."""

    _: KW_ONLY
    phases: int = 8
    #: learn from use relative to the highest of the last ``window`` samples, so that runs of
    #: different size share phases; otherwise from use itself
    relative: bool = True
    window: int = 80
    random_state: int = 0

    def fit(self, fleet: Fleet) -> Self:
        values = self._values(fleet)
        self.mean_, self.scale_ = float(values.mean()), float(values.std()) or 1.0
        order = np.random.default_rng(self.random_state).permutation(len(fleet.lengths))
        parts, runs, total = [], list(fleet.runs()), 0
        for place in order:
            if total >= _LEARNT_SAMPLES:
                break
            part = values[runs[place]][:_LEARNT_PER_RUN]
            if len(part) > 2:
                parts.append(((part - self.mean_) / self.scale_)[:, None])
                total += len(part)
        self.model_ = best_hmm(parts, self.phases, order=1, random_state=self.random_state)
        return self

    def labels(self, fleet: Fleet) -> Ints:
        values = (self._values(fleet) - self.mean_) / self.scale_
        # before there is a history a run counts to the first phase, as it has to be in one
        found = np.zeros(len(values), np.int64)
        for run in fleet.runs():
            known = self.model_.filtered(values[run][:, None]).argmax(axis=1)
            found[run][len(found[run]) - len(known) :] = known
        return found

    def _values(self, fleet: Fleet) -> Floats:
        if not self.relative:
            return fleet.use
        return fleet.use / np.maximum(windowed(fleet, self.window), 1e-12)
