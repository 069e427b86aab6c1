from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))
from airflow_server import VENV, running_airflow

from prophase.errors import ParameterError
from prophase.integrations.airflow.executor import AirflowExecutor
from prophase.integrations.airflow.scheduler_restart import keep_scheduler_alive

STUCK = {"scheduler": {"status": "unhealthy", "latest_scheduler_heartbeat": "2024-01-01"}}
HEALTHY = {"scheduler": {"status": "healthy"}}


def test_a_stuck_scheduler_without_a_command_says_what_to_set(tmp_path, monkeypatch):
    monkeypatch.delenv("PROPHASE_AIRFLOW_RESTART", raising=False)
    [said] = keep_scheduler_alive(STUCK, tmp_path / "m")
    assert "has not reported since 2024-01-01" in said
    assert "Set PROPHASE_AIRFLOW_RESTART" in said
    assert keep_scheduler_alive(HEALTHY, tmp_path / "m") == []
    assert keep_scheduler_alive(None, tmp_path / "m") == []


def test_a_restart_is_done_once_and_gets_time_to_work(tmp_path, monkeypatch):
    monkeypatch.setenv("PROPHASE_AIRFLOW_RESTART", f"touch {tmp_path}/done")
    [said] = keep_scheduler_alive(STUCK, tmp_path / "m")
    assert "restarted it with 'touch" in said
    assert (tmp_path / "done").exists()
    assert keep_scheduler_alive(STUCK, tmp_path / "m") == []
    os.utime(tmp_path / "m", (0, 0))
    assert len(keep_scheduler_alive(STUCK, tmp_path / "m")) == 1


def test_a_regular_restart_comes_when_it_is_due(tmp_path, monkeypatch):
    monkeypatch.setenv("PROPHASE_AIRFLOW_RESTART", "true")
    monkeypatch.setenv("PROPHASE_AIRFLOW_RESTART_EVERY", "24h")
    assert keep_scheduler_alive(HEALTHY, tmp_path / "m") == []
    assert keep_scheduler_alive(HEALTHY, tmp_path / "m") == []
    os.utime(tmp_path / "m", (0, 0))
    assert "every 24h" in keep_scheduler_alive(HEALTHY, tmp_path / "m")[0]
    monkeypatch.setenv("PROPHASE_AIRFLOW_RESTART_EVERY", "often")
    with pytest.raises(ParameterError, match="PROPHASE_AIRFLOW_RESTART_EVERY"):
        keep_scheduler_alive(HEALTHY, tmp_path / "m")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sh -c 'echo no rights >&2; exit 3'", "ended with 3: no rights"),
        ("no-such-program", "could not restart it"),
    ],
)
def test_a_command_that_fails_is_reported(tmp_path, monkeypatch, command, said):
    monkeypatch.setenv("PROPHASE_AIRFLOW_RESTART", command)
    assert said in keep_scheduler_alive(STUCK, tmp_path / "m")[0]


def test_a_frozen_scheduler_of_a_real_airflow_is_restarted_by_the_maintainer(tmp_path, monkeypatch):
    with running_airflow(tmp_path / "airflow", health_after_s=6) as (home, api):
        frozen = home.pid_of("scheduler")
        restart = tmp_path / "restart.sh"
        # what systemctl or kubectl does elsewhere: end the old one, start another
        restart.write_text(
            f"#!/bin/sh\nkill -KILL -- -{frozen}\n"
            f"setsid {VENV}/bin/airflow scheduler >{tmp_path}/second.log 2>&1 </dev/null &\n"
            f"echo $! >{tmp_path}/second.pid\n"
        )
        restart.chmod(0o755)
        executor = AirflowExecutor(tmp_path / "campaign", api=api, dags=home.dags)
        monkeypatch.setenv("PROPHASE_AIRFLOW_RESTART", str(restart))
        for key, value in home.environment.items():
            monkeypatch.setenv(key, value)
        assert executor.tidy([], "c") == []
        os.killpg(frozen, signal.SIGSTOP)
        try:
            done = _until(lambda: executor.tidy([], "c"))
            assert "restarted it with" in done[0]
            _until(lambda: api.get("monitor", "health")["scheduler"]["status"] == "healthy")
            assert executor.tidy([], "c") == []
        finally:
            second = tmp_path / "second.pid"
            if second.exists():
                os.killpg(int(second.read_text()), signal.SIGKILL)


def _until(look):
    end = time.monotonic() + 120
    while not (found := look()):
        assert time.monotonic() < end
        time.sleep(0.2)
    return found
