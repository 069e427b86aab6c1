"""Recommendations at every point of a task's past, compared with the runs that came after it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prophase.sizing.ladder_from_peaks import ladder_of
from prophase.sizing.least_waste.ladder import Floats
from prophase.sizing.resources import Resource
from prophase.stats import Estimate, calendar_blocks, share, wilson_ends

#: recommendations is made again whenever the history has grown by this factor
_GROWTH = 1.25
_FEWEST = 3


class RecommendationBacktest:
    """Walk forward through the past of one task.

    Kills are counted over all runs that a ladder was tried on; what is saved over the
    later half of the past, where ladders of many runs are closer to the one that is given now.

    Parameters
    ----------
    fewest : int
        Runs before the first ladder; half of the past if that is less.
    """

    def __init__(self, fewest: int, risk: float, what: Resource) -> None:
        self.fewest, self.risk, self.what = fewest, risk, what
        self.count = self.kills = 0
        self.saving = math.nan
        #: share of the runs tried on that were killed at their first request
        self.oom = Estimate(math.nan, reason="no run")

    def run(
        self,
        peaks: Floats,
        hours: Floats,
        requests: Floats,
        when_s: Floats,
        now: float,
        ladder: Sequence[float],
        *,
        capped: bool = False,
        origins: Floats | None = None,
    ) -> None:
        """Back-test the ladders of the past; ``ladder`` is the one that is given now.

        With ``capped`` whoever asks for less than the first rung keeps that request.

        What is saved is computed at the rungs of that ladder, with the attempts of the ladder of
        its time needed: the ladder knows those runs already and would look too good on them.
        """
        middle = len(peaks) // 2
        first = known = max(min(self.fewest, middle), _FEWEST)
        killed = np.zeros(len(peaks), np.bool_)
        asked = reserved = 0.0
        while known < len(peaks):
            upto = min(len(peaks), max(known + 1, int(known * _GROWTH)))
            of = None if origins is None else origins[:known]
            rungs = ladder_of(peaks[:known], self.risk, now, self.what, when_s[:known], of)
            for place in range(known, upto):
                request = requests[place]
                stays = capped and request <= rungs[0]
                killed[place] = not stays and rungs[0] < peaks[place]
                if place >= middle and request > 0:
                    attempts = 1
                    if self.what.kills and not stays:
                        attempts = max(_attempts(one, peaks[place]) for one in (rungs, ladder))
                    now_asked = _asked(ladder, attempts, peaks[place])
                    asked += hours[place] * (min(now_asked, request) if stays else now_asked)
                    reserved += hours[place] * request
            known = upto
        self.count, self.kills = len(peaks) - first, int(killed.sum())
        if self.count > 0:
            self.oom = share(killed[first:], calendar_blocks(when_s[first:]))
        if reserved > 0:
            self.saving = float(1.0 - asked / reserved)

    def by_kinds(
        self, exceeded: NDArray[np.bool_], ladder: Sequence[float], requests: Floats, hours: Floats
    ) -> None:
        """Count kinds instead of runs: those of which a later run needed more than such a room."""
        self.count, self.kills = len(exceeded), int(exceeded.sum())
        low, high = wilson_ends(np.array([exceeded.mean()]), self.count, 1.645)
        self.oom = Estimate(float(exceeded.mean()), float(low[0]), float(high[0]))
        self.saves(ladder, requests, hours)

    def saves(self, ladder: Sequence[float], requests: Floats, hours: Floats) -> None:
        """Compute what the runs so far would have saved at the first rung."""
        asking = np.isfinite(requests)
        if asking.any():
            held = float((requests * hours)[asking].sum())
            self.saving = 1.0 - ladder[0] * float(hours[asking].sum()) / held


def _attempts(rungs: Sequence[float], peak: float) -> int:
    """Return how many requests are made until one holds."""
    return next((place for place, rung in enumerate(rungs, 1) if rung >= peak), len(rungs) + 1)


def _asked(rungs: Sequence[float], attempts: int, peak: float) -> float:
    """Return the sum of so many requests; whoever needs more than the ladder has gets plenty."""
    plenty = 2 * max(rungs[-1], peak) if attempts > len(rungs) else 0.0
    return sum(rungs[:attempts]) + plenty
