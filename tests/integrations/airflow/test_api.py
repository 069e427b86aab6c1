from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from prophase.errors import ParameterError
from prophase.integrations.airflow.api import AirflowApi, AirflowApiError


class Server(BaseHTTPRequestHandler):
    """Gives tokens, each good for two questions."""

    tokens = 0
    left = 0
    asked: list[tuple[str, str]]

    def do_POST(self) -> None:
        cls = type(self)
        who = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/auth/token" and who.get("password") == "right":
            cls.tokens, cls.left = cls.tokens + 1, 2
            return self.answer(201, {"access_token": f"token-{cls.tokens}"})
        return self.answer(401, {"detail": "Invalid credentials"})

    def do_GET(self) -> None:
        cls = type(self)
        cls.asked.append((self.path, self.headers["Authorization"]))
        cls.left -= 1
        if cls.left < 0:
            return self.answer(401, {"detail": "Token Expired"})
        if "missing" in self.path:
            return self.answer(404, {"detail": "There is no such DAG"})
        if "many" in self.path:
            offset = int(self.path.rpartition("offset=")[2])
            return self.answer(
                200, {"many": [{"n": n} for n in range(offset, min(offset + 100, 130))]}
            )
        return self.answer(200, {"ok": True})

    def answer(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[tuple[str, type[Server]]]:
    handler = type("Handler", (Server,), {"asked": []})
    listening = HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_port}/", handler
    listening.shutdown()
    listening.server_close()


def test_a_token_is_asked_for_once_and_again_when_it_has_expired(server):
    url, seen = server
    api = AirflowApi(url, user="me", password="right")
    for _ in range(3):
        assert api.get("dags", "a b") == {"ok": True}
    assert seen.tokens == 2
    assert seen.asked[0] == ("/api/v2/dags/a%20b", "Bearer token-1")


def test_lists_are_read_page_by_page(server):
    url, _ = server
    assert len(AirflowApi(url, user="me", password="right").all_of("many", "many")) == 130


def test_what_the_server_refuses_is_said_in_its_words(server):
    url, seen = server
    with pytest.raises(AirflowApiError, match="Airflow says 404: There is no such DAG"):
        AirflowApi(url, user="me", password="right").get("dags", "missing")
    with pytest.raises(AirflowApiError, match="Airflow says 401: Invalid credentials"):
        AirflowApi(url, user="me", password="wrong").get("dags")
    seen.left = 0
    with pytest.raises(AirflowApiError, match="401: Token Expired"):
        AirflowApi(url, token="old").get("dags")


def test_who_and_where_must_be_known(monkeypatch):
    with pytest.raises(AirflowApiError, match=r"127\.0\.0\.1:9 does not answer"):
        AirflowApi("http://127.0.0.1:9", token="t").get("dags")
    with pytest.raises(ParameterError, match="is no address"):
        AirflowApi("airflow:8080", token="t")
    with pytest.raises(ParameterError, match="PROPHASE_AIRFLOW_USER"):
        AirflowApi("http://airflow:8080", user="me")
    monkeypatch.delenv("PROPHASE_AIRFLOW_URL", raising=False)
    with pytest.raises(ParameterError, match="Set PROPHASE_AIRFLOW_URL"):
        AirflowApi.of_environment()
