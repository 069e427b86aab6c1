"""Whose jobs changed? The submit-time values that explain most of a change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.plural import counted
from prophase.profile.predict.submit_columns import submitted

Floats = NDArray[np.float64]

#: a value is accused if most of its jobs have at least this score
_UNUSUAL = 1.0
#: fewest jobs of a value
_FEWEST = 4
#: share of the whole change that the accused have to explain
_EXPLAINS = 0.4
#: what each accused value has to explain: many picked ones explain anything
_PRICE = 0.03
#: a column with more values than this share of the jobs numbers them
_MOST_VALUES = 0.5


@dataclass(frozen=True)
class Culprit:
    """Jobs whose column has one of some values; all jobs if there is no column."""

    column: str | None
    values: tuple[str, ...]
    #: share of the change that they explain
    explains: float = 0.0

    def among(self, jobs: pd.DataFrame) -> NDArray[np.bool_]:
        """Say which jobs belong to it."""
        if self.column is None:
            return np.ones(len(jobs), dtype=bool)
        if self.column not in jobs:
            return np.zeros(len(jobs), dtype=bool)
        return np.asarray(_words(jobs[self.column]).isin(self.values).to_numpy(dtype=bool))

    def sentence(self) -> str:
        """Name it in a few words."""
        if self.column is None:
            return "no single value of the metadata stands out"
        shown = ", ".join(self.values[:3])
        more = len(self.values) - 3
        return f"{self.column} {shown}" + (f" and {counted(more, 'other')}" if more > 0 else "")


def find_culprit(jobs: pd.DataFrame, scores: Floats) -> Culprit:
    """Return the values of one column whose jobs are unusual while the others are not.

    Parameters
    ----------
    scores : array
        How unusual each job is: 0 on average before the change, with spread 1. NaN is no
        evidence.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 30, "queue": ["a"] * 60})
    >>> found = find_culprit(jobs, np.array([2.0, 0.0] * 30))
    >>> found.sentence(), found.among(jobs).sum()
    ('user ann', np.int64(30))
    """
    known = np.isfinite(scores)
    seen, held = submitted(jobs[known]), scores[known]
    # what is usual must neither accuse nor excuse: only what is clearly unusual is explained
    excess = np.clip(held, -_UNUSUAL, 2.5)
    total = float(excess.sum())
    best, best_worth = Culprit(None, ()), 0.0
    if total <= 0:
        return best
    for column in map(str, seen):
        words = _words(seen[column])
        if not 1 < words.nunique() <= max(_MOST_VALUES * len(held), 2):
            continue
        table = pd.DataFrame({"score": held, "excess": excess}).groupby(words.to_numpy())
        typical, size = table["score"].median(), table["score"].size()
        accused = typical.index[(typical >= _UNUSUAL) & (size >= _FEWEST)]
        inside = words.isin(accused).to_numpy(dtype=bool)
        explains = float(excess[inside].sum()) / total
        # jobs of the accused that are as usual speak against the column
        innocent = float((held[inside] < _UNUSUAL / 2).mean()) if inside.any() else 0.0
        worth = explains - innocent - _PRICE * len(accused)
        if explains >= _EXPLAINS and worth > best_worth:
            best = Culprit(column, tuple(map(str, accused)), explains)
            best_worth = worth
    return best


def _words(column: pd.Series) -> pd.Series:
    return column.astype("string").fillna("")
