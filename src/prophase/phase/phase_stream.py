"""Phases of a series while it runs: the same labels as the batch gives, one sample at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prophase.errors import InputError
from prophase.phase.labellers.labeller import NO_PHASE
from prophase.phase.time_scales import Hold
from prophase.trace.series.usage_series import Floats

if TYPE_CHECKING:
    from prophase.phase.fitted_phases import FittedPhases
    from prophase.phase.next_phase import PhaseForecast


@dataclass(frozen=True)
class StreamedPhase:
    """What is known after a sample."""

    time_s: float
    #: `NO_PHASE` while the history is too short
    phase: int
    #: the phase is another one than at the sample before
    changed: bool
    #: unlike anything the model has seen
    new: bool
    #: samples since the phase began
    elapsed: int
    #: phase before this one; `NO_PHASE` if there was none
    before: int


class PhaseStream:
    """Label one series as its samples arrive; made by `PhaseDetector.stream`."""

    def __init__(self, detector: FittedPhases) -> None:
        self._detector = detector
        self._push: Callable[[Floats], int] = detector.labeller_.stream()
        self._hold = Hold(detector.hold_)
        self._recent: list[Floats] = []
        self._last_s = -np.inf
        self._values = np.full(len(detector.metrics_), np.nan)
        self._seen_s = np.full(len(detector.metrics_), -np.inf)
        self._phase, self._before, self._elapsed = NO_PHASE, NO_PHASE, 0
        # a step that has begun: its end, the sum of its samples and their number
        self._bin_end, self._bin_sum, self._bin_count = np.nan, np.zeros(0), 0
        self._bin_begin, self._bin_number, self._bin_first = np.nan, 0, True
        self._bin_mean = np.zeros(0)

    def push(
        self, time_s: float, values: Mapping[str, float] | Sequence[float]
    ) -> StreamedPhase | None:
        """Take one sample and return what is known now; None if the sample changes nothing.

        A sample older than the last one, or of the same time, is left out. With a step, a sample
        that only adds to the step that has begun returns None.
        """
        if not np.isfinite(time_s) or time_s <= self._last_s:
            return None
        sample = self._filled(time_s, self._in_order(values))
        if sample is None:
            return None
        paused = time_s - self._last_s > self._detector.gap_s_
        self._last_s = time_s
        if self._detector.step_s_ is not None:
            return self._binned(time_s, sample, paused)
        return self._take(time_s, sample, paused)

    @property
    def last_s(self) -> float:
        """Time of the last sample that was taken; minus infinity before the first."""
        return self._last_s

    def lacking(self, time_s: float) -> list[str]:
        """Return the metrics without a recent value, for which no phase can be told."""
        old = time_s - self._seen_s > self._detector.gap_s_
        return [name for name, yes in zip(self._detector.metrics_, old, strict=True) if yes]

    def forecast(self) -> PhaseForecast | None:
        """Return which phase comes next, and when; None if nothing is known."""
        if self._phase == NO_PHASE:
            return None
        return self._detector.next_.forecast(
            self._phase, elapsed=self._elapsed - 1, before=self._before
        )

    def _in_order(self, values: Mapping[str, float] | Sequence[float]) -> Floats:
        metrics = self._detector.metrics_
        if isinstance(values, Mapping):
            lacking = [name for name in metrics if name not in values]
            if lacking:
                raise InputError(
                    f"the sample lacks {', '.join(lacking)}. The model reads {', '.join(metrics)}."
                )
            return np.array([values[name] for name in metrics], dtype=np.float64)
        found = np.asarray(values, dtype=np.float64)
        if found.shape != (len(metrics),):
            raise InputError(
                f"a sample has {len(metrics)} values ({', '.join(metrics)}), and this one "
                f"{found.size}."
            )
        return found

    def _filled(self, time_s: float, values: Floats) -> Floats | None:
        """Put the last known value in the place of missing ones, as the batch does."""
        known = np.isfinite(values)
        self._values = np.where(known, values, self._values)
        self._seen_s = np.where(known, time_s, self._seen_s)
        usable = time_s - self._seen_s <= self._detector.gap_s_
        return self._values if bool(usable.all()) else None

    def _binned(self, time_s: float, sample: Floats, paused: bool) -> StreamedPhase | None:
        step_s = self._detector.step_s_
        assert step_s is not None
        found: StreamedPhase | None = None
        if not np.isfinite(self._bin_end) or paused:
            if self._bin_count:
                found = self._close(first=self._bin_first)
            self._bin_begin, self._bin_number, self._bin_first = time_s, 0, True
            self._bin_end, self._bin_sum, self._bin_count = time_s + step_s, sample.copy(), 1
            return found
        while int(np.floor((time_s - self._bin_begin) / step_s)) > self._bin_number:
            found = self._close(first=self._bin_first)
            self._bin_number, self._bin_first, self._bin_count = self._bin_number + 1, False, 0
            self._bin_end = self._bin_begin + (self._bin_number + 1) * step_s
        self._bin_sum = sample + (self._bin_sum if self._bin_count else 0.0)
        self._bin_count += 1
        return found

    def _close(self, *, first: bool) -> StreamedPhase:
        """End a step; an empty one takes the mean of the one before."""
        if self._bin_count:
            self._bin_mean = self._bin_sum / self._bin_count
        return self._take(self._bin_end, self._bin_mean, first)

    def _take(self, time_s: float, sample: Floats, begins: bool) -> StreamedPhase:
        if begins:
            self._push = self._detector.labeller_.stream()
            self._hold = Hold(self._detector.hold_)
            self._recent = []
            self._phase, self._before, self._elapsed = NO_PHASE, NO_PHASE, 0
        scaled = (sample - self._detector.mean_) / self._detector.scale_
        new = bool(self._detector.familiar_.is_new(scaled[None])[0])
        self._recent = [*self._recent, scaled][-self._detector.labeller_.history - 1 :]
        label = np.array([self._push(scaled)])
        found = self._detector.renumbered(label, np.array(self._recent))[0]
        phase = self._hold.push(int(found))
        changed = bool(phase != self._phase)
        if changed:
            self._before, self._phase, self._elapsed = self._phase, int(phase), 0
        self._elapsed += 1
        return StreamedPhase(time_s, int(phase), changed, new, self._elapsed, self._before)
