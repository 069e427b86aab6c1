"""How often somebody may ask: buckets that fill steadily and are emptied by requests."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

#: callers that are remembered; the one who has not asked for longest is forgotten first
_MOST = 10_000


class Buckets:
    """One bucket per caller.

    Parameters
    ----------
    per_s : float
        Requests that a bucket gains per second; 0 for no limit.
    burst : float
        Requests that a full bucket holds.

    Examples
    --------
    >>> now = [0.0]
    >>> buckets = Buckets(per_s=1, burst=2, clock=lambda: now[0])
    >>> [buckets.wait_s("ann") for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> now[0] = 1.0
    >>> buckets.wait_s("ann")
    0.0
    """

    def __init__(
        self, *, per_s: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.per_s, self.burst, self.clock = per_s, max(burst, 1.0), clock
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, caller: str, cost: float = 1.0) -> float:
        """Take one request from a bucket; returns 0, or how long to wait if it is empty.

        A request that costs more than a full bucket holds needs a full one.
        """
        if self.per_s <= 0:
            return 0.0
        now = self.clock()
        held, since = self._held.get(caller, (self.burst, now))
        held = min(self.burst, held + (now - since) * self.per_s)
        cost = min(cost, self.burst)
        if held < cost:
            return (cost - held) / self.per_s
        self._held[caller] = (held - cost, now)
        self._held.move_to_end(caller)
        if len(self._held) > _MOST:
            self._held.popitem(last=False)
        return 0.0
