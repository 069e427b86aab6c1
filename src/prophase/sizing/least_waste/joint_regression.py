"""All that is known before a run, taken together: a ridge regression of the log peak.

The size of the input, counters of finished tasks of the same sample, further numbers of the
instance and words said of it each explain a part of the peak. How far they are trusted is
chosen by leave-one-out errors, which come in closed form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from prophase.sizing.least_waste.ladder import Floats
from prophase.sizing.least_waste.lineage import INPUT, Known

#: a counter, a number of the instance, or a word
Column = tuple[str, str]

#: in place of a task: the column is a word
_WORD = "\0word"
#: counters beside the input, and words, that take part at most
_MOST_COUNTERS, _MOST_WORDS = 3, 20
#: latest instances by which columns are chosen; a word must be said of so many of them
_CHOICE_ROWS, _FEWEST_WITH_WORD = 150, 3
#: share of instances that must know a number
_COVER = 0.6
#: a counter takes part if its correlation with what is left is so many standard errors
_BEYOND_CHANCE = 2.5
_PENALTIES = np.array([0.03, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0])


class Joint:
    """The columns that take part, and the regression on them."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        self.size = len(columns)
        self.numbers = {one: place for place, one in enumerate(columns) if one[0] != _WORD}
        self.words = {one[1]: place for place, one in enumerate(columns) if one[0] == _WORD}
        #: instances that took part in the fit
        self.count = 0

    def encode(self, known_numbers: Known, words: Sequence[str]) -> Floats:
        """Return the row of one instance; a number nobody knows is NaN."""
        row = np.zeros(self.size)
        for column, place in self.numbers.items():
            row[place] = known_numbers.get(column, np.nan)
        for word in words:
            if word in self.words:
                row[self.words[word]] = 1.0
        return row

    def fit(self, rows: Floats, log_peaks: Floats) -> None:
        """Fit with every penalty at once and keep the one with the least leave-one-out error."""
        self.count = len(rows)
        known = rows == rows
        cover = np.maximum(known.sum(axis=0), 1)
        self._middle = np.where(known, rows, 0.0).sum(axis=0) / cover
        offset = np.where(known, rows - self._middle, 0.0)
        spread = np.sqrt((offset**2).mean(axis=0))
        self._scale = np.where(spread > 1e-9, spread, np.inf)
        x = offset / self._scale
        self._level = float(log_peaks.mean())
        y = log_peaks - self._level
        values, vectors = np.linalg.eigh(x.T @ x)
        z = x @ vectors
        shrinking = 1.0 / (np.maximum(values, 0.0)[:, None] + _PENALTIES)
        slopes = shrinking * (z.T @ y)[:, None]
        leverage = 1.0 / self.count + (z * z) @ shrinking
        errors = (y[:, None] - z @ slopes) / np.maximum(1.0 - leverage, 0.05)
        best = int((errors * errors).sum(axis=0).argmin())
        self._vectors, self._shrinking = vectors, shrinking[:, best]
        self._slopes = vectors @ slopes[:, best]
        #: leave-one-out errors, and what was predicted with them
        self.errors: Floats = errors[:, best]
        self.predicted: Floats = log_peaks - self.errors

    def at(self, row: Floats) -> tuple[float, float]:
        """Return the log peak predicted for one instance, and its leverage."""
        x = np.where(row == row, (row - self._middle) / self._scale, 0.0)
        z = x @ self._vectors
        return self._level + float(x @ self._slopes), float((z * z) @ self._shrinking)


def choose_columns(
    known_numbers: list[Known], words: list[tuple[str, ...]], log_peaks: Floats
) -> list[Column]:
    """Return what goes with the peaks: words that recur, the input, and counters."""
    known_numbers, words, log_peaks = (
        known_numbers[-_CHOICE_ROWS:],
        words[-_CHOICE_ROWS:],
        log_peaks[-_CHOICE_ROWS:],
    )
    count = len(known_numbers)
    said = Counter(word for row in words for word in row)
    chosen: list[Column] = [
        (_WORD, word)
        for word, times in said.most_common()
        if _FEWEST_WITH_WORD <= times <= count - 2
    ][:_MOST_WORDS]
    if sum(INPUT in row for row in known_numbers) >= _COVER * count:
        chosen.append(INPUT)
    names = sorted({name for row in known_numbers for name in row} - {INPUT})
    if not names:
        return chosen
    table = np.array([[row.get(name, np.nan) for name in names] for row in known_numbers])
    known = np.isfinite(table)
    cover = known.sum(axis=0)
    middle = np.where(known, table, 0.0).sum(axis=0) / np.maximum(cover, 1)
    offset = np.where(known, table - middle, 0.0)
    spread = np.sqrt((offset**2).sum(axis=0))
    usable = (cover >= max(4, _COVER * count)) & (spread > 1e-6)
    for _ in range(_MOST_COUNTERS):
        left = _left_over(chosen, known_numbers, words, log_peaks)
        size = float(np.sqrt(left @ left))
        if size < 0.005 * np.sqrt(count):
            break
        fit = np.where(usable, np.abs(left @ offset) / (np.maximum(spread, 1e-6) * size), 0.0)
        best = int(fit.argmax())
        if fit[best] < _BEYOND_CHANCE / np.sqrt(count):
            break
        chosen.append(names[best])
        usable[best] = False
    return chosen


def _left_over(
    columns: list[Column],
    known_numbers: list[Known],
    words: list[tuple[str, ...]],
    log_peaks: Floats,
) -> Floats:
    """Return what the columns leave unexplained."""
    if not columns:
        left: Floats = log_peaks - log_peaks.mean()
        return left
    joint = Joint(columns)
    rows = np.array([joint.encode(*known) for known in zip(known_numbers, words, strict=True)])
    joint.fit(rows, log_peaks)
    return joint.errors
