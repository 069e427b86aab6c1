"""Calls on a Dask cluster of two worker processes, which may die."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from prophase import workers
from prophase.errors import MissingExtraError, ProphaseError
from prophase.workers import parse_workers, run_all

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address() -> Iterator[Any]:
    import dask

    # a task is given up when two workers died of it; by default four must
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", protocol="tcp://"
        ) as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        # workers that died have time to come back on a busy machine
        patch.setattr("prophase.workers._CONNECT_S", 40)
        yield parse_workers(cluster.scheduler_address)


def test_a_dask_cluster_gives_the_same_results(address: str) -> None:
    tasks = list(range(6))
    assert sorted(run_all(pow, 2, tasks, workers=address)) == [(n, 2**n) for n in tasks]


def test_an_error_on_a_dask_worker_reaches_the_caller(address: str) -> None:
    with pytest.raises(ZeroDivisionError):
        list(run_all(divmod, 1, [1, 0], workers=address))


def test_workers_of_another_version_are_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prophase.workers.__version__", "99.0")
    with pytest.raises(ProphaseError, match=r"has Prophase [\d.]+, here is 99\.0"):
        list(run_all(pow, 2, [1], workers=address))


def test_the_work_of_a_lost_worker_is_done_by_another(address: str, tmp_path: Path) -> None:
    def die_once(marker: Path, task: int) -> int:
        if task == 2 and not marker.exists():
            marker.touch()
            os._exit(1)
        return 10 * task

    found = dict(run_all(die_once, tmp_path / "died", [1, 2, 3], workers=address))
    assert found == {1: 10, 2: 20, 3: 30}
    assert (tmp_path / "died").exists()


def test_a_task_that_kills_its_workers_is_told_in_our_words(address: str) -> None:
    with pytest.raises(ProphaseError, match="lost workers and what they had to do"):
        list(run_all(lambda code, task: os._exit(code), 9, [1], workers=address))


class _Deserted:
    """A client whose workers have all gone: nothing is ever finished."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __enter__(self) -> _Deserted:
        return self

    def __exit__(self, *error: object) -> None: ...

    def nthreads(self) -> dict[str, int]:
        return {}

    def get_executor(self, **settings: object) -> _Deserted:
        return self

    def submit(self, function: object, *given: object, **settings: object) -> Future[None]:
        return Future()

    def shutdown(self, wait: bool) -> None: ...


def test_nobody_waits_for_workers_that_are_all_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_IDLE_S", 0.2)
    monkeypatch.setattr(workers, "connected", _Deserted)
    with pytest.raises(ProphaseError, match="lost workers"):
        list(run_all(pow, 2, [1], workers="dask://127.0.0.1:9"))


def test_a_dask_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prophase.workers._CONNECT_S", 0.2)
    with pytest.raises(ProphaseError, match=r"no Dask scheduler answers at dask://127.0.0.1:9"):
        list(run_all(pow, 2, [1], workers="dask://127.0.0.1:9"))


def test_a_dask_scheduler_without_workers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prophase.workers._CONNECT_S", 2.0)
    said = r"has no workers\. Start some with: dask worker"
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0", protocol="tcp://"
        ) as cluster,
        pytest.raises(ProphaseError, match=said),
    ):
        list(run_all(pow, 2, [1], workers=parse_workers(cluster.scheduler_address)))


def test_dask_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"prophase\[dask\]"):
        list(run_all(pow, 2, [1], workers="dask://127.0.0.1:9"))
