"""One scope of a monitor, the whole stream or a profile: all its signals side by side."""

from __future__ import annotations

from typing import Self

import numpy as np

from prophase.array_types import Floats, Ints
from prophase.profile.drift.change_detector import Cusum
from prophase.profile.drift.drift_signals import SHARES, SIGNALS, RawScores, Scale, echo

#: newest jobs of a quiet time that make the reference
MOST = 4_000
#: jobs, and weight of jobs, from which what is usual is learned again after an alarm
_AGAIN_JOBS, _AGAIN_WEIGHT = 150, 100.0
#: jobs from which it is learned the first time
_FIRST_JOBS = 300
#: share of the way to an alarm that is worth a warning
WARNING_FROM = 0.5


class Scope:
    """Watches the signals of one stream of jobs.

    Parameters
    ----------
    rate : float
        False alarms per job and signal.
    within : Scope, optional
        A larger stream this one is part of, whose bursts are known better.

    Attributes
    ----------
    jobs_ : int
        Jobs seen since ``fit``.
    """

    def __init__(self, *, rate: float, within: Scope | None = None, random_state: int = 0) -> None:
        self.rate = rate
        self.bursts = {} if within is None else within.variances()
        self.random_state = random_state

    def fit(self, raw: RawScores) -> Self:
        """Learn what is usual, or begin to if there are too few jobs."""
        self.jobs_ = 0
        self.echo_: dict[str, float] = {}
        self.scales_: dict[str, Scale] = {}
        self.detectors_: dict[str, Cusum] = {}
        #: places in the stream of the jobs since the scope began to learn
        self.places_: Ints = np.empty(0, dtype=np.int64)
        self.learning_ = True
        self.learnt_ = raw.rows(slice(-MOST, None))
        if len(self.learnt_) >= _FIRST_JOBS:
            self._learn()
        return self

    def variances(self) -> dict[str, float]:
        """Return the variance of a sum per unit of squared weight, by signal."""
        return {
            name: one.long_run_variance_ / one.mean_square_ for name, one in self.detectors_.items()
        }

    @property
    def levels(self) -> dict[str, float]:
        """How near each signal is to an alarm; 1 is one. Empty while learning."""
        if self.learning_:
            return {}
        return {name: detector.level for name, detector in self.detectors_.items()}

    @property
    def state(self) -> str:
        """One word: ok, warning, settling after a change, or learning: too few jobs."""
        if self.learning_:
            return "settling" if self.detectors_ else "learning"
        return "warning" if max(self.levels.values()) >= WARNING_FROM else "ok"

    def update(self, raw: RawScores, places: Ints) -> tuple[str, int, int, int] | None:
        """Take further jobs; returns signal, place, first place and jobs of an alarm, if any."""
        self.jobs_ += len(raw)
        if self.learning_:
            self._collect(raw)
            return None
        found = {
            signal: detector.update(self.scales_[signal](raw), self._weights(signal, raw))
            for signal, detector in self.detectors_.items()
        }
        crossed = [(one.at, name) for name, one in found.items() if one is not None]
        if not crossed:
            self.places_ = np.concatenate([self.places_, places])[-MOST:]
            self._grow(raw)
            return None
        at, signal = min(crossed)
        since = found[signal]
        assert since is not None
        stream = np.concatenate([self.places_, places])
        first = max(len(self.places_) + since.since, 0)
        last = len(self.places_) + at
        self.rebase()
        return signal, int(stream[last]), int(stream[first]), last - first + 1

    def rebase(self) -> None:
        """Forget what is usual and learn it from the jobs that follow."""
        self.learning_ = True
        self.learnt_ = RawScores.none()
        self.places_ = np.empty(0, dtype=np.int64)

    def _collect(self, raw: RawScores) -> None:
        self.learnt_ = self.learnt_.joined(raw)
        if len(self.learnt_) < (_AGAIN_JOBS if self.detectors_ else _FIRST_JOBS):
            return
        # outcomes are what most signals are about; whether profiles are known is another matter
        if (
            self._weights("longer", self.learnt_).sum() >= _AGAIN_WEIGHT
            or len(self.learnt_) >= MOST
        ):
            self._learn()

    def _grow(self, raw: RawScores) -> None:
        """Take quiet jobs into a short reference; it counts whenever it has doubled."""
        if len(self.learnt_) >= MOST or max(self.levels.values()) >= WARNING_FROM:
            return
        self.learnt_ = self.learnt_.joined(raw)
        if len(self.learnt_) >= 2 * self.reference_:
            self._learn()

    def _learn(self) -> None:
        raw = self.learnt_
        self.reference_ = len(raw)
        first = not self.detectors_
        for signal in SIGNALS:
            if first:
                even = Scale.learn(signal, raw, np.ones(len(raw)))
                self.echo_[signal] = echo(even(raw), raw.key)
            weight = self._weights(signal, raw)
            self.scales_[signal] = Scale.learn(signal, raw, weight)
            scores = self.scales_[signal](raw)
            longer = first or len(raw) > self.detectors_[signal].reference_
            if longer:
                detector = Cusum(rate=self.rate, random_state=self.random_state)
                share = signal in SHARES
                least = max(self.bursts.get(signal, 0.0), 1.0 if share else 0.0)
                self.detectors_[signal] = detector.fit(
                    scores,
                    weight,
                    least_variance=least * float(np.mean(weight**2)),
                    jump=self.scales_[signal].jump,
                )
            else:
                # a short reference gives the level; bursts are known better from the long one
                self.detectors_[signal].restart(float(weight.sum()))
        self.learning_ = False

    def _weights(self, signal: str, raw: RawScores) -> Floats:
        """Return what each job counts: jobs of one burst share their luck, unknown ones nothing."""
        known = np.isfinite(raw.of(signal))
        return known / (1.0 + self.echo_.get(signal, 1.0) * raw.alike)
