"""What a namespace's LimitRange asks of containers: a smaller request would get a pod refused.

All LimitRanges are listed every few seconds by a thread of its own, so that no submission waits.
While they are not known, a pod of a namespace with a LimitRange may be refused as before.
"""

from __future__ import annotations

import json
import logging
import threading
import urllib.error
from collections.abc import Iterable
from dataclasses import dataclass, field

from prophase import units
from prophase.errors import ParameterError
from prophase.json_types import JsonMapping
from prophase.serve.submit.kubernetes_account import ClusterAccount
from prophase.serve.submit.pods import mapping

log = logging.getLogger("prophase.serve")
_LIST_EVERY_S = 10.0
_BYTES = {"memory": 2.0**30, "cpu": 1.0}


@dataclass(frozen=True)
class RequestBounds:
    """The smallest request that a namespace allows.

    Examples
    --------
    >>> item = {
    ...     "type": "Container",
    ...     "min": {"memory": "2Gi"},
    ...     "maxLimitRequestRatio": {"memory": "4"},
    ... }
    >>> bounds = RequestBounds.of([{"spec": {"limits": [item]}}])
    >>> bounds.least("memory", 16.0), bounds.least("memory", None), bounds.least("cpu", 8.0)
    (4.0, 2.0, 0.0)
    """

    #: resource -> GiB or cores
    smallest: dict[str, float] = field(default_factory=dict)
    #: resource -> how many times the request the limit may be
    ratio: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, ranges: Iterable[JsonMapping]) -> RequestBounds:
        """Return the bounds of a namespace's LimitRanges together."""
        smallest: dict[str, float] = {}
        ratio: dict[str, float] = {}
        for one in ranges:
            for item in mapping(one.get("spec")).get("limits") or ():
                if item.get("type") not in ("Container", "Pod"):
                    continue
                for resource, unit in _BYTES.items():
                    least = _amount(mapping(item.get("min")).get(resource))
                    if least is not None:
                        smallest[resource] = max(smallest.get(resource, 0.0), least / unit)
                    most = _amount(mapping(item.get("maxLimitRequestRatio")).get(resource))
                    if most:
                        ratio[resource] = min(ratio.get(resource, most), most)
        return cls(smallest, ratio)

    def least(self, resource: str, limit: float | None) -> float:
        """Return the smallest request of a container with a limit."""
        held = self.smallest.get(resource, 0.0)
        if limit is not None and resource in self.ratio:
            held = max(held, limit / self.ratio[resource])
        return held


NO_BOUNDS = RequestBounds()


class LimitRanges:
    """The LimitRanges of a cluster, as they were a few seconds ago."""

    def __init__(self, account: ClusterAccount, *, every_s: float = _LIST_EVERY_S) -> None:
        self._account, self._every_s = account, every_s
        self._held: dict[str, RequestBounds] = {}
        self._over = threading.Event()
        self._failed = False
        self._thread = threading.Thread(target=self._follow, name="limit-ranges", daemon=True)
        self._thread.start()

    def of(self, namespace: str) -> RequestBounds:
        """Return the bounds of a namespace."""
        return self._held.get(namespace, NO_BOUNDS)

    def close(self) -> None:
        """Stop looking."""
        self._over.set()

    def _follow(self) -> None:
        while not self._over.is_set():
            try:
                found: dict[str, list[JsonMapping]] = {}
                for one in json.loads(self._account.ask("/api/v1/limitranges"))["items"]:
                    found.setdefault(str(one["metadata"]["namespace"]), []).append(one)
                self._held = {name: RequestBounds.of(held) for name, held in found.items()}
                self._failed = False
            except (OSError, urllib.error.URLError, ValueError, KeyError) as cause:
                if not self._failed:
                    log.warning("LimitRanges cannot be listed: %s", cause)
                self._failed = True
            self._over.wait(self._every_s)


def _amount(value: object) -> float | None:
    if value is None:
        return None
    try:
        return units.parse_quantity(str(value))
    except ParameterError:
        return None
