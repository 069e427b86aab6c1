"""Who may do what: open services, tokens for some tenants, tasks of others; and fair shares."""

from __future__ import annotations

import asyncio
import hashlib
import json
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pydantic import TypeAdapter
from tests.serve.conftest import Serve

from prophase.errors import ParameterError
from prophase.profile.predict.job_model import JobModel
from prophase.serve.app import create_app
from prophase.serve.audit import AuditLog
from prophase.serve.guard.authentication import AuthenticatedCaller, authenticated_caller
from prophase.serve.guard.fair_shares import FairShares
from prophase.serve.prediction_batches import Batcher
from prophase.serve.problems import Problem
from prophase.serve.settings import ServiceSettings, further_limits
from prophase.serve.tokens import TokenStore
from prophase.trace.workspace_paths import PREDICTIONS


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def test_a_service_without_tokens_is_closed(serve: Serve) -> None:
    client = serve(open=False)
    assert client.get("/v1/workspace").status_code == 401
    assert client.get("/healthz").status_code == 200


def test_an_open_service_listens_on_loopback_alone(workspace: Path) -> None:
    with pytest.raises(ParameterError, match="reached from elsewhere"):
        create_app(workspace, ServiceSettings(host="0.0.0.0", open=True))


def test_an_open_service_is_closed_to_other_machines(tmp_path: Path) -> None:
    from starlette.datastructures import Headers

    store = TokenStore(tmp_path, open=True)
    assert authenticated_caller(Headers(), store, "127.0.0.1").role == "admin"
    assert authenticated_caller(Headers(), store, "::1").role == "admin"
    assert authenticated_caller(Headers(), store, "10.0.0.7").role is None


@pytest.mark.parametrize("how", ["revoke", "delete"])
def test_once_closed_stays_closed(tmp_path: Path, how: str) -> None:
    store = TokenStore(tmp_path, open=True)
    assert store.is_open
    other = TokenStore(tmp_path)
    other.add("ann", "read")
    if how == "revoke":
        other.revoke("ann")
    else:
        assert not store.is_open
        other.close()
        for path in (tmp_path / "service").iterdir():
            path.unlink()
    assert not store.is_open
    assert not store.all()


def test_an_admin_cannot_be_limited_to_tenants(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be limited"):
        TokenStore(tmp_path).add("ann", "admin", tenants=["nlp"])


def test_a_token_keeps_its_tenants_and_old_lists_have_none(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    secret = store.add("ann", "read", tenants=["nlp", "nlp", "vision"])
    found = TokenStore(tmp_path).find(secret)
    assert found is not None
    assert found.tenants == ("nlp", "vision")
    # a list as it was kept before there was a database: its tokens move, and still count
    old = {"name": "ci", "role": "read", "made_at": "2026-01-01T00:00:00+00:00"}
    old["sha256"] = hashlib.sha256(b"prophase_of_before").hexdigest()
    store.path.write_text(json.dumps({"tokens": [old]}), encoding="utf-8")
    again = store.find("prophase_of_before")
    assert again is not None
    assert (again.name, again.tenants) == ("ci", ())
    assert not store.path.exists()
    assert store.find(secret) == found


def test_a_token_for_some_tenants_sees_nothing_about_all(workspace: Path, serve: Serve) -> None:
    secret = TokenStore(workspace).add("ann", "read", tenants=["nlp"])
    client = serve()
    for path in ("/v1/workspace", "/v1/tasks", "/v1/profiles", "/metrics", "/v1/observe"):
        said = client.get(path, headers=bearer(secret))
        assert said.status_code == 403, path
        assert "limited to nlp" in said.json()["detail"]
    page = client.get("/sizing", headers={**bearer(secret), "accept": "text/html"})
    assert page.status_code == 403


def test_a_page_cancels_only_tasks_of_its_user(workspace: Path, serve: Serve) -> None:
    store = TokenStore(workspace)
    boss, reader = store.add("boss", "admin"), store.add("reader", "read")
    client = serve()
    task = client.post("/v1/size", json={}, headers=bearer(boss)).json()["id"]
    refused = client.post(f"/tasks/{task}/cancel", headers=bearer(reader), follow_redirects=False)
    assert refused.status_code == 403
    done = client.post(f"/tasks/{task}/cancel", headers=bearer(boss), follow_redirects=False)
    assert done.status_code == 303


def test_changes_are_in_the_audit_log_and_questions_are_not(workspace: Path, serve: Serve) -> None:
    secret = TokenStore(workspace).add("ann", "admin")
    client = serve()
    client.post("/v1/predict", json={"jobs": [{"user": "u1"}]}, headers=bearer(secret))
    job = {"job_id": "1", "duration_s": 5}
    client.post("/v1/observe", json={"jobs": [job]}, headers=bearer(secret))
    client.app.state.audit.close()  # type: ignore[attr-defined]
    entries = list(AuditLog(workspace).entries())
    assert [(one.who, one.role, one.what, one.status) for one in entries] == [
        ("ann", "admin", "POST /v1/observe", 200)
    ]
    assert entries[0].details == {"jobs": 1, "taken": 1}


def test_an_audit_log_that_a_full_disk_cut_off_goes_on(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    log.add("ann", "admin", "here", "first")
    log.close()
    with log.path.open("ab") as held:
        held.write(b'{"at": "cut o')
    log.add("ann", "admin", "here", "second")
    log.close()
    assert log.path.read_bytes().count(b"\n") == 3
    assert log.broken_at() == 2


def test_every_route_is_built_before_the_first_request(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(workspace, ServiceSettings(open=True, reload_every_s=0))
    made: list[object] = []
    real = TypeAdapter.__init__

    def counted(self: TypeAdapter[object], *arguments: object, **named: object) -> None:
        made.append(arguments)
        real(self, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(TypeAdapter, "__init__", counted)
    with TestClient(app) as client, warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in ("/v1/runs", "/v1/tasks", "/profiles", "/v1/submit/decisions", "/login"):
            assert client.get(path).status_code < 500
    assert made == []


def test_a_question_that_nobody_waits_for_spoils_no_other(made_workspace: Path) -> None:
    model = JobModel.load(made_workspace / PREDICTIONS)
    batcher = Batcher()
    rows = [{"job_id": "1", "user": "u1"}]
    given_up: list[Future[object]] = []
    for _ in range(20):
        asked = batcher.ask(model, list(rows), None)
        asked.cancel()
        given_up.append(asked)  # type: ignore[arg-type]
    assert batcher.ask(model, list(rows), None).result(60)
    batcher.close()


def test_no_caller_holds_all_shares() -> None:
    async def story() -> list[str]:
        shares = FairShares(large=1, small=3)
        told: list[str] = []
        go_on = asyncio.Event()

        async def one(caller: str, *, large: bool) -> None:
            try:
                async with shares.of(caller, large=large):
                    told.append(f"{caller} begins")
                    await go_on.wait()
            except Problem as problem:
                told.append(f"{caller} {problem.status}")

        tasks = [asyncio.create_task(one("ann", large=True)) for _ in range(4)]
        tasks += [asyncio.create_task(one("bob", large=True))]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        seen = list(told)
        go_on.set()
        await asyncio.gather(*tasks)
        assert shares._going == {}
        assert shares._turns == {}
        return seen

    # the fourth of ann is refused, two of hers wait, and bob is not held up by any of them
    # in a thread: a browser of other tests may have a loop running in this one
    with ThreadPoolExecutor(1) as aside:
        seen = aside.submit(lambda: asyncio.run(story())).result()
    assert seen == ["ann begins", "ann 429", "bob begins"]


def test_limits_of_the_settings_file_are_checked() -> None:
    assert further_limits({}) == {}
    with pytest.raises(ParameterError, match="has no limit 'max_conections'"):
        further_limits({"serve": {"max_conections": 5}})
    with pytest.raises(ParameterError, match="whole number from 1"):
        further_limits({"serve": {"max_connections": 0}})


def test_ready_means_that_the_model_answers(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/readyz").status_code == 200

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("prophase.serve.prediction_batches.predicted_rows", fail)
        said = client.get("/readyz")
    assert said.status_code == 503
    assert "does not answer" in said.json()["problems"]["predictions"]
    assert client.get("/readyz").status_code == 200


def test_a_caller_without_limits_sees_all() -> None:
    assert AuthenticatedCaller("ann", "read").may_see("nlp")
    assert not AuthenticatedCaller("ann", "read", tenants=("nlp",)).may_see("vision")
