"""Which rows stay together, and how much their blocks can tell.

A block is a calendar day of the data's own clock. From ten weeks on it is a week: neighbouring
days resemble each other, and weekends differ from working days. A history of fewer than three
blocks, or with nine tenths of its weight in one, has no interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophase.errors import ParameterError

Floats = NDArray[np.float64]

DAY_S = 86_400.0
#: fewer blocks say next to nothing about how blocks differ
LEAST_BLOCKS = 3
#: with more of the weight in one block, the others do not tell how that one could have been
MOST_IN_ONE = 0.9
#: weeks from which on weeks are the blocks
_ENOUGH_WEEKS = 10


@dataclass(frozen=True)
class Blocks:
    """The block of each row, numbered from 0 without gaps.

    Examples
    --------
    >>> blocks = Blocks.of(["mon", "mon", "tue"], unit="day")
    >>> blocks.count, blocks.of_row.tolist(), blocks.sums([1.0, 2.0, 5.0]).tolist()
    (2, [0, 0, 1], [3.0, 5.0])
    """

    of_row: NDArray[np.intp]
    count: int
    unit: str = "day"

    @classmethod
    def of(cls, labels: ArrayLike, *, unit: str) -> Blocks:
        """Return blocks of rows that share a label."""
        names, place = np.unique(np.asarray(labels), return_inverse=True)
        return cls(place.reshape(-1).astype(np.intp), len(names), unit)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.of_row)

    def sums(self, values: ArrayLike) -> Floats:
        """Return the sum of the values in each block."""
        numbers = np.asarray(values, np.float64)
        if numbers.shape != self.of_row.shape:
            raise ParameterError(
                f"{numbers.size} values and {self.rows} rows in blocks; give one value per row."
            )
        return np.bincount(self.of_row, numbers, minlength=self.count).astype(np.float64)

    def sizes(self) -> Floats:
        """Return the number of rows in each block."""
        return np.bincount(self.of_row, minlength=self.count).astype(np.float64)

    def some(self, rows: NDArray[np.bool_]) -> Blocks:
        """Return the blocks of some of the rows."""
        return Blocks.of(self.of_row[rows], unit=self.unit)

    def told(self) -> str:
        """Return how many there are, such as ``14 days``."""
        return counted(self.count, self.unit)


def calendar_blocks(time_s: ArrayLike) -> Blocks:
    """Return the day of each row, or its week where there are at least ten.

    Parameters
    ----------
    time_s : array
        Seconds on the data's clock, such as the time of submission.

    Examples
    --------
    >>> calendar_blocks([0.0, 3600.0, 90_000.0]).told()
    '2 days'
    >>> calendar_blocks(86_400.0 * np.arange(140)).told()
    '20 weeks'
    """
    when = np.asarray(time_s, np.float64).reshape(-1)
    if not np.isfinite(when).all():
        raise ParameterError("some times are missing; leave those rows out first.")
    days = Blocks.of(np.floor(when / DAY_S), unit="day")
    if days.count < 7 * (_ENOUGH_WEEKS - 1):
        return days
    weeks = Blocks.of(np.floor(when / (7 * DAY_S)), unit="week")
    return weeks if weeks.count >= _ENOUGH_WEEKS else days


def why_too_short(weights: Floats, unit: str) -> str:
    """Return why blocks of such weights have no interval; nothing if they have one.

    Examples
    --------
    >>> why_too_short(np.array([40.0, 60.0]), "day")
    'too short to say: 2 days, at least 3 needed'
    """
    held = int(np.count_nonzero(weights))
    if held < LEAST_BLOCKS:
        return f"too short to say: {counted(held, unit)}, at least {LEAST_BLOCKS} needed"
    most = float(weights.max() / weights.sum())
    if most > MOST_IN_ONE:
        return f"too short to say: {most:.0%} of it lies in one {unit}"
    return ""


def degrees_of_freedom(weights: Floats) -> float:
    """Return how many independent differences blocks of such weights are worth.

    One less than the blocks if they are of equal weight, else fewer (Bell and McCaffrey 2002, for
    the weighted mean): a heavy block leaves little to compare it with.

    Examples
    --------
    >>> round(degrees_of_freedom(np.ones(7)), 6)
    6.0
    >>> round(degrees_of_freedom(np.array([5.0, 1, 1, 1, 1, 1, 1])), 2)
    3.33
    """
    part = weights[weights > 0] / weights.sum()
    odds = part / (1 - part)
    lever = part * odds
    freedom = 1 / ((odds**2).sum() - 2 * (lever * odds).sum() + lever.sum() ** 2)
    return float(freedom)


def t_factor(freedom: float, level: float) -> float:
    """Return how many standard errors reach from the value to the end of its interval."""
    if not 0 < level < 1:
        raise ParameterError(f"level is {level}, but lies between 0 and 1, such as 0.95.")
    # here and not above: a quick answer has no use for all of SciPy
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def counted(count: int, unit: str) -> str:
    """Return a number of blocks in words."""
    return f"{count:,} {unit}" + ("" if count == 1 else "s")
