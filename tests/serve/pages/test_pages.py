"""Pages over plain HTTP: who may see them, what they say when there is nothing to show."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from prophase.serve.app import create_app
from prophase.serve.pages.page_cache import PageCache
from prophase.serve.pages.templates import NAVIGATION
from prophase.serve.settings import ServiceSettings
from prophase.serve.tokens import TokenStore
from prophase.trace.workspace import Workspace

_BROWSER = {"accept": "text/html"}
ADDRESSES = ["/" if name == "overview" else f"/{name}" for name, _ in NAVIGATION]


@pytest.fixture
def empty(tmp_path: Path) -> TestClient:
    folder = Workspace.create(tmp_path / "my data").folder
    return TestClient(create_app(folder, ServiceSettings(open=True, reload_every_s=0.0)))


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_page_without_data_names_the_command_that_brings_some(
    empty: TestClient, address: str
) -> None:
    answer = empty.get(address, headers=_BROWSER)
    assert answer.status_code == 200
    assert '<div class="command"><code>prophase ' in answer.text
    # a folder with a space can be copied as it is
    assert "my data&#39;" in answer.text


def test_pages_allow_nothing_inline_and_nothing_from_elsewhere(empty: TestClient) -> None:
    answer = empty.get("/", headers=_BROWSER)
    policy = answer.headers["content-security-policy"]
    assert "unsafe-inline" not in policy
    assert "default-src 'none'" in policy
    assert " style=" not in answer.text
    assert "onclick" not in answer.text


def test_a_token_becomes_a_cookie_that_no_script_reads_and_signing_out_forgets_it(
    workspace: Path,
) -> None:
    secret = TokenStore(workspace).add("ann", "read")
    client = TestClient(create_app(workspace, ServiceSettings(open=True)), follow_redirects=False)
    sent_away = client.get("/sizing", headers=_BROWSER)
    assert sent_away.status_code == 303
    assert sent_away.headers["location"].startswith("/login")
    wrong = client.post("/login", data={"token": "prophase_wrong"}, headers=_BROWSER)
    assert wrong.status_code == 401
    assert "unknown" in wrong.text
    assert "workspace" not in wrong.text
    right = client.post("/login", data={"token": secret, "next": "/reports"})
    assert right.headers["location"] == "/reports"
    cookie = right.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    inside = client.get("/reports", headers=_BROWSER)
    assert inside.status_code == 200
    assert "Sign out" in inside.text
    assert secret not in inside.text
    client.post("/logout")
    assert client.get("/reports", headers=_BROWSER).status_code == 303


def test_a_form_of_another_site_is_refused(client: TestClient) -> None:
    answer = client.post(
        "/simulator/whatif",
        data={"load": "2"},
        headers={"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    )
    assert answer.status_code == 403


def test_a_reader_may_not_learn_or_reset(workspace: Path) -> None:
    secret = TokenStore(workspace).add("ann", "read")
    client = TestClient(create_app(workspace, ServiceSettings(open=True)))
    asked = {"authorization": f"Bearer {secret}", **_BROWSER}
    assert client.post("/ask/learn", headers=asked).status_code == 403
    assert client.post("/runs/1/reset", headers=asked, data={"to": "0"}).status_code == 403


def test_only_listed_reports_are_opened(client: TestClient, workspace: Path) -> None:
    (workspace / "reports").mkdir(exist_ok=True)
    (workspace / "reports" / "mine.html").write_text("<h1>mine</h1>", encoding="utf-8")
    (workspace / "reports" / "link.html").symlink_to("/etc/passwd")
    opened = client.get("/reports/mine.html", headers=_BROWSER)
    assert opened.text == "<h1>mine</h1>"
    assert "sandbox" in opened.headers["content-security-policy"]
    for name in ("link.html", "..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd", "tables.json"):
        assert client.get(f"/reports/{name}", headers=_BROWSER).status_code == 404


def test_an_unknown_profile_is_told_on_a_page(client: TestClient) -> None:
    answer = client.get("/profiles/no-such", headers=_BROWSER)
    assert answer.status_code in (404, 422)
    assert "no-such" in answer.text
    assert "<h1>" in answer.text


def test_what_users_wrote_is_escaped(client: TestClient) -> None:
    answer = client.get("/ask", params={"user": "<script>x</script>"}, headers=_BROWSER)
    assert "<script>x" not in answer.text


def test_page_data_is_computed_once_kept_and_computed_anew_for_new_tables(
    workspace: Path,
) -> None:
    app = create_app(workspace, ServiceSettings(open=True, reload_every_s=0.0))
    library, prepared = app.state.library, PageCache(app.state.library.workspace)
    wanted: dict[str, Any] = {"title": "Looking", "uses": ["jobs"], "back": "/"}
    first = prepared.look("describe", library.now, **wanted)
    assert first.state == "working"
    until = time.monotonic() + 300
    while prepared.look("describe", library.now, **wanted).state == "working":
        assert time.monotonic() < until
        time.sleep(0.1)
    ready = prepared.look("describe", library.now, **wanted)
    assert ready.data["values"]["tables"]["jobs"] == library.now.tables["jobs"].rows
    # after a restart of the service it is there at once
    again = PageCache(app.state.library.workspace).look("describe", library.now, **wanted)
    assert again.data == ready.data
    jobs = library.workspace.read("jobs")
    library.workspace.store_frames(
        {"jobs": jobs.head(100)}, source="new", source_hash="new", replace=True
    )
    library.reload()
    stale = prepared.look("describe", library.now, **wanted)
    assert stale.stale
    assert stale.data == ready.data
    prepared.close()
