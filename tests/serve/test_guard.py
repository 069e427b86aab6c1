"""Limits, other sites, headers and logs: what stands before every request."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from tests.serve.conftest import Serve

from prophase.serve.app import create_app
from prophase.serve.settings import ServiceSettings
from prophase.serve.tokens import TokenStore

JSON = {"content-type": "application/json"}
QUESTION: dict[str, Any] = {"jobs": [{"user": "u1", "gpus": 1}], "targets": ["duration_s"]}
#: what may be asked without a token: is it alive, how do I log in, how do I look
OPEN = {"/healthz", "/readyz", "/login", "/logout", "/v1/openapi.json"}


def routes_of(app: FastAPI) -> list[APIRoute]:
    """All routes, those of included routers too."""
    found: list[APIRoute] = []

    def walk(routes: Any) -> None:
        for route in routes:
            if isinstance(route, APIRoute):
                found.append(route)
            for inner in ("routes", "original_router"):
                held = getattr(route, inner, None)
                if held is not None:
                    walk(getattr(held, "routes", held) if inner == "original_router" else held)

    walk(app.router.routes)
    return found


def test_every_route_but_a_few_needs_a_token(workspace: Path, serve: Serve) -> None:
    TokenStore(workspace).add("ann", "read")
    client = serve()
    paths = client.get("/v1/openapi.json").json()["paths"]
    asked = 0
    for path, methods in paths.items():
        for method in methods:
            if path in OPEN:
                continue
            said = client.request(method.upper(), path.replace("{", "").replace("}", ""))
            assert said.status_code == 401, (method, path, said.text)
            asked += 1
    assert asked > 20


def test_a_page_sends_a_browser_without_a_token_to_the_login(workspace: Path, serve: Serve) -> None:
    TokenStore(workspace).add("ann", "read")
    said = serve().get("/", headers={"accept": "text/html"}, follow_redirects=False)
    assert said.status_code in (303, 404)


@pytest.mark.parametrize(
    ("role", "method", "path", "status"),
    [
        ("read", "GET", "/v1/observe", 200),
        ("read", "POST", "/v1/observe", 403),
        ("feedback", "POST", "/v1/observe", 200),
        ("feedback", "POST", "/v1/reload", 403),
        ("admin", "POST", "/v1/reload", 200),
        ("admin", "POST", "/v1/observe", 200),
    ],
)
def test_a_role_may_do_what_it_says(
    workspace: Path, client: TestClient, role: str, method: str, path: str, status: int
) -> None:
    secret = TokenStore(workspace).add("ann", role)
    body = {"jobs": [{"job_id": "1", "duration_s": 5}]} if path == "/v1/observe" else None
    headers = {"authorization": f"Bearer {secret}"}
    said = client.request(method, path, json=body if method == "POST" else None, headers=headers)
    assert said.status_code == status
    if status == 403:
        assert "has the role" in said.json()["detail"]


def test_an_oversized_body_is_refused_by_what_it_announces(serve: Serve) -> None:
    client = serve(max_body_bytes=1_000)
    said = client.post("/v1/ask", content=b"x" * 1_001, headers=JSON)
    assert said.status_code == 413
    assert said.json()["detail"] == "the request is larger than 1,000 bytes. Send it in parts."


def test_an_oversized_body_that_announces_nothing_is_refused_where_it_becomes_too_large(
    serve: Serve,
) -> None:
    def endless() -> Any:
        for _ in range(1_000):
            yield b"x" * 100

    said = serve(max_body_bytes=1_000).post("/v1/ask", content=endless(), headers=JSON)
    assert said.status_code == 413


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[]", 422),
        (b"null", 422),
        (b'{"jobs": []}', 422),
        (b'{"jobs": [{}], "further": 1}', 422),
        (b'{"jobs": [{"user": {"a": 1}}]}', 422),
        (b'{"jobs": [{"user": NaN}]}', 422),
        (b'{"jobs": [' + b"[" * 50_000 + b"]" * 50_000 + b"]}", 422),
    ],
)
def test_malformed_json_is_refused_and_told(client: TestClient, body: bytes, status: int) -> None:
    said = client.post("/v1/predict", content=body, headers=JSON)
    assert said.status_code in (status, 400)
    if said.status_code != 200:
        assert said.headers["content-type"] == "application/problem+json"
        assert said.json()["detail"]


def test_a_body_of_another_type_is_refused(client: TestClient) -> None:
    said = client.post(
        "/v1/ask", content=json.dumps(QUESTION), headers={"content-type": "text/plain"}
    )
    assert said.status_code == 422


def test_whoever_asks_too_often_is_told_to_wait(serve: Serve) -> None:
    client = serve(requests_per_s=1)
    answers = [client.get("/healthz") for _ in range(4)]
    assert [said.status_code for said in answers][-1] == 429
    assert answers[-1].headers["retry-after"] == "1"


def test_a_request_that_takes_too_long_is_given_up(serve: Serve) -> None:
    client = serve(timeout_s=0.2)

    @client.app.get("/slow")  # type: ignore[attr-defined]
    async def slow() -> None:
        await asyncio.sleep(60)

    said = client.get("/slow")
    assert said.status_code == 503
    assert "longer than 0.2 s" in said.json()["detail"]


def test_an_error_inside_is_told_without_its_traceback_and_found_in_the_log(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve()

    @client.app.get("/broken")  # type: ignore[attr-defined]
    async def broken() -> None:
        raise ZeroDivisionError("secret words")

    said = client.get("/broken")
    assert said.status_code == 500
    assert "secret words" not in said.text
    mark = said.json()["detail"].rstrip(".").split()[-1]
    assert mark in caplog.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_change_that_another_site_makes_a_browser_send_is_refused(
    client: TestClient, headers: dict[str, str]
) -> None:
    said = client.post("/v1/observe", json={"jobs": []}, headers=headers)
    assert said.status_code == 403
    assert "another site" in said.json()["detail"]


def test_our_own_pages_may_send_changes(client: TestClient) -> None:
    headers = {"origin": "http://testserver", "sec-fetch-site": "same-origin"}
    job = {"jobs": [{"job_id": "1", "duration_s": 5}]}
    assert client.post("/v1/observe", json=job, headers=headers).status_code == 200


def test_a_name_that_was_pointed_at_this_machine_is_refused(serve: Serve) -> None:
    assert serve().get("/healthz", headers={"host": "evil.example:8765"}).status_code == 421
    assert serve().get("/healthz", headers={"host": "127.0.0.1:8765"}).status_code == 200
    named = serve(names=("prophase.my.org",))
    assert named.get("/healthz", headers={"host": "prophase.my.org"}).status_code == 200


def test_every_answer_carries_the_strict_headers(client: TestClient) -> None:
    for path in ("/healthz", "/v1/nothing", "/login", "/static/nothing"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
    assert client.get("/healthz").headers["cache-control"] == "no-store"


def test_secrets_are_never_logged(
    workspace: Path, client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    secret = TokenStore(workspace).add("ann", "admin")
    caplog.set_level(logging.DEBUG)
    headers = {"authorization": f"Bearer {secret}"}
    client.get("/v1/workspace?password=hidden", headers=headers)
    client.get("/v1/workspace", headers={"authorization": "Bearer prophase_wrongsecret"})
    client.post("/v1/ask", json={"jobs": [{"user": "hidden"}]}, headers=headers)
    client.post("/login", data={"token": secret})
    ours = "\n".join(one.getMessage() for one in caplog.records if "prophase" in one.name)
    assert "GET /v1/workspace 200" in ours
    for word in (secret, "wrongsecret", "hidden"):
        assert word not in ours


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fsettings.py",
        "/v1/reports/..%2f..%2fprophase.toml",
        "/v1/reports/%2e%2e",
        "/v1/profiles/..%2f..",
        "/v1/tasks/..%2ftokens",
        "/reports/..%2f..%2fprophase.toml",
    ],
)
def test_no_path_leads_out_of_its_folder(client: TestClient, path: str) -> None:
    said = client.get(path)
    assert said.status_code in (404, 422)
    assert "engine" not in said.text


def test_the_description_of_the_api_has_an_example_for_every_body(workspace: Path) -> None:
    described = create_app(workspace, ServiceSettings()).openapi()
    for path, methods in described["paths"].items():
        for method, told in methods.items():
            body = told.get("requestBody", {}).get("content", {}).get("application/json")
            if body is not None:
                assert "example" in body or "examples" in {**body, **body["schema"]}, (method, path)
            if path.startswith("/v1/"):
                assert "4XX" in told["responses"], (method, path)
