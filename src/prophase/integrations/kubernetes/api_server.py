"""The few things that are asked of an API server, with its answers as plain JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, Literal

from prophase.errors import ExecutorError, ParameterError
from prophase.integrations.kubernetes.watch_stream import WatchedObjects
from prophase.json_types import JsonObject

_CONFLICT, _NOT_FOUND = 409, 404
Kind = Literal["job", "pod", "config_map"]


class ApiServer:
    """One namespace of a cluster.

    Parameters
    ----------
    api_client : optional
        A client of the official library; by default that of the pod we are in, or of the
        kubeconfig.
    """

    def __init__(self, namespace: str, api_client: object = None) -> None:
        self.namespace = namespace
        self._given_client = api_client

    def create(self, kind: Kind, manifest: JsonObject) -> None:
        """Create an object; that it is there already is what we wanted."""
        with _tolerating(_CONFLICT):
            self._method("create", kind)(self.namespace, manifest)

    def config_map(self, name: str) -> dict[str, str] | None:
        """Return what a ConfigMap holds; None if it is not there."""
        found = None
        with _tolerating(_NOT_FOUND):
            found = self._core.read_namespaced_config_map(name, self.namespace)
        return None if found is None else dict(found.data or {})

    def listed(self, kind: Kind, selector: str) -> list[JsonObject]:
        """Return the objects as they are now."""
        ask = self._method("list", kind)
        with ask(self.namespace, label_selector=selector, _preload_content=False) as answer:
            return list(json.loads(answer.data)["items"])

    def watched(self, kind: Kind, selector: str) -> WatchedObjects:
        """Return a view of the objects that is kept up to date."""
        return WatchedObjects(partial(self._method("list", kind), self.namespace), selector)

    def delete(self, kind: Kind, name: str) -> None:
        """Delete an object, and with a Job its pod, if it is there."""
        how = {"propagation_policy": "Background"} if kind == "job" else {}
        with _tolerating(_NOT_FOUND):
            self._method("delete", kind)(name, self.namespace, **how)

    def _method(self, verb: str, kind: Kind) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(
            self._batch if kind == "job" else self._core, f"{verb}_namespaced_{kind}"
        )
        return found

    @cached_property
    def _batch(self) -> Any:
        from kubernetes.client import BatchV1Api

        return BatchV1Api(self._client)

    @cached_property
    def _core(self) -> Any:
        from kubernetes.client import CoreV1Api

        return CoreV1Api(self._client)

    @cached_property
    def _client(self) -> object:
        return cluster_client() if self._given_client is None else self._given_client


def cluster_client() -> object:
    """Return a client of the official library: of the pod we are in, or of the kubeconfig."""
    from kubernetes import client, config

    try:
        config.load_incluster_config()
    except config.ConfigException:
        try:
            config.load_kube_config()
        except (config.ConfigException, OSError) as cause:
            raise ParameterError(
                f"No cluster is configured ({cause}). Run this in a pod, or set KUBECONFIG."
            ) from cause
    return client.ApiClient()


@contextmanager
def api_server_message() -> Iterator[None]:
    """Turn what the API server refuses into our error, in its words."""
    from kubernetes.client import ApiException

    try:
        yield
    except ApiException as cause:
        try:
            said = json.loads(cause.body)["message"]
        except (TypeError, ValueError, KeyError):
            said = cause.reason
        raise ExecutorError(f"The API server says {cause.status}: {said}") from cause


@contextmanager
def _tolerating(status: int) -> Iterator[None]:
    """Take an answer of this status as none."""
    from kubernetes.client import ApiException

    try:
        yield
    except ApiException as cause:
        if cause.status != status:
            raise
