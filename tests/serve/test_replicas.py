"""Several services that share a database: the same on a SQLite file and on a real PostgreSQL."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.serve.submit import objects

from prophase.errors import DatabaseError, ParameterError
from prophase.serve.background.task_rows import BackgroundTask, TaskRows
from prophase.serve.guard.rate_limits import BucketExchange, Buckets
from prophase.serve.model_versions import ModelVersions
from prophase.serve.submit.pods import PodAttempts
from prophase.serve.tokens import TokenStore
from prophase.study.feedback.store import FeedbackStore
from prophase.trace.service_database import ServiceDatabase, shared_address
from prophase.trace.workspace import Workspace

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from postgres import new_database, postgres_programs, running_postgres


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server; tools/system-packages installs one")
    with running_postgres(programs) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def replicas(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """Two workspaces that share what a service keeps: one folder, or one server."""
    first = Workspace.create(tmp_path / "one").folder
    if request.param == "sqlite":
        return first, first
    monkeypatch.setenv("PROPHASE_DATABASE", new_database(request.getfixturevalue("server")))
    return first, Workspace.create(tmp_path / "two").folder


def eventually(true: Callable[[], bool]) -> bool:
    for _ in range(400):
        if true():
            return True
        time.sleep(0.02)
    return False


def test_a_job_reported_to_several_replicas_is_taken_once_and_all_learn_it(
    replicas: tuple[Path, Path],
) -> None:
    one, two = map(FeedbackStore, replicas)
    ready = threading.Barrier(4)

    def send(number: int) -> list[str]:
        ready.wait()
        store = (one, two)[number % 2]
        return [*store.add([{"job_id": f"j{row}", "duration_s": 5.0} for row in range(20)], "ci")]

    with ThreadPoolExecutor(4) as pool:
        told = [outcome for outcomes in pool.map(send, range(4)) for outcome in outcomes]
    assert (told.count("taken"), told.count("known")) == (20, 60)
    assert one.since(0) == two.since(0)
    assert [number for number, _ in two.since(15)] == [
        number for number, _ in two.since(0) if number > 15
    ]
    one.close()
    two.close()


def test_a_token_made_or_revoked_at_one_replica_counts_at_the_other(
    replicas: tuple[Path, Path],
) -> None:
    one, two = map(TokenStore, replicas)
    assert two.all() == []
    secret = one.add("ci", "feedback", tenants=["nlp"])
    assert eventually(lambda: two.find(secret) is not None)
    assert two.find(secret) == one.find(secret)
    with pytest.raises(ParameterError, match="already"):
        two.add("ci", "read")
    assert two.revoke("ci")
    assert eventually(lambda: one.find(secret) is None)
    one.close()
    two.close()


def test_pods_of_one_owner_are_counted_together(replicas: tuple[Path, Path]) -> None:
    bases = [ServiceDatabase.of(folder) for folder in replicas]
    one, two = map(PodAttempts, bases)
    pod = objects.pod(ownerReferences=[objects.owner("Job", "j1")])
    asked = [(one, "a"), (two, "b"), (two, "a"), (one, "c"), (two, "d")]
    assert [replica.of(pod, uid) for replica, uid in asked] == [1, 2, 1, 3, 4]
    # one that starts anew knows them as well, and a test run does not count
    again = PodAttempts(bases[0])
    assert again.of(pod, "e", count=False) == 5
    assert again.of(pod, "f") == 5
    again.forget_old()
    assert again.of(pod, "f") == 5
    for base in bases:
        base.close()
    # without an answer of the database, each replica counts on its own
    away = PodAttempts(ServiceDatabase("postgresql://nobody@127.0.0.1:1/none", patience_s=0))
    assert [away.of(pod, uid) for uid in ("a", "b", "a")] == [1, 2, 1]


def test_a_limit_holds_for_all_replicas_together(replicas: tuple[Path, Path]) -> None:
    now = [0.0]
    here, there = (
        {"requests": Buckets(per_s=1e-6, burst=10, clock=lambda: now[0])} for _ in range(2)
    )
    exchanges = [
        BucketExchange(ServiceDatabase.of(folder), buckets)
        for folder, buckets in zip(replicas, (here, there), strict=True)
    ]
    assert [here["requests"].wait_s("ann") for _ in range(6)] == [0.0] * 6
    exchanges[0].exchange()
    assert there["requests"].wait_s("ann") == 0.0
    exchanges[1].exchange()
    left = [there["requests"].wait_s("ann") for _ in range(5)]
    assert [wait == 0.0 for wait in left] == [True, True, True, False, False]
    assert there["requests"].wait_s("bob") == 0.0
    for one in exchanges:
        one.stop()


def task(id: str, kind: str = "size") -> BackgroundTask:
    return BackgroundTask(id, kind, {"risk": 0.01}, "ann", "waiting", f"2026-01-01T00:00:0{id}")


def test_each_task_is_taken_by_one_replica_and_those_that_write_run_alone(
    replicas: tuple[Path, Path],
) -> None:
    one, two = (TaskRows(folder, "tasks") for folder in replicas)
    for place, kind in enumerate(("learn", "size", "watch", "import", "size")):
        one.add(task(str(place), kind), "second" if kind == "import" else None)
    taken = [one.claim("first"), two.claim("second"), one.claim("first"), two.claim("second")]
    # watch and import change the workspace too, and wait for learn
    assert [found and found.id for found in taken] == ["0", "1", "4", None]
    assert one.end("0", "first", "done", result='{"a": 1}')
    assert not one.end("0", "first", "failed")
    assert two.one("0").result == {"a": 1}  # type: ignore[union-attr]
    assert one.claim("first").id == "2"  # type: ignore[union-attr]
    assert one.end("2", None, "cancelled")
    assert not one.renew("2", "first")
    # the file to import is at the other replica
    assert one.claim("first") is None
    assert two.claim("second").id == "3"  # type: ignore[union-attr]
    assert two.count("running") == 3
    one.close()
    two.close()


def test_a_task_whose_replica_is_gone_is_taken_over(
    replicas: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from prophase.serve.background import task_rows

    one, two = (TaskRows(folder, "tasks") for folder in replicas)
    one.add(task("0"), None)
    one.add(task("1", "import"), "first")
    monkeypatch.setattr(task_rows, "LEASE_S", -1.0)
    assert one.claim("first") is not None
    assert one.claim("first") is not None
    assert two.take_over()
    assert two.claim("second").id == "0"  # type: ignore[union-attr]
    # the one that was away for too long changes nothing any more
    assert not one.end("0", "first", "done", result="{}")
    assert "stopped before" in str(two.one("1").error)  # type: ignore[union-attr]
    for _ in range(2):
        two.take_over()
        two.claim("third")
    two.take_over()
    assert two.one("0").state == "failed"  # type: ignore[union-attr]
    one.close()
    two.close()


def test_models_are_published_as_versions_and_every_replica_switches_to_the_one_in_use(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROPHASE_DATABASE", new_database(server))
    folders = [Workspace.create(tmp_path / name).folder for name in ("one", "two")]
    one, two = map(ModelVersions, folders)
    assert one.current() is None
    assert not two.synchronise("two")
    (folders[0] / "models").mkdir()
    model = [folder / "models" / "bins.model" for folder in folders]
    model[0].write_bytes(b"first" * 2_000_000)
    one.synchronise("one")
    assert two.synchronise("two")
    assert model[1].read_bytes() == model[0].read_bytes()
    assert (one.number, two.number) == (1, 1)
    # a change at the other one goes back, and nothing is published twice
    model[1].write_bytes(b"second")
    two.synchronise("two")
    assert one.synchronise("one")
    assert model[0].read_bytes() == b"second"
    assert not one.synchronise("one")
    assert [(v.number, v.made_by, v.in_use) for v in one.all()] == [
        (2, "two", True), (1, "one", False)
    ]  # fmt: skip
    # back to the one before, for all
    one.use(1)
    assert all([one.synchronise("one"), two.synchronise("two")])
    assert {path.read_bytes()[:5] for path in model} == {b"first"}
    with pytest.raises(ParameterError, match="no version 9"):
        one.use(9)
    # a fetch that was cut off is not taken for a change
    two._hold(1, two.current().files, broken=True)  # type: ignore[union-attr]
    model[1].write_bytes(b"half")
    assert two.synchronise("two")
    assert model[1].read_bytes()[:5] == b"first"
    assert len(one.all()) == 2
    one.close()
    two.close()
    shutil.rmtree(tmp_path)


def test_an_address_that_no_replicas_can_share_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Workspace.create(tmp_path / "ws").folder
    (folder / "prophase.toml").write_text('[serve]\ndatabase = "mysql://db/x"\n')
    with pytest.raises(ParameterError, match="'mysql' is no database for several replicas"):
        shared_address(folder)
    (folder / "prophase.toml").write_text("[serve]\ndatabase = 5\n")
    with pytest.raises(ParameterError, match="is an address such as"):
        shared_address(folder)
    monkeypatch.setenv("PROPHASE_DATABASE", "postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(DatabaseError, match="does not answer"):
        ServiceDatabase.of(folder, patience_s=0)


def test_a_database_of_a_later_version_is_refused(tmp_path: Path) -> None:
    import sqlite3

    ServiceDatabase.of(tmp_path).close()
    with sqlite3.connect(tmp_path / "service" / "feedback.sqlite") as kept:
        kept.execute("UPDATE numbers SET number = 99 WHERE name = 'schema'")
    kept.close()
    with pytest.raises(DatabaseError, match="newer Prophase"):
        ServiceDatabase.of(tmp_path)
