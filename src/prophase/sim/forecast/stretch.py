"""Widen intervals by what past forecasts missed, so that they hold what they promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from prophase.sim.signatures import Floats

#: an offset below a minute would let a few seconds count as a large miss
_LEAST_OFFSET_S = 60.0


@dataclass(frozen=True)
class Stretch:
    """How far to move both ends of an interval on the logarithm of the wait.

    Attributes
    ----------
    low, high : float
        Moves of the lower end (down) and of the upper end (up); never inwards.
    offset_s : float
        Added to waits before the logarithm: a tenth of a usual wait, so that zero can move too.
    """

    low: float = 0.0
    high: float = 0.0
    offset_s: float = _LEAST_OFFSET_S

    def apply(self, low_s: float, high_s: float) -> tuple[float, float]:
        """Return the widened interval.

        Examples
        --------
        >>> Stretch(high=np.log(2.0)).apply(0.0, 540.0)
        (0.0, 1140.0)
        """
        lower = (low_s + self.offset_s) * np.exp(-self.low) - self.offset_s
        upper = (high_s + self.offset_s) * np.exp(self.high) - self.offset_s
        return max(0.0, round(float(lower), 6)), max(0.0, round(float(upper), 6))

    @classmethod
    def learn(
        cls,
        low_s: Floats,
        high_s: Floats,
        truth_s: Floats,
        *,
        independent: int | None = None,
        outside: float = 0.1,
    ) -> Self:
        """Find moves that leave at most this share of the true starts beyond each end.

        This is split conformal prediction with quantiles (Romano et al. 2019), each end apart.

        Parameters
        ----------
        independent : int, optional
            How many of the forecasts are independent: those of one instant share their luck.
            Fewer call for more caution.
        """
        offset = max(_LEAST_OFFSET_S, 0.1 * float(np.median(truth_s)))
        low, high, truth = (np.log(values + offset) for values in (low_s, high_s, truth_s))
        place = min(1.0, (1.0 - outside) * (1.0 + 1.0 / (independent or len(truth_s))))
        return cls(
            max(0.0, float(np.quantile(low - truth, place))),
            max(0.0, float(np.quantile(truth - high, place))),
            offset,
        )
