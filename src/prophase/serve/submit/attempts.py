"""Which attempt a pod is: the first asks for the first rung, a retry for the next."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from prophase.serve.submit.notes import ATTEMPT, PODS
from prophase.serve.submit.pods import mapping, owner_of

#: set by Kubernetes on the pods of indexed Jobs
_INDEX = "batch.kubernetes.io/job-completion-index"
_INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
#: owners that are remembered; the one not seen for longest is forgotten first
_MOST = 50_000


class Attempts:
    """Counts the pods of every owner.

    A pod that says its attempt itself is believed. Otherwise every pod beyond those a Job needs
    replaces one that ended badly. What was counted is forgotten with the process: a retry may
    then start at the first rung again.

    Examples
    --------
    >>> pod = {"metadata": {"ownerReferences": [{"uid": "j1", "controller": True}]}}
    >>> attempts = Attempts()
    >>> [attempts.of(pod, uid) for uid in ("a", "b", "b", "c")]
    [1, 2, 2, 3]
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str], list[str]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, pod: Mapping[str, Any], request: str, *, count: bool = True) -> int:
        """Return the attempt of a pod that a request brings; the same request counts once."""
        metadata = mapping(pod.get("metadata"))
        notes, marks = mapping(metadata.get("annotations")), mapping(metadata.get("labels"))
        for told, first in ((marks.get(ATTEMPT), 0), (notes.get(_INDEX_FAILURES), 1)):
            number = _number(told)
            if number is not None:
                return max(1, number + first)
        owner = owner_of(pod)
        if owner is None:
            return 1
        index = str(notes.get(_INDEX, ""))
        needed = 1 if index else _number(notes.get(PODS)) or 1
        with self._lock:
            key = (str(owner.get("uid")), index)
            seen = self._seen.get(key, [])
            if request not in seen:
                seen = [*seen, request][-(8 * needed + 8) :]
                if count:
                    self._seen[key] = seen
                    self._seen.move_to_end(key)
                    if len(self._seen) > _MOST:
                        self._seen.popitem(last=False)
            place = seen.index(request) + 1
        return 1 + max(0, -(-(place - needed) // needed))


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 6 else None
