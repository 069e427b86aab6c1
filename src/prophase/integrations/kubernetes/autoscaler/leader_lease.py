"""Who of several controllers acts: the holder of a Lease, as Kubernetes' own controllers do it.

A lease counts as expired when we have not seen it renewed for its whole duration by our own
clock, so clocks that disagree do no harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from prophase.json_types import JsonObject

_CONFLICT, _NOT_FOUND = 409, 404


class LeaderLease:
    """A Lease that one of several controllers holds.

    Parameters
    ----------
    api : CoordinationV1Api
        Of the official client.
    holder : str
        Who we are; differs between controllers.
    clock : callable, optional
        Seconds that only ever grow.
    """

    def __init__(
        self,
        api: Any,
        namespace: str,
        name: str,
        holder: str,
        *,
        duration_s: int = 15,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._namespace, self._name = api, namespace, name
        self.holder, self.duration_s, self._clock = holder, duration_s, clock
        self._seen: tuple[str, str] = ("", "")
        self._seen_at = clock()
        self._renewed_at = -float("inf")

    @property
    def is_ours(self) -> bool:
        """Return whether we may act; a little shorter than others wait for us."""
        return self._clock() - self._renewed_at < 0.8 * self.duration_s

    def renew(self) -> bool:
        """Take or keep the lease; return whether it is ours."""
        from kubernetes.client import ApiException

        try:
            self._renew()
        except ApiException as error:
            if error.status != _CONFLICT:
                raise
        return self.is_ours

    def release(self) -> None:
        """Let others have it at once."""
        from kubernetes.client import ApiException

        if not self.is_ours:
            return
        try:
            found = self._api.read_namespaced_lease(self._name, self._namespace)
            if found.spec.holder_identity == self.holder:
                found.spec.holder_identity = None
                self._api.replace_namespaced_lease(self._name, self._namespace, found)
        except ApiException:
            pass
        self._renewed_at = -float("inf")

    def _renew(self) -> None:
        from kubernetes.client import ApiException

        asked_at = self._clock()
        try:
            found = self._api.read_namespaced_lease(self._name, self._namespace)
        except ApiException as error:
            if error.status != _NOT_FOUND:
                raise
            self._api.create_namespaced_lease(self._namespace, self._document())
            self._renewed_at = asked_at
            return
        state = (found.spec.holder_identity or "", str(found.spec.renew_time))
        if state != self._seen:
            self._seen, self._seen_at = state, asked_at
        lasts_s = found.spec.lease_duration_seconds or self.duration_s
        free = state[0] in ("", self.holder) or asked_at - self._seen_at > lasts_s
        if not free:
            self._renewed_at = -float("inf")
            return
        changes = found.spec.lease_transitions or 0
        document = self._document()
        document["metadata"]["resourceVersion"] = found.metadata.resource_version
        document["spec"]["leaseTransitions"] = changes + (state[0] != self.holder)
        self._api.replace_namespaced_lease(self._name, self._namespace, document)
        self._renewed_at = asked_at

    def _document(self) -> JsonObject:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": {
                "holderIdentity": self.holder,
                "leaseDurationSeconds": self.duration_s,
                "acquireTime": now,
                "renewTime": now,
            },
        }
