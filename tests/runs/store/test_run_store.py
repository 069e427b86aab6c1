from __future__ import annotations

from datetime import date

import pytest
from sqlalchemy import update

from prophase.errors import ParameterError, RefusedError
from prophase.runs.states import BRANCHES, RunState
from prophase.runs.store.database import Database
from prophase.runs.store.records import LostClaimError, NewRun
from prophase.runs.store.run_store import RunStore
from prophase.runs.store.tables import CLAIMS, RUNS

DEPLOY, CHECK_DEPLOY = BRANCHES["deploy"], BRANCHES["check_deploy"]


@pytest.fixture
def store(database: Database) -> RunStore:
    return RunStore(database)


def some_runs(count: int) -> list[NewRun]:
    days = [date(2024, 1, day + 1) for day in range(count)]
    return [NewRun("eu", {"region": "eu", "articles": 3}, "v1", day) for day in days]


def test_the_run_table_has_the_fields_of_table_1():
    scenario = ["scenario", "scenario_attributes", "scenario_version"]
    others = ["execution_date", "state", "dag_id", "run_id", "profiling_id", "notes"]
    assert list(RUNS.c.keys()) == ["id", *scenario, *others]


def test_registering_twice_adds_nothing(store):
    assert store.register(some_runs(3), actor="me") == 3
    assert store.register(some_runs(4), actor="me") == 1
    assert store.counts() == {RunState.REGISTERED: 4}
    assert [move.event for move in store.history(1)] == ["registered"]


def test_a_claimed_run_is_nobody_elses_until_its_lease_ends(store):
    store.register(some_runs(3), actor="me")
    first = store.claim(DEPLOY, "a", most=2)
    assert [claim.run.id for claim in first] == [1, 2]
    assert [claim.run.id for claim in store.claim(DEPLOY, "b", most=9)] == [3]
    assert store.claim(DEPLOY, "c", most=9) == []
    expire(store, 1)
    (again,) = store.claim(DEPLOY, "c", most=9)
    assert (again.run.id, again.token) == (1, 2)


def test_a_worker_that_lost_its_claim_cannot_write_any_more(store):
    store.register(some_runs(1), actor="me")
    (lost,) = store.claim(DEPLOY, "frozen", most=1)
    expire(store, 1)
    (taken,) = store.claim(DEPLOY, "other", most=1)
    with pytest.raises(LostClaimError, match="claim of frozen ended"):
        store.advance(lost, "triggered", dag_id="d")
    assert store.advance(taken, "triggered", dag_id="d") is RunState.DEPLOYING
    assert store.run(1).dag_id == "d"


def test_a_move_whose_answer_was_lost_is_not_made_twice(store):
    store.register(some_runs(1), actor="me")
    (claim,) = store.claim(DEPLOY, "a", most=1)
    assert store.advance(claim, "triggered") is RunState.DEPLOYING
    assert store.advance(claim, "triggered") is RunState.DEPLOYING
    assert [move.event for move in store.history(1)] == ["registered", "triggered"]


def test_a_renewed_lease_lasts_and_a_released_run_is_free(store):
    store.register(some_runs(1), actor="me")
    (claim,) = store.claim(DEPLOY, "a", most=1)
    expire(store, 1)
    store.renew([claim], lease_s=60)
    assert store.claim(DEPLOY, "b", most=1) == []
    store.release(claim)
    assert len(store.claim(DEPLOY, "b", most=1)) == 1


def test_expired_leases_are_freed_by_name(store):
    store.register(some_runs(2), actor="me")
    store.claim(DEPLOY, "a", most=2)
    expire(store, 2)
    assert store.release_expired() == [(2, "a")]


def test_no_more_runs_enter_a_step_than_may_be_in_it(store):
    store.register(some_runs(5), actor="me")
    for claim in store.claim(DEPLOY, "a", most=9, parallel=3):
        store.advance(claim, "triggered")
    assert store.counts()[RunState.DEPLOYING] == 3
    assert store.claim(DEPLOY, "b", most=9, parallel=3) == []
    (checked, *_) = store.claim(CHECK_DEPLOY, "b", most=9)
    store.advance(checked, "succeeded")
    assert len(store.claim(DEPLOY, "b", most=9, parallel=3)) == 1
    # claimed but not yet triggered counts as well
    assert store.claim(DEPLOY, "c", most=9, parallel=3) == []


def test_checks_take_turns(store):
    store.register(some_runs(3), actor="me")
    for claim in store.claim(DEPLOY, "a", most=3):
        store.advance(claim, "triggered")
    seen = []
    for _ in range(3):
        (claim,) = store.claim(CHECK_DEPLOY, "a", most=1)
        seen.append(claim.run.id)
        store.release(claim)
    assert sorted(seen) == [1, 2, 3]


def test_a_failure_stops_with_a_note_and_a_reset_resumes(store):
    store.register(some_runs(1), actor="me")
    (claim,) = store.claim(DEPLOY, "a", most=1)
    store.advance(claim, "trigger failed", reason="no such folder")
    failed = store.run(1)
    assert (failed.state, failed.notes) == (RunState.DEPLOY_TRIGGER_FAILED, "no such folder")
    assert store.claim(DEPLOY, "a", most=1) == []
    before = store.reset(1, RunState.REGISTERED, actor="me", reason="folder is there now")
    assert before is RunState.DEPLOY_TRIGGER_FAILED
    back = store.run(1)
    assert (back.notes, back.beginnings, back.resets) == (None, 1, 1)
    assert len(store.claim(DEPLOY, "a", most=1)) == 1
    assert [move.reason for move in store.history(1)][1:] == [
        "no such folder",
        "folder is there now",
    ]


def test_a_reset_takes_the_run_away_from_its_worker(store):
    store.register(some_runs(1), actor="me")
    (claim,) = store.claim(DEPLOY, "a", most=1)
    store.advance(claim, "triggered")
    (claim,) = store.claim(CHECK_DEPLOY, "a", most=1)
    store.reset(1, RunState.REGISTERED, actor="me")
    with pytest.raises(LostClaimError):
        store.advance(claim, "succeeded")


def test_moves_that_the_table_does_not_have_are_refused(store):
    store.register(some_runs(1), actor="me")
    (claim,) = store.claim(DEPLOY, "a", most=1)
    with pytest.raises(RefusedError, match="registered run"):
        store.advance(claim, "succeeded")
    with pytest.raises(RefusedError):
        store.reset(1, RunState.DEPLOYED, actor="me")
    with pytest.raises(ParameterError, match="no run 7"):
        store.reset(7, RunState.REGISTERED, actor="me")


def expire(store: RunStore, run: int) -> None:
    ended = update(CLAIMS).where(CLAIMS.c.run == run).values(leased_until_s=1.0)
    store.database.write(lambda connection: connection.execute(ended))
