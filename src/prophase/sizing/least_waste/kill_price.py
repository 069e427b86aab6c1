"""What a kill costs, and how that price moves until the chosen share of tasks is killed."""

from __future__ import annotations

import math

from prophase.sizing.sizer import Features

#: how far one kill moves the logarithm of the price
_STEP = 0.25
_CHEAPEST, _DEAREST = 1e-4, 1e4
#: without a risk: share of tasks beyond which kills become dearer
_MOST_KILLED = 0.1
_FADING = 0.995
#: instances whose kills are remembered until they end
_MOST_OPEN = 10_000


class KillPrice:
    """The price of a kill in GiB h: fixed, or steered towards a risk.

    Parameters
    ----------
    risk : float, optional
        Share of tasks that may be killed at their first request.
    share : float
        Without a risk: the price as a share of a usual request x run time. It rises from
        there only if more than a tenth of the tasks is killed.
    """

    def __init__(self, risk: float | None, share: float) -> None:
        self.risk = _MOST_KILLED if risk is None else risk
        self.cheapest = share if risk is None else _CHEAPEST
        self.share = share if risk is None else _first_price(risk)
        self.usual = math.nan
        self._open: set[tuple[str, object]] = set()
        self._retried: set[tuple[str, object]] = set()

    def per_kill(self, hours: float) -> float:
        """Return the price of a kill as GiB for a run of so many hours."""
        if not self.usual > 0:
            return 0.0
        return self.share * self.usual / max(hours, 1e-3)

    def killed(self, task: str, features: Features) -> None:
        """Take note of a kill; only the first of an instance counts."""
        key = (task, features.get("tag"))
        if key in self._open:
            return
        self._open.add(key)
        if len(self._open) > _MOST_OPEN:
            self._open.clear()
        self._raise()

    def retried(self, task: str, features: Features) -> None:
        """Take note that an instance asks again, for those who do not report kills."""
        if len(self._retried) > _MOST_OPEN:
            self._retried.clear()
        self._retried.add((task, features.get("tag")))

    def succeeded(self, task: str, features: Features, size: float) -> None:
        """Take note of an instance that ended, after kills or not."""
        known = self.usual == self.usual
        self.usual = _FADING * self.usual + (1 - _FADING) * size if known else size
        key = (task, features.get("tag"))
        if key in self._open:
            self._open.discard(key)
        elif key in self._retried:
            self._raise()
        else:
            self.share = max(self.share * math.exp(-_STEP * self.risk), self.cheapest)
        self._retried.discard(key)

    def _raise(self) -> None:
        self.share = min(self.share * math.exp(_STEP * (1.0 - self.risk)), _DEAREST)


def _first_price(risk: float) -> float:
    """Return where the price starts: small risks leave no room for kills that teach it."""
    return min(2e-4 / risk**2, 1e3)
