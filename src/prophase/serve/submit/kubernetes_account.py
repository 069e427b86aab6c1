"""Speaking to the API server as the pod we run in: its address, token and authority."""

from __future__ import annotations

import json
import os
import ssl
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from prophase.json_types import JsonObject

#: where Kubernetes puts what a pod needs to speak to the API server
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class ClusterAccount:
    """Who we are to an API server.

    Attributes
    ----------
    address : str
        Of the API server.
    folder : path
        With ``token`` and ``ca.crt``, as every pod has it.
    """

    address: str
    folder: Path = ACCOUNT

    @classmethod
    def of_cluster(cls) -> ClusterAccount | None:
        """Return that of the cluster we run in; None elsewhere."""
        host = os.environ.get("KUBERNETES_SERVICE_HOST")
        folder = Path(os.environ.get("PROPHASE_KUBE_ACCOUNT", ACCOUNT))
        if not host or not (folder / "token").is_file():
            return None
        name = f"[{host}]" if ":" in host else host
        port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        return cls(f"https://{name}:{port}", folder)

    def ask(self, path: str, body: JsonObject | None = None) -> bytes:
        """Return what the API server answers; with a body it is posted."""
        # the token changes every hour
        token = (self.folder / "token").read_text(encoding="utf-8").strip()
        request = urllib.request.Request(
            self.address.rstrip("/") + path,
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
        )
        authority = self.folder / "ca.crt"
        trusted = ssl.create_default_context(cafile=str(authority) if authority.is_file() else None)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=trusted) as reply:
            answer: bytes = reply.read()
            return answer
