"""A small API server that answers as Kubernetes does, with a kubelet that really runs pods.

Objects are checked against the types of the official client, which are made from the official
schema: an unknown field, a wrong type or a missing value is refused with 422. Pods run as processes
of this machine under the memory limit of their container.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

from kubernetes import client

from prophase.runs.usage.measurement_order import MeasurementOrder

KINDS = {"jobs": "V1Job", "pods": "V1Pod", "configmaps": "V1ConfigMap"}
_PATH = re.compile(
    r"/(?:api/v1|apis/batch/v1)/namespaces/(?P<namespace>[^/]+)/(?P<kind>[a-z]+)(?:/(?P<name>.+))?"
)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_QUANTITY = re.compile(r"\d+(\.\d+)?(m|Ki|Mi|Gi|Ti|k|M|G|T)?")


class Refused(Exception):
    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


def check_schema(value: Any, kind: str, path: str = "") -> None:
    """Refuse what the official types do not allow."""
    listed = re.fullmatch(r"[Ll]ist\[(.+)\]", kind)
    mapped = re.fullmatch(r"[Dd]ict[\[(](\w+), (.+)[\])]", kind)
    if listed:
        if not isinstance(value, list):
            raise Refused(422, "Invalid", f"{path}: must be a list")
        for index, item in enumerate(value):
            check_schema(item, listed[1], f"{path}[{index}]")
    elif mapped:
        if not isinstance(value, dict):
            raise Refused(422, "Invalid", f"{path}: must be a map")
        for key, item in value.items():
            check_schema(item, mapped[2], f"{path}[{key}]")
            if path.endswith("labels") and (len(item) > 63 or not _LABEL.fullmatch(item)):
                raise Refused(422, "Invalid", f"{path}[{key}]: {item!r} is no valid label value")
            if re.search(r"(requests|limits)$", path) and not _QUANTITY.fullmatch(item):
                raise Refused(422, "Invalid", f"{path}[{key}]: {item!r} is no quantity")
    elif kind in ("str", "int", "bool", "float"):
        right = {"str": str, "int": int, "bool": bool, "float": (int, float)}[kind]
        if not isinstance(value, right) or (kind == "int" and isinstance(value, bool)):
            raise Refused(422, "Invalid", f"{path}: {value!r} is no {kind}")
    elif hasattr(client, kind):
        model = getattr(client, kind)
        names = {json_name: name for name, json_name in model.attribute_map.items()}
        for key, item in value.items():
            if key not in names:
                raise Refused(
                    400, "BadRequest", f'strict decoding error: unknown field "{path}.{key}"'
                )
            if item is not None:
                check_schema(item, model.openapi_types[names[key]], f"{path}.{key}")
        try:
            model(**{names[key]: item for key, item in value.items()})
        except ValueError as missing:
            raise Refused(422, "Invalid", f"{path}: {missing}") from missing


class KubeApi:
    """Objects, and what happens to them."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in KINDS}
        self.changed = threading.Condition()
        self.version = 0
        self.log: list[tuple[str, str, int]] = []
        #: answers to give in place of the right one: (method, kind) -> statuses
        self.fail: dict[tuple[str, str], list[int]] = {}
        self.events: list[tuple[int, str, str, dict[str, Any]]] = []
        #: changes up to this version are forgotten, as etcd's compaction does
        self.forgotten = 0
        self.run_pods = True
        self.stopped = False
        #: grows when all streams are broken
        self.streams = 0
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def create(self, kind: str, given: dict[str, Any]) -> dict[str, Any]:
        check_schema(given, KINDS[kind])
        name = given.get("metadata", {}).get("name", "")
        if not _NAME.fullmatch(name) or len(name) > 63:
            raise Refused(422, "Invalid", f"metadata.name: {name!r} is no valid name")
        with self.changed:
            if name in self.objects[kind]:
                raise Refused(409, "AlreadyExists", f'{kind} "{name}" already exists')
            made = json.loads(json.dumps(given))
            if kind == "jobs":
                made["status"] = {}
            made["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": _now()}
            self._store(kind, made, "ADDED")
        if kind == "jobs":
            threading.Thread(target=self._start_pod, args=(made,), daemon=True).start()
        return made

    def get(self, kind: str, name: str) -> dict[str, Any]:
        if name not in self.objects[kind]:
            raise Refused(404, "NotFound", f'{kind} "{name}" not found')
        return self.objects[kind][name]

    def find(self, kind: str, selector: str) -> list[dict[str, Any]]:
        wanted = dict(part.split("=", 1) for part in selector.split(",") if part)
        return [
            found
            for found in self.objects[kind].values()
            if wanted.items() <= found["metadata"].get("labels", {}).items()
        ]

    def delete(self, kind: str, name: str, *, with_pods: bool) -> dict[str, Any]:
        with self.changed:
            gone = self.get(kind, name)
            del self.objects[kind][name]
            self.version += 1
            gone["metadata"]["resourceVersion"] = str(self.version)
            self._note(kind, "DELETED", gone)
            if kind == "pods" and name in self.processes:
                self.processes[name].terminate()
            if kind == "jobs" and with_pods:
                for pod in self.find("pods", f"job-name={name}"):
                    self.delete("pods", pod["metadata"]["name"], with_pods=False)
        return gone

    def set_status(self, kind: str, value: dict[str, Any], status: dict[str, Any]) -> None:
        """Do what a controller does that has seen something."""
        value["status"] = status
        self._store(kind, value, "MODIFIED")

    def forget_changes(self) -> None:
        """Compact: who wants to go on from before now must list again."""
        with self.changed:
            self.forgotten = self.version
            self.events.clear()
            self.changed.notify_all()

    def break_streams(self) -> None:
        """Let every stream end as if its time were over."""
        with self.changed:
            self.streams += 1
            self.changed.notify_all()

    def stop(self) -> None:
        """End all streams and pods."""
        with self.changed:
            self.stopped = True
            for process in self.processes.values():
                process.terminate()
            self.changed.notify_all()

    def _store(self, kind: str, value: dict[str, Any], event: str) -> None:
        with self.changed:
            self.version += 1
            value["metadata"]["resourceVersion"] = str(self.version)
            self.objects[kind][value["metadata"]["name"]] = value
            self._note(kind, event, value)

    def _note(self, kind: str, event: str, value: dict[str, Any]) -> None:
        self.events.append((self.version, kind, event, json.loads(json.dumps(value))))
        self.changed.notify_all()

    def _start_pod(self, job: dict[str, Any]) -> None:
        """What the Job controller, the scheduler and the kubelet do together."""
        name = job["metadata"]["name"]
        template = job["spec"]["template"]
        labels = {**template["metadata"]["labels"], "job-name": name}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{uuid.uuid4().hex[:5]}",
                "labels": labels,
                "uid": str(uuid.uuid4()),
                "creationTimestamp": _now(),
            },
            "spec": template["spec"],
            "status": {"phase": "Pending"},
        }
        self._store("pods", pod, "ADDED")
        if self.run_pods:
            container = template["spec"]["containers"][0]
            pod["status"] = {"phase": "Running"}
            self._store("pods", pod, "MODIFIED")
            self.finish(job, pod, *self._run(pod["metadata"]["name"], container))

    def finish(
        self, job: dict[str, Any], pod: dict[str, Any], exit_code: int, reason: str, said: str
    ) -> None:
        """Let a pod end."""
        ended = {
            "exitCode": exit_code,
            "reason": reason,
            "message": said,
            "startedAt": pod["metadata"]["creationTimestamp"],
            "finishedAt": _now(),
        }
        container = job["spec"]["template"]["spec"]["containers"][0]
        status = {"name": container["name"], "image": container["image"], "imageID": "",
                  "ready": False, "restartCount": 0, "state": {"terminated": ended}}  # fmt: skip
        with self.changed:
            good = exit_code == 0
            if pod["metadata"]["name"] in self.objects["pods"]:
                phase = "Succeeded" if good else "Failed"
                pod["status"] = {"phase": phase, "containerStatuses": [status]}
                self._store("pods", pod, "MODIFIED")
            if job["metadata"]["name"] in self.objects["jobs"]:
                kind = "Complete" if good else "Failed"
                job["status"] = {
                    ("succeeded" if good else "failed"): 1,
                    "conditions": [{"type": kind, "status": "True"}],
                }
                self._store("jobs", job, "MODIFIED")

    def _run(self, pod: str, container: dict[str, Any]) -> tuple[int, str, str]:
        """Run a container's command as a process; return exit code, reason and last words."""
        order = _order(container)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            order |= {
                part: str(folder / part) for part in ("samples", "result", "stdout", "stderr")
            }
            (folder / "order").write_text(json.dumps(asdict(MeasurementOrder(**order))))
            module = [
                sys.executable,
                "-m",
                "prophase.runs.usage.measured_command",
                str(folder / "order"),
            ]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            with self.changed:
                if self.stopped:
                    return 137, "Error", ""
                self.processes[pod] = subprocess.Popen(module, **quiet)
            self.processes[pod].wait()
            del self.processes[pod]
            if not (folder / "result").exists():
                return 137, "Error", ""
            result = json.loads((folder / "result").read_text())
            said = (folder / "stderr").read_text() if (folder / "stderr").exists() else ""
        if result["cause"] == "host_memory":
            return 137, "OOMKilled", ""
        return result["exit_code"], "Completed" if result["exit_code"] == 0 else "Error", said


def _order(container: dict[str, Any]) -> dict[str, Any]:
    mib = int(container["resources"]["limits"]["memory"].removesuffix("Mi"))
    command = [sys.executable if c == "python3" else c for c in container["command"]]
    env = {one["name"]: one["value"] for one in container["env"]}
    return {"command": command, "memory_gib": mib / 1024, "env": env, "strict": True}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: KubeApi

    def _answer(self, method: str) -> None:
        asked = urlparse(self.path)
        query = {key: values[0] for key, values in parse_qs(asked.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        kind = ""
        try:
            match = _PATH.fullmatch(asked.path)
            if match is None or match["kind"] not in KINDS:
                raise Refused(404, "NotFound", f"the server has no {asked.path}")
            kind = match["kind"]
            planned = self.api.fail.get((method, kind))
            if planned:
                status = planned.pop(0)
                raise Refused(status, "InternalError", "etcdserver: request timed out")
            if method == "GET" and query.get("watch") in ("true", "True"):
                self._watch(kind, query)
                return
            answer = self._do(method, kind, match["name"], query, body)
            self._send(201 if method == "POST" else 200, answer)
            self.api.log.append((method, kind, 200))
        except Refused as refused:
            self.api.log.append((method, kind, refused.status))
            self._send(
                refused.status,
                {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "reason": refused.reason,
                    "message": str(refused),
                    "code": refused.status,
                },
            )

    def _do(
        self, method: str, kind: str, name: str | None, query: dict[str, str], body: dict[str, Any]
    ) -> dict[str, Any]:
        if method == "POST":
            return self.api.create(kind, body)
        if method == "DELETE":
            policy = query.get("propagationPolicy", body.get("propagationPolicy"))
            return self.api.delete(kind, str(name), with_pods=policy != "Orphan")
        if name:
            return self.api.get(kind, name)
        with self.api.changed:
            return {
                "kind": "List",
                "metadata": {"resourceVersion": str(self.api.version)},
                "items": self.api.find(kind, query.get("labelSelector", "")),
            }

    def _watch(self, kind: str, query: dict[str, str]) -> None:
        """Send events one by one, as they come, until the time is over."""
        end = time.monotonic() + float(query.get("timeoutSeconds", 5))
        seen = int(query.get("resourceVersion") or 0)
        wanted = dict(part.split("=", 1) for part in query.get("labelSelector", "").split(","))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.api.log.append(("WATCH", kind, seen))
        streams = self.api.streams
        while time.monotonic() < end and not self.api.stopped and streams == self.api.streams:
            with self.api.changed:
                news = [event for event in self.api.events if event[0] > seen]
                if not news and seen >= self.api.forgotten:
                    self.api.changed.wait(timeout=min(0.3, max(0.0, end - time.monotonic())))
                    news = [event for event in self.api.events if event[0] > seen]
                newest, forgotten = self.api.version, self.api.forgotten
            if seen < forgotten:
                gone = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410}
                gone["message"] = f"too old resource version: {seen} ({forgotten})"
                self._chunk({"type": "ERROR", "object": gone})
                break
            for _, what, event, value in news:
                labels = value["metadata"].get("labels", {})
                if what == kind and wanted.items() <= labels.items():
                    self._chunk({"type": event, "object": value})
            seen = max([seen, *(version for version, *_ in news)])
            if not news and newest > 0 and query.get("allowWatchBookmarks") in ("true", "True"):
                bookmark = {"kind": KINDS[kind][2:], "metadata": {"resourceVersion": str(newest)}}
                self._chunk({"type": "BOOKMARK", "object": bookmark})
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, value: dict[str, Any]) -> None:
        line = json.dumps(value).encode() + b"\n"
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def _send(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_DELETE(self) -> None:
        self._answer("DELETE")

    def handle(self) -> None:
        # a client that leaves in the middle of a stream is nothing to speak of
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *words: Any) -> None:
        """Say nothing."""


@contextmanager
def running_kube_api() -> Iterator[tuple[KubeApi, client.ApiClient]]:
    """Start a server on the loopback and yield it with a client of the official library."""
    api = KubeApi()
    handler = type("Handler", (_Handler,), {"api": api})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    ).start()
    settings = client.Configuration()
    settings.host = f"http://127.0.0.1:{server.server_port}"
    with client.ApiClient(settings) as connected:
        yield api, connected
    api.stop()
    server.shutdown()
    server.server_close()
