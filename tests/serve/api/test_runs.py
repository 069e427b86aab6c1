from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import Serve

from prophase.runs.campaign import example_campaign
from prophase.serve.tokens import TokenStore


@pytest.fixture
def client(workspace: Path, serve: Serve) -> TestClient:
    """A service whose workspace has a campaign that nobody works on."""
    example_campaign(workspace / "campaign").close()
    return serve(campaign=_folder(workspace))


def _folder(workspace: Path) -> Path:
    return next(path.parent for path in (workspace / "campaign").rglob("campaign.toml"))


def test_runs_are_listed_page_by_page(client: TestClient) -> None:
    runs = client.get("/v1/runs").json()
    assert len(runs) == 4
    assert client.get("/v1/runs?most=1").json() == runs[:1]
    assert client.get(f"/v1/runs?after={runs[1]['id']}").json() == runs[2:]
    assert client.get("/v1/runs?failed=true").json() == []
    assert client.get("/v1/runs/status").json()["states"][0]["runs"] == 4


def test_a_run_is_shown_as_the_command_shows_it(
    client: TestClient,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from prophase.cli import main

    folder = str(_folder(workspace))
    typed = ["prophase", "runs", "show", "1", "--campaign", folder, "--format", "json"]
    monkeypatch.setattr(sys, "argv", typed)
    with suppress(SystemExit):
        main.run()
    told = json.loads(capsys.readouterr().out)
    assert client.get("/v1/runs/1").json() == told


def test_resetting_runs_needs_an_admin_and_is_kept_with_a_name(
    client: TestClient, workspace: Path
) -> None:
    store = TokenStore(workspace)
    reader, boss = ({"authorization": f"Bearer {store.add(n, r)}"} for n, r in
                    (("ann", "read"), ("bob", "admin")))  # fmt: skip
    wanted = {"all_failed": True, "reason": "try again"}
    assert client.post("/v1/runs/reset", json=wanted, headers=reader).status_code == 403
    said = client.post("/v1/runs/reset", json=wanted, headers=boss)
    assert (said.status_code, said.json()) == (200, [])


def test_what_a_run_is_not_ready_for_is_refused_in_the_words_of_the_command(
    client: TestClient,
) -> None:
    refused = client.post("/v1/runs/reset", json={"runs": [1], "to": "17"})
    assert refused.status_code == 409
    assert refused.json()["code"] == "RefusedError"
    early = client.get("/v1/runs/1/profile")
    assert early.status_code == 409
    assert "only a run that was executed" in early.json()["detail"]
    assert client.get("/v1/runs/999").status_code in (404, 422)
    assert client.post("/v1/runs/reset", json={}).status_code == 422


def test_without_a_campaign_the_answer_says_how_to_begin_one(serve: Serve) -> None:
    said = serve().get("/v1/runs")
    assert said.status_code == 404
    assert "prophase runs init" in said.json()["detail"]


def test_runs_and_tasks_are_found_by_scenario_date_and_state(client: TestClient) -> None:
    every = client.get("/v1/runs").json()
    named = every[0]["scenario"]
    found = client.get("/v1/runs", params={"scenario": named, "state": "registered"}).json()
    assert found == [run for run in every if run["scenario"] == named]
    assert client.get("/v1/runs?since=2999-01-01").json() == []
    assert client.get("/v1/runs/tasks?ended=oom").json() == []
    wrong = client.get("/v1/runs?state=sleeping")
    assert (wrong.status_code, "sleeping" in wrong.json()["detail"]) == (422, True)


def test_allocations_are_set_over_http_by_an_admin_all_or_none(
    client: TestClient, workspace: Path
) -> None:
    store = TokenStore(workspace)
    reader, boss = ({"authorization": f"Bearer {store.add(n, r)}"} for n, r in
                    (("ann", "read"), ("bob", "admin")))  # fmt: skip
    wanted = {"task.train_trees.memory_gib": 0.5, "execute.parallel": "4"}
    assert client.post("/v1/runs/settings", json=wanted, headers=reader).status_code == 403
    said = client.post("/v1/runs/settings", json=wanted, headers=boss).json()
    assert said["settings"]["execute.parallel"] == 4
    [ours] = [row for row in said["tasks"] if row["task"] == "train_trees"]
    assert (ours["memory_gib"], ours["says"]) == (0.5, "set")
    wrong = {"execute.parallel": 9, "task.no_such.memory_gib": 1}
    refused = client.post("/v1/runs/settings", json=wrong, headers=boss)
    assert refused.status_code == 422
    now = client.get("/v1/runs/settings", headers=reader).json()
    assert now["settings"]["execute.parallel"] == 4


def test_the_dashboard_finds_runs_and_sets_allocations(client: TestClient) -> None:
    named = client.get("/v1/runs").json()[0]["scenario"]
    page = client.get("/runs", params={"scenario": named, "state": "0"})
    assert page.status_code == 200
    assert page.text.count(f">{named}</a>") == 2
    assert client.get("/runs?since=soon").status_code == 422
    shown = client.get("/runs/allocations?task=train_trees").text
    assert "<option selected>train_trees</option>" in shown
    form = {"task": "train_trees", "memory_gib": "0.75", "cpu_cores": ""}
    changed = client.post("/runs/allocations", data=form)
    assert changed.status_code == 200
    assert "0.75" in changed.text
    wrong = client.post("/runs/allocations", data={**form, "memory_gib": "much"})
    assert wrong.status_code == 422
    assert "task.train_trees.memory_gib" in wrong.text
