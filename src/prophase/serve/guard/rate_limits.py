"""How often somebody may ask: buckets that fill steadily and are emptied by requests."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from prophase.errors import ProphaseError
from prophase.trace.service_database import ServiceDatabase

if TYPE_CHECKING:
    from sqlalchemy import Connection

log = logging.getLogger("prophase.serve")
#: how often replicas tell each other what callers spent
_EXCHANGE_EVERY_S = 0.5

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
        #: what callers spent since it was last exchanged; None if nobody else has to know
        self._spent: dict[str, float] | None = None

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
        if self._spent is not None:
            self._spent[caller] = self._spent.get(caller, 0.0) + cost
        self._held.move_to_end(caller)
        if len(self._held) > _MOST:
            self._held.popitem(last=False)
        return 0.0

    def share(self) -> None:
        """Note what is spent from now on, for others to know."""
        self._spent = {}

    def spent(self) -> dict[str, float]:
        """Return what callers spent since the last time."""
        found, self._spent = self._spent or {}, {}
        return found

    def set_held(self, caller: str, held: float) -> None:
        """Take over how much a bucket holds for all replicas together."""
        self._held[caller] = (min(held, self.burst), self.clock())


class BucketExchange:
    """Lets replicas know what their callers spent elsewhere, so that a limit holds for all of them.

    No request waits for it: a caller of several replicas may spend more for a moment.

    Parameters
    ----------
    base : ServiceDatabase
        What the replicas share.
    buckets : mapping
        Name of a limit -> its buckets here.
    """

    def __init__(self, base: ServiceDatabase, buckets: Mapping[str, Buckets]) -> None:
        self._base, self._buckets = base, buckets
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="buckets", daemon=True)
        for one in buckets.values():
            one.share()

    def start(self) -> None:
        """Begin to exchange."""
        self._thread.start()

    def stop(self) -> None:
        """End, after what is being exchanged."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._base.close()

    def exchange(self) -> None:
        """Tell what was spent here, and learn what is left."""
        for name, buckets in self._buckets.items():
            spent = buckets.spent()
            if spent and buckets.per_s > 0:
                left = self._base.write(partial(_left, self._base, name, buckets, spent))
                for caller, held in left.items():
                    buckets.set_held(caller, held)

    def _run(self) -> None:
        while not self._stop.wait(_EXCHANGE_EVERY_S):
            try:
                self.exchange()
            except ProphaseError as error:
                log.warning("each replica limits its callers alone: %s", error)


def _left(
    base: ServiceDatabase,
    name: str,
    buckets: Buckets,
    spent: Mapping[str, float],
    connection: Connection,
) -> dict[str, float]:
    """Take what was spent from the buckets that all share; return what they hold then."""
    from sqlalchemy import select, text, update

    from prophase.trace.service_tables import BUCKETS, put_if_new

    clock = "SELECT extract(epoch FROM clock_timestamp())" if base.is_postgres else None
    # one clock for all: those of the replicas differ
    now = float(connection.execute(text(clock)).scalar_one()) if clock else time.time()
    left = {}
    # in one order, so that two replicas never wait for each other
    for caller in sorted(spent):
        key = caller[:200]
        mine = (BUCKETS.c.name == name, BUCKETS.c.caller == key)
        row = {"name": name, "caller": key, "held": buckets.burst, "since_s": now}
        put_if_new(connection, BUCKETS, row)
        asked = select(BUCKETS.c.held, BUCKETS.c.since_s).where(*mine).with_for_update()
        held, since = connection.execute(asked).one()
        held = min(buckets.burst, held + max(now - since, 0.0) * buckets.per_s) - spent[caller]
        # what was spent at the same moment elsewhere is not held against a caller for long
        held = max(held, -buckets.burst)
        connection.execute(update(BUCKETS).where(*mine).values(held=held, since_s=now))
        left[caller] = held
    return left
