"""The queues of Kueue in the cluster that this machine talks to, as its API server has them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from prophase.errors import FetchError, storage_error
from prophase.integrations.kubernetes.api_server import api_server_message, cluster_client
from prophase.json_types import JsonObject
from prophase.sim.kueue.snapshot import KINDS, KueueSnapshot

_GROUP = "kueue.x-k8s.io"
_NOT_FOUND = 404
#: objects per answer
_PAGE = 500


def look(folder: Path, api_client: Any = None) -> KueueSnapshot:
    """Write Kueue's objects of all namespaces into a folder, and read them."""
    from kubernetes.client import ApiException, ApisApi, CustomObjectsApi

    client: Any = cluster_client() if api_client is None else api_client
    objects = CustomObjectsApi(client)
    with api_server_message():
        groups = {one.name: one for one in ApisApi(client).get_api_versions().groups}
        if _GROUP not in groups:
            raise FetchError(
                f"the API server knows no {_GROUP}: Kueue is not installed in this cluster."
            )
        version = groups[_GROUP].preferred_version.version
        held = {}
        now_s = time.time()
        for kind in KINDS:
            try:
                held[kind] = _listed(objects, version, kind)
            except ApiException as error:
                # cohorts are newer than the others
                if error.status != _NOT_FOUND:
                    raise
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind, items in held.items():
            (folder / f"{kind}.json").write_text(json.dumps({"items": items}), encoding="utf-8")
        (folder / "now.txt").write_text(f"{now_s:.0f}\n", encoding="utf-8")
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    return KueueSnapshot.read(folder)


def _listed(objects: Any, version: str, kind: str) -> list[JsonObject]:
    """Return all objects of a kind, page by page."""
    found: list[JsonObject] = []
    more = ""
    while True:
        answer = objects.list_cluster_custom_object(
            _GROUP, version, kind, limit=_PAGE, _continue=more
        )
        found += answer["items"]
        more = answer["metadata"].get("continue") or ""
        if not more:
            return found
