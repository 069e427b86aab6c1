from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from prophase.errors import InputError, ParameterError
from prophase.integrations.prometheus.client import Prometheus


class Moody(BaseHTTPRequestHandler):
    """Answers what the test has put on its list, then as a server in good health does."""

    moods: list[tuple[int, dict[str, str], Any]] = []  # noqa: RUF012
    asked: list[dict[str, str]] = []  # noqa: RUF012
    tokens: list[str | None] = []  # noqa: RUF012
    most_points = 1_000_000

    def do_GET(self) -> None:
        asked = {key: value[0] for key, value in parse_qs(urlparse(self.path).query).items()}
        self.asked.append(asked)
        self.tokens.append(self.headers.get("Authorization"))
        if self.moods:
            self._reply(*self.moods.pop(0))
            return
        if "time" in asked:
            result: list[Any] = [{"metric": {"pod": "a"}, "value": [1, "4"]}]
            self._reply(200, {}, {"status": "success", "data": {"result": result}})
            return
        start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
        times = [start + step * n for n in range(int((end - start) / step) + 1)]
        if len(times) > self.most_points:
            said = "query processing would load too many samples into memory in query execution"
            self._reply(422, {}, {"status": "error", "error": said})
            return
        result = [{"metric": {"pod": "a"}, "values": [[t, str(t)] for t in times]}]
        self._reply(200, {}, {"status": "success", "data": {"result": result}})

    def _reply(self, code: int, headers: dict[str, str], document: Any) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(document if isinstance(document, bytes) else json.dumps(document).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    Moody.moods, Moody.asked, Moody.tokens, Moody.most_points = [], [], [], 1_000_000
    http = ThreadingHTTPServer(("127.0.0.1", 0), Moody)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    http.server_close()
    thread.join()


class Clock:
    def __init__(self) -> None:
        self.now_s, self.waited = 0.0, list[float]()

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now_s += seconds

    def now(self) -> float:
        return self.now_s


def _server(address: str, clock: Clock | None = None, **options: Any) -> Prometheus:
    held = clock or Clock()
    return Prometheus(address, wait=held.wait, now=held.now, **options)


def test_a_busy_server_is_asked_again_when_it_says(address: str) -> None:
    clock = Clock()
    Moody.moods = [(429, {"Retry-After": "7"}, {}), (503, {}, {"error": "not ready"})]
    assert _server(address, clock).instant("up", 1.0) == [({"pod": "a"}, 4.0)]
    assert len(Moody.asked) == 3
    assert 7.0 in clock.waited


def test_a_server_that_stays_busy_is_given_up_with_its_words(address: str) -> None:
    Moody.moods = [(503, {}, {"error": "starting up"})] * 3
    with pytest.raises(InputError, match="starting up"):
        _server(address, tries=3).instant("up", 1.0)
    assert len(Moody.asked) == 3


def test_a_question_that_is_wrong_is_asked_once(address: str) -> None:
    Moody.moods = [(400, {}, {"error": "parse error"})]
    with pytest.raises(InputError, match="parse error"):
        _server(address).instant("up(", 1.0)
    assert len(Moody.asked) == 1


def test_questions_keep_their_distance(address: str) -> None:
    clock = Clock()
    server = _server(address, clock, per_second=4)
    for _ in range(5):
        server.instant("up", 1.0)
    assert clock.now_s == pytest.approx(1.0)


def test_an_answer_that_is_too_large_is_asked_for_in_halves(address: str) -> None:
    Moody.most_points = 7
    found = list(_server(address).range("up", 0.0, 40.0, 1.0))
    times = [at for series in found for at in series.times_s]
    assert times == [float(n) for n in range(41)]


def test_a_single_point_that_is_too_large_is_refused(address: str) -> None:
    Moody.most_points = 0
    with pytest.raises(InputError, match="too many samples"):
        list(_server(address).range("up", 0.0, 4.0, 1.0))


def test_a_token_is_sent_and_never_shown(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPHASE_PROMETHEUS_TOKEN", "s3cret")
    Moody.moods = [(403, {}, {})]
    with pytest.raises(InputError, match="needs a token") as caught:
        _server(address).instant("up", 1.0)
    assert Moody.tokens == ["Bearer s3cret"]
    assert "s3cret" not in str(caught.value)


def test_a_redirect_is_not_followed_with_the_token(address: str) -> None:
    Moody.moods = [(302, {"Location": "http://127.0.0.1:1/"}, {})]
    with pytest.raises(InputError, match="another address"):
        _server(address, token="s3cret").instant("up", 1.0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"<html>", "does not answer as Prometheus does"),
        ({"status": "error"}, "with success"),
        ({"status": "success", "data": {"result": [1, "2"]}}, "no list of series"),
        ({"status": "success", "data": {"result": [{"value": 3}]}}, "no pair"),
    ],
)
def test_answers_of_something_else_are_reported(address: str, answer: Any, said: str) -> None:
    Moody.moods = [(200, {}, answer)]
    with pytest.raises(InputError, match=said):
        _server(address).instant("up", 1.0)


def test_a_password_in_the_address_is_refused_without_showing_it() -> None:
    with pytest.raises(ParameterError, match="PROPHASE_PROMETHEUS_TOKEN") as caught:
        Prometheus("http://ann:hush@localhost:9090")
    assert "hush" not in str(caught.value)
