from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import Serve

from prophase.errors import FormatError, ParameterError
from prophase.serve.tokens import PREFIX, TokenStore

QUESTION = {"jobs": [{"user": "u1", "gpus": 1}], "targets": ["duration_s"]}


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def test_only_hashes_are_kept_and_nobody_else_may_read_them(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    secret = store.add("ci", "feedback")
    assert secret.startswith(PREFIX)
    store.close()
    kept = tmp_path / "service" / "feedback.sqlite"
    assert b"feedback" in kept.read_bytes()
    assert secret.removeprefix(PREFIX).encode() not in kept.read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "role", "days", "words"),
    [
        ("ci", "boss", 1, "role 'boss' is unknown"),
        ("", "read", 1, "1 to 60 visible"),
        ("a\nb", "read", 1, "1 to 60 visible"),
        ("ci", "read", -1, "days is -1"),
    ],
)
def test_a_token_that_makes_no_sense_is_refused(
    tmp_path: Path, name: str, role: str, days: float, words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        TokenStore(tmp_path).add(name, role, days=days)


def test_a_name_is_given_once(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    store.add("ci", "read")
    with pytest.raises(ParameterError, match="already"):
        store.add("ci", "admin")


def test_a_damaged_list_of_tokens_lets_nobody_in(workspace: Path, client: TestClient) -> None:
    (workspace / "service").mkdir(exist_ok=True)
    # a list of before there was a database, which moves into it
    (workspace / "service" / "tokens.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match="damaged"):
        TokenStore(workspace).all()
    assert client.post("/v1/ask", json=QUESTION).status_code == 401
    answer = client.post("/v1/ask", json=QUESTION, headers=bearer("prophase_guessed"))
    assert answer.status_code == 422
    assert "damaged" in answer.json()["detail"]


def test_without_tokens_anybody_on_this_machine_may_ask(client: TestClient) -> None:
    assert client.post("/v1/ask", json=QUESTION).status_code == 200


def test_as_soon_as_there_is_a_token_all_need_one(workspace: Path, client: TestClient) -> None:
    secret = TokenStore(workspace).add("ann", "read")
    refused = client.post("/v1/ask", json=QUESTION)
    assert refused.status_code == 401
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert "token is needed" in refused.json()["detail"]
    assert client.post("/v1/ask", json=QUESTION, headers=bearer(secret)).status_code == 200


def test_a_wrong_token_is_told_so(workspace: Path, client: TestClient) -> None:
    TokenStore(workspace).add("ann", "read")
    refused = client.post("/v1/ask", json=QUESTION, headers=bearer("prophase_wrong"))
    assert refused.status_code == 401
    assert "unknown: mistyped, or it was revoked" in refused.json()["detail"]


def test_an_expired_token_is_told_when_it_expired(workspace: Path, client: TestClient) -> None:
    store = TokenStore(workspace)
    secret = store.add("ann", "read", days=1)
    with sqlite3.connect(workspace / "service" / "feedback.sqlite") as kept:
        kept.execute("UPDATE tokens SET expires_at = '2020-01-01T00:00:00+00:00'")
        kept.execute("UPDATE numbers SET number = number + 1 WHERE name = 'tokens'")
    kept.close()
    refused = client.post("/v1/ask", json=QUESTION, headers=bearer(secret))
    assert refused.status_code == 401
    assert "'ann' expired at 2020-01-01" in refused.json()["detail"]


def test_a_revoked_token_is_refused_at_once(workspace: Path, client: TestClient) -> None:
    store = TokenStore(workspace)
    secret, other = store.add("ann", "read"), store.add("bob", "read")
    assert client.post("/v1/ask", json=QUESTION, headers=bearer(secret)).status_code == 200
    store.revoke("ann")
    assert client.post("/v1/ask", json=QUESTION, headers=bearer(secret)).status_code == 401
    assert client.post("/v1/ask", json=QUESTION, headers=bearer(other)).status_code == 200


def test_many_wrong_tokens_in_a_row_have_to_wait_and_a_right_one_has_not(
    workspace: Path, client: TestClient
) -> None:
    secret = TokenStore(workspace).add("ann", "read")
    answers = [
        client.post("/v1/ask", json=QUESTION, headers=bearer(f"prophase_{n}")) for n in range(25)
    ]
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert client.post("/v1/ask", json=QUESTION, headers=bearer(secret)).status_code == 200


def test_a_browser_logs_in_with_a_cookie_that_scripts_cannot_read(
    workspace: Path, serve: Serve
) -> None:
    secret = TokenStore(workspace).add("ann", "read")
    client = serve()
    page = {"accept": "text/html"}
    sent = client.get("/metrics", headers=page, follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=/metrics")
    wrong = client.post("/login", data={"token": "x", "next": "/"})
    assert wrong.status_code == 401
    right = client.post(
        "/login", data={"token": secret, "next": "/metrics"}, follow_redirects=False
    )
    assert right.headers["location"] == "/metrics"
    cookie = right.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/metrics", headers=page).status_code == 200
    client.post("/logout", follow_redirects=False)
    assert client.get("/metrics", headers=page, follow_redirects=False).status_code == 303


def test_logging_in_never_leads_to_another_site(workspace: Path, client: TestClient) -> None:
    secret = TokenStore(workspace).add("ann", "read")
    for goal in ("https://evil.example", "//evil.example", "/\\evil.example"):
        sent = client.post("/login", data={"token": secret, "next": goal}, follow_redirects=False)
        assert sent.headers["location"] == "/"
