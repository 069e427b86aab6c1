"""Pages over plain HTTP: who may see them, what they say when there is nothing to show."""

from __future__ import annotations

import io
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from tests.serve.pages.conftest import make_campaign

from prophase.serve.app import create_app
from prophase.serve.pages.page_cache import PageCache
from prophase.serve.pages.table_view import TableView, as_csv
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


# the health page is about the service, which is there without data, too
@pytest.mark.parametrize("address", [one for one in ADDRESSES if one != "/health"])
def test_every_page_without_data_names_the_command_that_brings_some(
    empty: TestClient, address: str
) -> None:
    answer = empty.get(address, headers=_BROWSER)
    assert answer.status_code == 200
    assert '<div class="command"><code tabindex="0">prophase ' in answer.text
    # a folder with a space can be copied as it is
    assert "my data&#39;" in answer.text


@pytest.mark.parametrize(
    "columns",
    [
        {"request_gpus": 1.0},
        {"start_s": 5.0, "user": "ann", "memory_peak_gib": 1.0},
        {"request_memory_gib": 4.0, "status": "failed", "tenant": "t", "kind": "k"},
    ],
    ids=lambda one: ",".join(one),
)
def test_every_page_of_a_table_with_few_columns_is_drawn(
    tmp_path: Path, columns: dict[str, object]
) -> None:
    jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": [0.0, 9.0], "duration_s": [60.0, 5.0]})
    home = Workspace.create(tmp_path / "ws")
    home.store_frames({"jobs": jobs.assign(**columns)}, source="csv", source_hash="1")
    app = create_app(home.folder, ServiceSettings(open=True, reload_every_s=0.0))
    with TestClient(app) as client:
        for address in ADDRESSES:
            until = time.monotonic() + 120
            answer = client.get(address, headers=_BROWSER)
            while "data-follow" in answer.text and time.monotonic() < until:
                time.sleep(0.05)
                answer = client.get(address, headers=_BROWSER)
            assert answer.status_code == 200, address
            assert "data-follow" not in answer.text, address


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


def test_jobs_are_filtered_sorted_and_downloaded_and_the_address_holds_the_view(
    client: TestClient, workspace: Path
) -> None:
    jobs = Workspace(workspace).read("jobs")
    user = str(jobs["user"].value_counts().index[0])
    shown = client.get("/jobs", params={"user": user, "sort": "duration_s"}, headers=_BROWSER)
    assert shown.status_code == 200
    assert f"user={user}&amp;sort=duration_s" in shown.text
    sheet = client.get("/jobs", params={"user": user, "sort": "duration_s", "format": "csv"})
    assert sheet.headers["content-type"].startswith("text/csv")
    rows = pd.read_csv(io.StringIO(sheet.text))
    assert len(rows) == (jobs["user"] == user).sum()
    assert rows["duration_s"].dropna().is_monotonic_decreasing
    nobody = client.get("/jobs", params={"find": "no such job"}, headers=_BROWSER)
    assert "No job is like this" in nobody.text


def test_a_wrong_date_is_told_beside_its_field_and_stays_typed() -> None:
    table = pd.DataFrame({"user": ["=ann", "bob"], "submit_s": [1.7e9, 1.8e9]})
    rows, wrong = TableView(since="soon").chosen(table)
    assert "2026-05-31" in wrong["since"]
    assert len(rows) == 2
    later, fine = TableView(since="2025-01-01", until="2027-02-01").chosen(table)
    assert (list(later["user"]), fine) == (["bob"], {})
    assert "'=ann" in as_csv(table, "jobs").body.decode()


@pytest.mark.parametrize("who", ["users", "tenants"])
def test_every_user_and_tenant_has_a_page(client: TestClient, workspace: Path, who: str) -> None:
    column = who.removesuffix("s")
    name = str(Workspace(workspace).read("jobs")[column].iloc[0])
    listed = client.get(f"/{who}", params={"find": name}, headers=_BROWSER)
    assert f'href="/{who}/{name}"' in listed.text
    own = client.get(f"/{who}/{name}", headers=_BROWSER)
    assert own.status_code == 200
    assert "How much of what was asked for was used" in own.text
    assert client.get(f"/{who}/nobody", headers=_BROWSER).status_code == 404
    assert client.get(f"/{who}", params={"format": "csv"}).text.startswith(f"{column},jobs")


def test_the_queue_shows_what_the_last_round_of_a_collector_saw(
    client: TestClient, workspace: Path
) -> None:
    asked = time.time()
    queue = pd.DataFrame(
        {
            "job_id": ["7", "8"], "user": ["ann", "bob"], "status": ["pending", "running"],
            "submit_s": [asked - 7200, asked - 9000], "start_s": [np.nan, asked - 60],
        }
    )  # fmt: skip
    folder = workspace / "collect"
    folder.mkdir()
    queue.to_parquet(folder / "slurm.queue.parquet")
    try:
        shown = client.get("/queue", headers=_BROWSER).text
        sheet = client.get("/queue", params={"status": "pending", "format": "csv"}).text
    finally:
        shutil.rmtree(folder)
    assert '<th scope="row">7</th>' in shown
    assert "2\xa0h" in shown
    assert sheet.splitlines()[1].startswith("7,ann")
    assert len(sheet.splitlines()) == 2


def test_a_mistake_in_the_what_if_form_stands_beside_its_field_and_the_rest_stays(
    client: TestClient,
) -> None:
    typed = {"add": "many", "load": "fast", "target": "p95 wait < 15 min", "seeds": "10"}
    answer = client.post("/simulator/whatif", data=typed, headers=_BROWSER)
    assert answer.status_code == 422
    assert 'id="load-wrong"' in answer.text
    assert 'value="fast"' in answer.text
    assert 'value="many"' in answer.text
    assert 'value="p95 wait &lt; 15 min"' in answer.text
    again = client.post("/simulator/whatif", data={**typed, "load": "1.2"}, headers=_BROWSER)
    assert 'id="add-wrong"' in again.text
    nothing = client.post("/simulator/whatif", data={"seeds": "10"}, headers=_BROWSER)
    assert "name at least one change" in nothing.text


def test_reports_are_found_by_words_and_verdict_and_downloaded(
    client: TestClient, workspace: Path
) -> None:
    folder = workspace / "reports"
    folder.mkdir(exist_ok=True)
    for name in ("waits", "waste"):
        (folder / f"{name}.html").write_text(f"<!doctype html><h1>{name}</h1>", encoding="utf-8")
    found = client.get("/reports", params={"find": "waste", "sort": "title"}, headers=_BROWSER)
    assert "/reports/waste.html" in found.text
    assert "/reports/waits.html" not in found.text
    assert "/reports?find=waste&amp;sort=title&amp;format=csv" in found.text
    table = pd.read_csv(
        io.StringIO(client.get("/reports", params={"find": "wa", "format": "csv"}).text)
    )
    assert {"waits.html", "waste.html"} <= set(table["name"])
    none = client.get("/reports", params={"since": "2999-01-01"}, headers=_BROWSER)
    assert "No report is like this." in none.text
    wrong = client.get("/reports", params={"since": "soon"}, headers=_BROWSER)
    assert wrong.status_code == 422
    assert "Give a date such as" in wrong.text


def test_runs_are_a_table_with_the_filters_of_the_board(
    client: TestClient, workspace: Path
) -> None:
    make_campaign(workspace / "campaign")
    board = client.get("/runs", params={"scenario": "n*"}, headers=_BROWSER)
    assert 'href="/runs/all?scenario=n%2A"' in board.text
    found = client.get("/runs/all", params={"scenario": "n*"}, headers=_BROWSER)
    assert ">north</a>" in found.text
    assert ">south</a>" not in found.text
    # the filter of the campaign stays in the address of the next view
    assert "?scenario=n%2A&amp;sort=scenario" in found.text
    answer = client.get("/runs/all", params={"sort": "scenario", "down": "true", "format": "csv"})
    assert pd.read_csv(io.StringIO(answer.text))["scenario"].tolist() == ["south", "north"]
    none = client.get("/runs/all", params={"find": "nowhere"}, headers=_BROWSER)
    assert "No run is like this." in none.text


def test_money_is_at_the_prices_of_the_workspace_or_says_that_they_are_examples(
    client: TestClient, workspace: Path
) -> None:
    assert "in USD at example prices" in client.get("/jobs", headers=_BROWSER).text
    (workspace / "prices.toml").write_text(
        'currency = "EUR"\ngpu_hour = 2.0\ncore_hour = 0.05\ngib_hour = 0.01\n', encoding="utf-8"
    )
    own = TestClient(create_app(workspace, ServiceSettings(open=True)))
    assert "in EUR at prices of prices.toml" in own.get("/users", headers=_BROWSER).text
    cost = pd.read_csv(io.StringIO(own.get("/jobs", params={"format": "csv"}).text))["cost"]
    assert (cost.dropna() > 0).all()
    assert len(cost.dropna())


def test_what_is_asked_for_is_short(client: TestClient) -> None:
    answer = client.get("/jobs", params={"user": "a" * 301}, headers=_BROWSER)
    assert answer.status_code == 422
    assert "user is longer than 300 characters" in answer.text
