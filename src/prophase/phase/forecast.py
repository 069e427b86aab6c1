"""Which phase comes next, and when? Learnt from stays, judged only where something changes.

A phase mostly stays the same from one sample to the next, so "the same again" is right nearly
always and worth nothing. What counts is the sample at which it is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prophase.phase.series import Floats, Ints
from prophase.phase.stays import stays_of

#: stays with the same phase before it that are needed to look two phases back
_ENOUGH = 5


@dataclass(frozen=True)
class Forecast:
    """What is expected while a phase lasts."""

    next_phase: int
    #: how often that one came next under the same circumstances
    probability: float
    #: samples until the change: median, and the bounds of four stays out of five
    remaining: float
    remaining_low: float
    remaining_high: float


@dataclass(frozen=True)
class NextPhase:
    """How stays followed each other.

    Attributes
    ----------
    pairs : array (n, 4)
        Each whole stay with a successor: phase before (-1 if none), phase, samples, next phase.
    n_phases : int
        Number of phases.
    """

    pairs: Ints
    n_phases: int

    def forecast(self, phase: int, *, elapsed: int = 0, before: int = -1) -> Forecast | None:
        """Return what comes after a phase that has lasted ``elapsed`` samples; None if unknown.

        Parameters
        ----------
        before : int
            The phase before this one, if known; used where it was seen often enough.
        """
        same = self.pairs[self.pairs[:, 1] == phase]
        twice = same[same[:, 0] == before] if before >= 0 else same[:0]
        if len(twice) >= _ENOUGH:
            same = twice
        longer = same[same[:, 2] > elapsed]
        # a stay longer than any before ends, as far as is known, any moment
        ahead = longer if len(longer) else same
        if len(same) == 0:
            return None
        counts = np.bincount(ahead[:, 3], minlength=self.n_phases)
        left = np.maximum(longer[:, 2] - elapsed, 1) if len(longer) else np.array([1])
        low, middle, high = np.quantile(left, (0.1, 0.5, 0.9))
        return Forecast(
            int(counts.argmax()),
            float(counts.max() / counts.sum()),
            float(middle),
            float(low),
            float(high),
        )


def learn_next(labels: Sequence[Ints], n_phases: int) -> NextPhase:
    """Learn which phase follows which, after how long.

    Examples
    --------
    >>> model = learn_next([np.repeat([0, 1, 0, 1, 2], 10)], 3)
    >>> model.forecast(0, elapsed=4)
    Forecast(next_phase=1, probability=1.0, remaining=6.0, remaining_low=6.0, remaining_high=6.0)
    """
    stays = stays_of(labels)
    same = np.append(stays.series[:-1] == stays.series[1:], False) & stays.whole
    place = np.flatnonzero(same)
    follows = (place > 0) & (stays.series[np.maximum(place - 1, 0)] == stays.series[place])
    before = np.where(follows, stays.phase[np.maximum(place - 1, 0)], -1)
    pairs = [
        before,
        stays.phase[place],
        stays.samples[place],
        stays.phase[np.minimum(place + 1, len(stays.phase) - 1)],
    ]
    return NextPhase(np.array(pairs, dtype=np.int64).T.reshape(-1, 4), n_phases)


def score_forecasts(model: NextPhase, labels: Sequence[Ints]) -> list[dict[str, Any]]:
    """Judge forecasts on further series, beside rules that learn nothing.

    Each row is a rule: ``next_right_pct``, of the changes, how many went to the phase foreseen;
    ``off_samples``, the median error of the time to change, asked in the middle of each stay;
    ``all_right_pct``, of all samples, how many were foreseen one sample ahead. The last is shown
    to say why it is not the measure.
    """
    stays = stays_of(labels)
    usual = _usual(model)
    rows: dict[str, list[tuple[bool, float]]] = {
        "learnt": [],
        "stays the same": [],
        "commonest": [],
    }
    total = max(int(stays.samples.sum()), 1)
    for place in np.flatnonzero(stays.whole[:-1] & (stays.series[:-1] == stays.series[1:])):
        phase, then, length = (
            int(stays.phase[place]),
            int(stays.phase[place + 1]),
            int(stays.samples[place]),
        )
        first = place == 0 or stays.series[place - 1] != stays.series[place]
        before = -1 if first else int(stays.phase[place - 1])
        at = length // 2
        left = length - at
        said = model.forecast(phase, elapsed=at, before=before)
        at_end = model.forecast(phase, elapsed=length - 1, before=before)
        rows["learnt"].append(
            (
                at_end is not None and at_end.next_phase == then,
                abs(said.remaining - left) if said else np.nan,
            )
        )
        rows["stays the same"].append((False, np.nan))
        rows["commonest"].append((usual[0] == then and usual[0] != phase, abs(usual[1] - left)))
    changes = len(rows["learnt"])
    table = []
    for rule, found in rows.items():
        off = np.array([error for _, error in found])
        wrong = changes if rule == "stays the same" else None
        table.append(
            {
                "rule": rule,
                "changes": changes,
                "next_right_pct": 100 * np.mean([right for right, _ in found]) if found else np.nan,
                "off_samples": float(np.nanmedian(off)) if np.isfinite(off).any() else np.nan,
                "all_right_pct": 100 * (1 - wrong / total) if wrong is not None else np.nan,
            }
        )
    return table


def _usual(model: NextPhase) -> tuple[int, float]:
    """Return the commonest next phase and half of the median stay, whatever the phase is."""
    if len(model.pairs) == 0:
        return 0, 1.0
    counts: Floats = np.bincount(model.pairs[:, 3]).astype(float)
    return int(counts.argmax()), float(np.median(model.pairs[:, 2]) / 2)
