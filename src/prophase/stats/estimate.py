"""A number and the interval around it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Self

from prophase.plain import finite

#: how often an interval holds the true value, unless the caller says otherwise
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number, and the interval that holds the true one in ``level`` of all cases.

    Attributes
    ----------
    low, high : float
        Ends of the interval; NaN where there is none, and ``reason`` says why.
    n : int
        Rows behind the number, such as jobs.
    blocks : int
        Independent parts behind the interval: days, weeks, or runs of a simulation.
    method : str
        How the interval was made.

    Examples
    --------
    >>> saved = Estimate(0.30, 0.25, 0.35, blocks=14)
    >>> saved.known, saved.holds(0.4)
    (True, False)
    >>> Estimate(0.30, reason="too short to say: 2 days, at least 3 needed").known
    False
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    level: float = LEVEL
    n: int = 0
    blocks: int = 0
    method: str = ""
    reason: str = ""

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def half_width(self) -> float:
        """Half the length of the interval; NaN where there is none."""
        return (self.high - self.low) / 2

    def holds(self, value: float) -> bool:
        """Tell whether a value lies inside; never where there is no interval."""
        return self.low <= value <= self.high

    def mapped(self, function: Callable[[float], float]) -> Self:
        """Return the estimate of a rising or falling function of the number.

        Examples
        --------
        >>> Estimate(0.5, 0.25, 0.625).mapped(lambda left: 1 - left)
        Estimate(value=0.5, low=0.375, high=0.75, level=0.95, n=0, blocks=0, method='', reason='')
        """
        low, high = function(self.low), function(self.high)
        if low > high:
            low, high = high, low
        return replace(self, value=function(self.value), low=low, high=high)

    def scaled(self, by: float) -> Self:
        """Return the estimate in another unit, such as percent."""
        return self.mapped(lambda value: by * value)

    def within(self, least: float = -math.inf, most: float = math.inf) -> Self:
        """Return the estimate with ends cut at what is logically possible, such as 0 and 1."""
        if not self.known:
            return self
        return replace(
            self, low=min(max(self.low, least), most), high=max(min(self.high, most), least)
        )

    def ends(self) -> tuple[float | None, float | None]:
        """Return both ends as JSON holds them: None where there is no finite one."""
        return finite(self.low), finite(self.high)

    def value_and_ends(self) -> dict[str, float | None]:
        """Return the number and its ends as a row of a table or of JSON holds them.

        Examples
        --------
        >>> Estimate(0.3).value_and_ends()
        {'value': 0.3, 'low': None, 'high': None}
        """
        return {"value": finite(self.value), "low": finite(self.low), "high": finite(self.high)}

    def columns(self, name: str) -> dict[str, float | None]:
        """Return the number and its ends as columns of a table, or keys of JSON.

        Examples
        --------
        >>> Estimate(31.4, 27.9, 35.1).columns("saved_pct")
        {'saved_pct': 31.4, 'saved_pct_low': 27.9, 'saved_pct_high': 35.1}
        """
        low, high = self.ends()
        return {name: finite(self.value), f"{name}_low": low, f"{name}_high": high}

    def to_dict(self) -> dict[str, float | int | str | None]:
        """Return the fields as JSON holds them."""
        held: dict[str, float | int | str | None] = finite(asdict(self))
        return held
