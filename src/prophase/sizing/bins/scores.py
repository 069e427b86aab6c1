"""How a classification into bins is judged: under-estimates kill tasks, over-estimates waste."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonObject
from prophase.sizing.bins.binning import Binning
from prophase.trace.describe.column_arrays import Floats, Ints

#: how many over-estimates an under-estimate counts for (Fig. 15)
PENALTY = 10.0


@dataclass(frozen=True)
class Score:
    """Counts of a test, and the thesis' measures of them.

    ``confusion[true, predicted]`` counts runs; below the diagonal are under-estimates.
    """

    confusion: Ints
    penalty: float = PENALTY

    @property
    def total(self) -> int:
        return int(self.confusion.sum())

    @property
    def under(self) -> int:
        """Runs whose predicted bin was too small: they would have been killed."""
        return int(np.tril(self.confusion, -1).sum())

    @property
    def over(self) -> int:
        """Runs whose predicted bin was larger than needed."""
        return int(np.triu(self.confusion, 1).sum())

    @property
    def accuracy_pct(self) -> float:
        return 100 * float(np.trace(self.confusion)) / self.total

    @property
    def u_rate_pct(self) -> float:
        return 100 * self.under / self.total

    @property
    def u_score(self) -> float:
        """(O + U x penalty) / total x 100; 0 is perfect."""
        return 100 * (self.over + self.under * self.penalty) / self.total

    def to_dict(self) -> JsonObject:
        """Return the counts and measures as JSON knows them."""
        return {
            "total": self.total,
            "under": self.under,
            "over": self.over,
            "accuracy_pct": self.accuracy_pct,
            "u_rate_pct": self.u_rate_pct,
            "u_score": self.u_score,
            "confusion": self.confusion.tolist(),
        }


def score(
    true: Ints | Sequence[int],
    predicted: Ints | Sequence[int],
    *,
    bins: int,
    penalty: float = PENALTY,
) -> Score:
    """Return the score of predicted bins.

    Parameters
    ----------
    penalty : float, default=10
        What an under-estimate weighs against an over-estimate. With 1 the score is what accuracy
        leaves: fit once kills are retried without a human step.

    Examples
    --------
    >>> found = score([0, 0, 1, 2], [0, 1, 1, 1], bins=3)
    >>> found.over, found.under, found.accuracy_pct, found.u_score
    (1, 1, 50.0, 275.0)
    """
    known, said = np.asarray(true, dtype=np.int64), np.asarray(predicted, dtype=np.int64)
    check_penalty(penalty)
    if not len(known) or len(known) != len(said):
        raise InputError(f"there are {len(known)} true and {len(said)} predicted bins to compare.")
    counts = np.bincount(known * bins + said, minlength=bins * bins).reshape(bins, bins)
    return Score(counts.astype(np.int64), penalty)


def check_penalty(penalty: float) -> None:
    """Refuse a penalty that would favour under-estimates."""
    if not penalty >= 1:
        raise ParameterError(
            f"penalty is {penalty}; give 1 (plain accuracy) or more, such as {PENALTY:g}."
        )


def estimated_improvement(optimal_pct: float, accuracy_pct: float, u_rate_pct: float) -> float:
    """Return optimal x accuracy - u_rate, in percent (Table 11).

    Examples
    --------
    >>> round(estimated_improvement(88.1, 90.0, 0.2), 1)
    79.1
    """
    return optimal_pct * accuracy_pct / 100 - u_rate_pct


def realised_improvement(
    binning: Binning,
    peak_gib: Floats,
    predicted: Ints,
    *,
    before_gib: float | None = None,
    weight: Floats | None = None,
) -> float:
    """Return the allocation really saved: killed runs are paid for, then retried a bin higher.

    A killed attempt costs as much time as the whole run, which is the worst there is. The
    thesis' estimate knows no such cost.

    Examples
    --------
    >>> bins = Binning((10.0, 100.0))
    >>> round(realised_improvement(bins, np.array([5.0, 50.0]), np.array([0, 0])), 9)
    40.0
    """
    need = binning.classes(peak_gib)
    held = np.ones(len(need)) if weight is None else weight
    paid = np.zeros(len(need))
    for attempt in range(len(binning)):
        asked = np.minimum(predicted + attempt, len(binning) - 1)
        runs = (attempt == 0) | (predicted + attempt <= need)
        paid += np.where(runs, binning.requests(asked), 0.0)
    before = binning.top_gib if before_gib is None else before_gib
    return 100 * (1 - float((paid * held).sum()) / (before * float(held.sum())))


def marked_confusion(found: Score, binning: Binning) -> pd.DataFrame:
    """Return the matrix as text: under-estimates marked with -, over-estimates with +.

    Examples
    --------
    >>> found = score([0, 0, 1, 1], [0, 1, 1, 0], bins=2)
    >>> marked_confusion(found, Binning((10.0, 60.0))).values.tolist()
    [['1', '1 +'], ['1 -', '1']]
    """
    marks = np.sign(np.arange(len(binning))[None, :] - np.arange(len(binning))[:, None])
    cells = [
        [
            f"{count}" + ({1: " +", -1: " -"}.get(int(mark), "") if count else "")
            for count, mark in zip(row, signs, strict=True)
        ]
        for row, signs in zip(found.confusion.tolist(), marks.tolist(), strict=True)
    ]
    names = [f"{edge:g}" for edge in binning.edges_gib]
    return pd.DataFrame(cells, index=pd.Index(names, name="true"), columns=names)
