"""The few things that are asked of an API server, with its answers as plain JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

from prophase.errors import ExecutorError, ParameterError
from prophase.integrations.kubernetes.watch_stream import WatchedObjects
from prophase.json_types import JsonObject

_CONFLICT, _NOT_FOUND = 409, 404


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

    def create_job(self, manifest: JsonObject) -> None:
        """Create a Job, unless it is there."""
        self._create(self._batch.create_namespaced_job, manifest)

    def create_config_map(self, manifest: JsonObject) -> None:
        """Create a ConfigMap, unless it is there."""
        self._create(self._core.create_namespaced_config_map, manifest)

    def config_map(self, name: str) -> dict[str, str] | None:
        """Return what a ConfigMap holds; None if it is not there."""
        from kubernetes.client import ApiException

        try:
            return dict(self._core.read_namespaced_config_map(name, self.namespace).data or {})
        except ApiException as cause:
            if cause.status != _NOT_FOUND:
                raise
            return None

    def jobs(self, selector: str) -> list[JsonObject]:
        """List Jobs as they are now."""
        return _items(self._batch.list_namespaced_job, self.namespace, selector)

    def pods(self, selector: str) -> list[JsonObject]:
        """List pods as they are now."""
        return _items(self._core.list_namespaced_pod, self.namespace, selector)

    def watch_jobs(self, selector: str) -> WatchedObjects:
        """Keep a view of Jobs up to date."""
        return WatchedObjects(partial(self._batch.list_namespaced_job, self.namespace), selector)

    def watch_pods(self, selector: str) -> WatchedObjects:
        """Keep a view of pods up to date."""
        return WatchedObjects(partial(self._core.list_namespaced_pod, self.namespace), selector)

    def delete_job(self, name: str) -> None:
        """Delete a Job with its pod, if it is there."""
        self._delete(self._batch.delete_namespaced_job, name, propagation_policy="Background")

    def delete_pod(self, name: str) -> None:
        """Delete a pod, if it is there."""
        self._delete(self._core.delete_namespaced_pod, name)

    def _create(self, create: Any, manifest: JsonObject) -> None:
        """Create an object; that it is there already is what we wanted."""
        from kubernetes.client import ApiException

        try:
            create(self.namespace, manifest)
        except ApiException as cause:
            if cause.status != _CONFLICT:
                raise

    def _delete(self, delete: Any, name: str, **how: str) -> None:
        from kubernetes.client import ApiException

        try:
            delete(name, self.namespace, **how)
        except ApiException as cause:
            if cause.status != _NOT_FOUND:
                raise

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
        from kubernetes import client, config

        if self._given_client is not None:
            return self._given_client
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


def _items(ask: Any, namespace: str, selector: str) -> list[JsonObject]:
    with ask(namespace, label_selector=selector, _preload_content=False) as answer:
        return list(json.loads(answer.data)["items"])
