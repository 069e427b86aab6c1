from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from prophase.errors import ParameterError, ProphaseError
from prophase.workers import parse_workers, run_all


def test_one_worker_runs_here_in_order():
    assert list(run_all(pow, 2, [1, 2, 3])) == [(1, 2), (2, 4), (3, 8)]


def test_processes_get_what_they_share_once_and_give_every_result():
    assert sorted(run_all(pow, 3, list(range(8)), workers=2)) == [(n, 3**n) for n in range(8)]


def test_all_cores_begin_with_one_process_and_finish_with_the_others(monkeypatch):
    for alone_s in (60.0, 0.0):
        monkeypatch.setattr("prophase.workers._ALONE_S", alone_s)
        assert sorted(run_all(pow, 3, [1, 2, 3], workers=0)) == [(1, 3), (2, 9), (3, 27)]


def test_short_tasks_stay_in_this_process_however_many_workers_there_are():
    found = dict(run_all(_process, 0, [1, 2, 3], workers=2, task_s=0.01))
    assert set(found.values()) == {os.getpid()}
    found = dict(run_all(_process, 0, [1, 2, 3], workers=2, task_s=1e6))
    assert os.getpid() not in found.values()


def test_workers_see_the_environment_of_the_moment(monkeypatch):
    for word in ("before", "now"):
        monkeypatch.setenv("PROPHASE_WORD", word)
        assert dict(run_all(_environment, 0, [1, 2], workers=2)) == {1: word, 2: word}


def _environment(shared: int, task: int) -> str:
    return os.environ["PROPHASE_WORD"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_ctrl_c_does_not_reach_the_process_that_loads_ahead():
    script = """
from multiprocessing import forkserver
from prophase.workers import load_ahead, run_all
load_ahead(run_all, 2)
print(open(f"/proc/{forkserver._forkserver._forkserver_pid}/status").read())
"""
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    blocked = next(line for line in said.stdout.splitlines() if line.startswith("SigBlk"))
    assert int(blocked.split()[1], 16) & 1 << signal.SIGINT - 1


def _process(shared: int, task: int) -> int:
    return os.getpid()


def test_an_error_in_a_worker_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(run_all(divmod, 1, [1, 0, 2], workers=2))


def test_a_worker_that_dies_is_reported_in_our_words():
    with pytest.raises(ProphaseError, match="ended before its work was done"):
        list(run_all(_leave, 9, [1, 2], workers=2))


def _leave(code: int, task: int) -> None:
    os._exit(code)


@pytest.mark.parametrize("text", ["many", "dask://", "host", "dask://host:port"])
def test_workers_that_are_neither_a_number_nor_an_address_are_refused(text):
    with pytest.raises(ParameterError, match="not understood"):
        parse_workers(text)


def test_negative_workers_are_refused():
    with pytest.raises(ParameterError, match="0 for all"):
        list(run_all(pow, 2, [1], workers=-1))
