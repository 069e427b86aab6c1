"""Traces: a real receiver on loopback gets the spans of a request, from admission to answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import Serve
from tests.serve.submit import objects

from prophase.errors import ParameterError
from prophase.serve.app import create_app
from prophase.serve.settings import ServiceSettings, further_limits
from prophase.serve.tokens import TokenStore
from prophase.serve.tracing import traces_address

pytest.importorskip("opentelemetry.exporter.otlp.proto.common")

_PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@dataclass
class Receiver:
    """A collector that keeps what it is sent."""

    address: str
    spans: list[Any] = field(default_factory=list)
    resources: list[Any] = field(default_factory=list)

    def named(self, name: str) -> Any:
        return next(one for one in self.spans if one.name == name)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.headers["content-type"] == "application/x-protobuf"
            for one in ExportTraceServiceRequest.FromString(body).resource_spans:
                found.resources.append(one.resource)
                found.spans += [made for scope in one.scope_spans for made in scope.spans]
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Receiver(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_a_trace_goes_from_admission_to_the_model(workspace: Path, receiver: Receiver) -> None:
    secret = TokenStore(workspace).add("ci", "read")
    settings = ServiceSettings(reload_every_s=0.0, traces=receiver.address)
    asked = {"jobs": [{"user": "secret-user", "gpus": 1}], "targets": ["duration_s"]}
    headers = {"authorization": f"Bearer {secret}", "traceparent": _PARENT}
    # a service sends what waits when it ends
    with TestClient(create_app(workspace, settings)) as client:
        assert client.post("/v1/predict", json=asked, headers=headers).status_code == 200
        assert client.get("/v1/nowhere/secret-path", headers=headers).status_code == 404
    whole = receiver.named("POST /v1/predict")
    assert whole.trace_id.hex() == "4bf92f3577b34da6a3ce929d0e0e4736"  # that of the caller
    assert whole.parent_span_id.hex() == "00f067aa0ba902b7"
    said = attributes(whole)
    assert said["http.response.status_code"] == 200
    assert said["prophase.caller"] == "ci"
    for name in ("admit", "model"):
        inner = receiver.named(name)
        assert inner.parent_span_id == whole.span_id
        assert inner.start_time_unix_nano <= inner.end_time_unix_nano
    assert attributes(receiver.named("model"))["jobs"] == 1
    sent = "".join(map(str, receiver.spans))
    assert "secret" not in sent  # neither tokens nor jobs nor paths
    assert any("prophase" in str(one) for one in receiver.resources)


def test_the_decision_about_a_pod_is_part_of_the_trace(workspace: Path, receiver: Receiver) -> None:
    (workspace / "prophase.toml").write_text(
        '[submit]\nmode = "annotate"\ntoken = false\nbudget_ms = 10000\n'
    )
    settings = ServiceSettings(reload_every_s=0.0, traces=receiver.address)
    with TestClient(create_app(workspace, settings)) as client:
        review = objects.review(objects.pod(), namespace="ml")
        assert client.post("/v1/submit/kubernetes", json=review).status_code == 200
    whole = receiver.named("POST /v1/submit/kubernetes")
    decided = receiver.named("decide")
    assert decided.parent_span_id == whole.span_id
    assert attributes(decided)["outcome"] in ("annotated", "set")


def test_a_collector_that_is_away_is_no_trouble_of_a_request(workspace: Path) -> None:
    settings = ServiceSettings(reload_every_s=0.0, open=True, traces="http://127.0.0.1:9")
    app = create_app(workspace, settings)
    with TestClient(app) as client:
        assert client.get("/v1/workspace").status_code == 200


def test_nothing_is_traced_unless_asked_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    assert traces_address() is None
    serve().get("/v1/workspace")
    assert receiver.spans == []
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/")
    assert traces_address() == "http://collector:4318/v1/traces"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other:4318/own")
    assert traces_address() == "http://other:4318/own"
    assert traces_address("http://file:4318") == "http://file:4318/v1/traces"


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterError, match="address of a collector"):
        further_limits({"serve": {"traces": "collector:4317"}})
