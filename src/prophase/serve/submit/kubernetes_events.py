"""Decisions as events of the cluster, so that ``kubectl describe`` shows them.

They are sent by a thread of their own after the answer; if the API server does not take them,
they are dropped and counted.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import urllib.error
from datetime import UTC, datetime
from pathlib import Path

from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.submission.kubernetes_manifest import owner_of
from prophase.serve.submit.decision import SubmitDecision
from prophase.serve.submit.kubernetes_account import ACCOUNT, ClusterAccount
from prophase.serve.submit.pods import mapping

log = logging.getLogger("prophase.serve")
_WAITING, _TIMEOUT_S, _MOST_MESSAGE = 1000, 5.0, 1000
_REASONS = {
    "set": "ProphaseSet",
    "retried": "ProphaseSet",
    "annotated": "ProphaseAnnotated",
    "dry-run": "ProphaseWouldChange",
}


class Events:
    """Sends events to an API server.

    Parameters
    ----------
    address : str
        Of the API server.
    account : path
        Folder with ``token`` and ``ca.crt``, as every pod has it.
    """

    def __init__(self, address: str, account: Path = ACCOUNT) -> None:
        self._account = ClusterAccount(address, account)
        self.dropped = 0
        self._waiting: queue.Queue[JsonObject | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._send_all, name="events", daemon=True)
        self._thread.start()

    @classmethod
    def of_cluster(cls) -> Events | None:
        """Return those of the cluster we run in; None elsewhere."""
        found = ClusterAccount.of_cluster()
        return None if found is None else cls(found.address, found.folder)

    def tell(self, document: JsonMapping, namespace: str, decision: SubmitDecision) -> None:
        """Take an event; never waits."""
        made = event(document, namespace, decision)
        if made is None:
            return
        try:
            self._waiting.put_nowait(made)
        except queue.Full:
            self.dropped += 1

    def close(self) -> None:
        """Send what waits and stop."""
        try:
            self._waiting.put(None, timeout=_TIMEOUT_S)
        except queue.Full:
            return
        self._thread.join(timeout=2 * _TIMEOUT_S)

    def _send_all(self) -> None:
        while (made := self._waiting.get()) is not None:
            try:
                self._send(made)
            except (OSError, urllib.error.URLError, ValueError) as cause:
                self.dropped += 1
                if self.dropped in (1, 10, 100) or self.dropped % 1000 == 0:
                    log.warning("events not taken so far: %d (%s)", self.dropped, cause)

    def _send(self, made: JsonObject) -> None:
        self._account.ask(f"/api/v1/namespaces/{made['metadata']['namespace']}/events", made)


def event(document: JsonMapping, namespace: str, decision: SubmitDecision) -> JsonObject | None:
    """Return the event of a decision; None if there is nothing to tell, or nobody to tell it of."""
    if decision.outcome not in _REASONS:
        return None
    metadata, owner = mapping(document.get("metadata")), owner_of(document)
    if owner is not None:
        about = {name: owner.get(name) for name in ("apiVersion", "kind", "name", "uid")}
    elif metadata.get("name"):
        # the object has no uid yet: it is being created
        about = {name: document.get(name) for name in ("apiVersion", "kind")}
        about["name"] = metadata["name"]
    else:
        return None
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": "prophase-", "namespace": namespace},
        "involvedObject": {
            **{name: str(value) for name, value in about.items() if value},
            "namespace": namespace,
        },
        "type": "Normal",
        "reason": _REASONS[decision.outcome],
        "message": decision.reason[:_MOST_MESSAGE],
        "source": {"component": "prophase"},
        "reportingComponent": "prophase.dev/webhook",
        "reportingInstance": os.environ.get("HOSTNAME", "prophase")[:63],
        "action": "Admission",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
