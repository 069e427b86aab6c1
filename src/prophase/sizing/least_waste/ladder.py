"""The ladder of requests with the least expected waste under a predictive sample.

A request that holds wastes what lies between it and the peak; one that does not is lost as a
whole, and the next rung is tried. Dynamic programming from the highest value downwards gives
the best ladder of all, not only the best first rung.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: shares of the sample at which a large one is thinned out; dense where requests are made
_LEVELS = np.concatenate(
    [np.linspace(0.05, 0.8, 16), 1.0 - 0.2 * np.exp(-np.linspace(0.15, 4.5, 22))]
)
#: smallest amount that is ever asked for: 1 MiB
LEAST_GIB = 2.0**-10


class Outlook:
    """What the next peak may be: sorted values and the shares at or below each.

    Parameters
    ----------
    values, weights : arrays
        A weighted sample of the peak.
    most : float, optional
        No peak lies above it, such as the request users got by with.
    above : float
        The peak is known to be above this, because a request of it was killed.
    """

    __slots__ = ("sums", "upto", "values")

    def __init__(
        self, values: Floats, weights: Floats, *, most: float | None = None, above: float = 0.0
    ) -> None:
        if most is not None:
            values = np.minimum(values, most)
        if above > 0.0:
            still = values > above
            values, weights = values[still], weights[still]
        order = values.argsort()
        values, weights = np.maximum(values[order], LEAST_GIB), weights[order]
        total = weights.sum()
        if len(values) == 0 or total <= 0:
            self.values = self.upto = self.sums = np.empty(0)
            return
        upto = weights.cumsum() / total
        sums = (weights * values).cumsum() / total
        if len(values) > 48:
            kept = np.zeros(len(values), np.bool_)
            kept[np.minimum(upto.searchsorted(_LEVELS), len(values) - 1)] = kept[-1] = True
            values, upto, sums = values[kept], upto[kept], sums[kept]
        self.values, self.upto, self.sums = values, upto, sums

    def __len__(self) -> int:
        return len(self.values)

    def exceed(self, request: float) -> float:
        """Return the probability that the peak is above a request."""
        place = int(self.values.searchsorted(request, side="right"))
        return max(0.0, 1.0 - float(self.upto[place - 1])) if place else 1.0

    def quantile(self, share: float) -> float:
        """Return the value that this share lies at or below."""
        place = min(int(self.upto.searchsorted(share - 1e-12)), len(self.values) - 1)
        return float(self.values[place])

    def one_rung(self, kill_cost: float = 0.0) -> tuple[float, float]:
        """Return the best request and its expected waste if the highest value follows a kill."""
        values, upto = self.values, self.upto
        kept = 1.0 - upto
        # held: request x share - sum; killed: request, then the highest value less the peak
        cost = values + (kill_cost + values[-1]) * kept - self.sums[-1]
        best = int(cost.argmin())
        return float(values[best]), float(cost[best])

    def ladder(self, kill_cost: float = 0.0) -> tuple[list[float], float]:
        """Return the best ladder and its expected waste.

        Parameters
        ----------
        kill_cost : float
            What a kill costs beside the lost request.
        """
        values, upto, sums = self.values, self.upto, self.sums
        count = len(values)
        held = values * upto - sums
        killed = (values + kill_cost) * (1.0 - upto)
        flat = held + killed
        later = np.zeros(count + 1)
        rung = np.zeros(count, dtype=np.intp)
        for start in range(count - 1, 0, -1):
            cost = flat[start:] - upto[start - 1] * values[start:] + later[start + 1 :]
            best = int(cost.argmin())
            later[start] = cost[best] + sums[start - 1]
            rung[start] = start + best
        cost = flat + later[1:]
        rung[0] = best = int(cost.argmin())
        rungs, place = [], 0
        while place < count:
            rungs.append(float(values[rung[place]]))
            place = int(rung[place]) + 1
        return rungs, float(cost[best])
