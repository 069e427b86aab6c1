from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.serve.submit import objects

from prophase.serve.submit.decision import SubmitDecision
from prophase.serve.submit.kubernetes_events import Events, event

TAKEN: queue.Queue[tuple[str, str | None, dict[str, Any]]] = queue.Queue()


class Api(BaseHTTPRequestHandler):
    """Takes events as an API server does: what breaks the official schema is refused."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        objects.check(body)
        TAKEN.put((self.path, self.headers.get("authorization"), body))
        self.send_response(201)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Api)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("s3cret\n", encoding="utf-8")
    return tmp_path


def test_a_decision_is_told_of_the_job_that_owns_the_pod(address: str, account: Path) -> None:
    events = Events(address, account)
    pod = objects.pod(ownerReferences=[objects.owner("Job", "j-1")])
    events.tell(pod, "ml", SubmitDecision("set", "memory: 2.5 GiB instead of 16 GiB"))
    path, token, body = TAKEN.get(timeout=60)
    events.close()
    assert path == "/api/v1/namespaces/ml/events"
    assert token == "Bearer s3cret"
    assert body["involvedObject"] == {
        "apiVersion": "batch/v1", "kind": "Job", "name": "bert", "uid": "j-1", "namespace": "ml",
    }  # fmt: skip
    assert (body["reason"], body["type"]) == ("ProphaseSet", "Normal")
    assert "instead of 16 GiB" in body["message"]


def test_in_dry_run_an_event_says_what_would_be_done() -> None:
    made = event(objects.job(), "ml", SubmitDecision("dry-run", "would set requests"))
    assert made is not None
    objects.check(made)
    assert made["reason"] == "ProphaseWouldChange"
    assert made["involvedObject"]["name"] == "bert"


def test_what_was_left_alone_or_has_no_name_yet_is_not_told() -> None:
    assert event(objects.job(), "ml", SubmitDecision("skipped", "")) is None
    assert event(objects.pod(), "ml", SubmitDecision("set", "")) is None


def test_an_api_server_that_does_not_answer_costs_events_and_nothing_else(account: Path) -> None:
    events = Events("http://127.0.0.1:1", account)
    for _ in range(3):
        events.tell(objects.job(), "ml", SubmitDecision("set", "x"))
    events.close()
    assert events.dropped == 3


def test_outside_a_cluster_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert Events.of_cluster() is None
