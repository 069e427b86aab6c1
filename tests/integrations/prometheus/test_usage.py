from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse

import pytest

from prophase.errors import InputError, ParameterError
from prophase.integrations.prometheus.usage import follow_prometheus, usage_from_prometheus


class FakePrometheus(BaseHTTPRequestHandler):
    """Answers range queries as Prometheus does: value = time for pod a, twice that for pod b."""

    asked: list[dict[str, str]] = []  # noqa: RUF012

    def do_GET(self) -> None:
        asked = {key: value[0] for key, value in parse_qs(urlparse(self.path).query).items()}
        self.asked.append(asked)
        if asked["query"] == "broken(":
            self._reply(400, {"status": "error", "error": "parse error: unclosed left paren"})
            return
        step, at = float(asked["step"]), float(asked["start"])
        times = []
        while at <= float(asked["end"]):
            times.append(at)
            at += step
        label = {"node": "x"} if asked["query"] == "unlabelled" else None
        result = [
            {"metric": label or {"pod": pod}, "values": [[t, str(factor * t)] for t in times]}
            for pod, factor in (("a", 1), ("b", 2))
        ]
        self._reply(200, {"status": "success", "data": {"resultType": "matrix", "result": result}})

    def _reply(self, code: int, document: object) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    http = HTTPServer(("127.0.0.1", 0), FakePrometheus)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    http.server_close()
    thread.join()


def test_queries_become_the_columns_of_a_usage_table(server: str) -> None:
    usage = usage_from_prometheus(
        server, {"cpu_cores": "cpu", "memory_gib": "mem"}, start_s=100, end_s=130, step_s=10
    )
    assert list(usage) == ["series_id", "time_s", "cpu_cores", "memory_gib"]
    assert usage[usage["series_id"] == "b"]["cpu_cores"].tolist() == [200, 220, 240, 260]


def test_long_spans_are_asked_for_in_parts(server: str) -> None:
    FakePrometheus.asked.clear()
    usage = usage_from_prometheus(server, {"cpu": "cpu"}, start_s=0, end_s=24_999, step_s=1)
    assert len(FakePrometheus.asked) == 3
    assert len(usage) == 50_000
    assert not usage.duplicated(["series_id", "time_s"]).any()


def test_following_gives_every_sample_once_in_order_of_time(server: str) -> None:
    clock = iter([100.0, 105.0, 106.0, 123.0, 124.0, 131.0, 132.0])
    rounds = iter([True, True, False])
    found = list(
        follow_prometheus(
            server, {"cpu": "cpu"}, step_s=10, since_s=80,
            now=lambda: next(clock), wait=lambda _: None, go_on=lambda: next(rounds),
        )
    )  # fmt: skip
    times = [time_s for series, time_s, _ in found if series == "a"]
    assert times == sorted(set(times))
    assert times[0] == 90
    assert times[-1] == 120


def test_a_query_that_is_refused_is_reported_in_the_servers_words(server: str) -> None:
    with pytest.raises(InputError, match="unclosed left paren"):
        usage_from_prometheus(server, {"cpu": "broken("}, start_s=0, end_s=1, step_s=1)


def test_a_result_without_the_label_is_refused(server: str) -> None:
    with pytest.raises(InputError, match="has no label 'pod'"):
        usage_from_prometheus(server, {"cpu": "unlabelled"}, start_s=0, end_s=1, step_s=1)


def test_a_server_that_is_not_there_is_reported() -> None:
    with pytest.raises(InputError, match="does not answer"):
        usage_from_prometheus("http://127.0.0.1:1", {"cpu": "cpu"}, start_s=0, end_s=1, step_s=1)


def test_addresses_and_spans_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="http://HOST:PORT"):
        usage_from_prometheus("file:///etc", {"cpu": "cpu"}, start_s=0, end_s=1, step_s=1)
    with pytest.raises(ParameterError, match="step is above 0"):
        usage_from_prometheus("http://x", {"cpu": "cpu"}, start_s=0, end_s=1, step_s=0)
    with pytest.raises(ParameterError, match="no query"):
        usage_from_prometheus("http://x", {}, start_s=0, end_s=1, step_s=1)
