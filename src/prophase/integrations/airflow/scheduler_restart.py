"""Airflow's own scheduler: noticed when it is stuck, and restarted by a command of the operator.

Airflow's REST API says how its scheduler is but cannot restart it; how that is done depends on
where it runs (a deployment of Kubernetes, a unit of systemd, a container).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from pathlib import Path

from prophase import units
from prophase.atomic_files import write_whole
from prophase.json_types import JsonMapping

#: after a restart the scheduler gets this long to report
_PATIENCE_S = 60.0
_TIMEOUT_S = 120.0


def keep_scheduler_alive(health: JsonMapping | None, marker: Path) -> list[str]:
    """Restart Airflow's scheduler if it is stuck or its regular restart is due; say what was done.

    Parameters
    ----------
    health : mapping, optional
        What ``/monitor/health`` answers.
    marker : path
        File whose time says when it was last restarted.
    """
    scheduler = (health or {}).get("scheduler") or {}
    command = os.environ.get("PROPHASE_AIRFLOW_RESTART")
    age_s = _age_s(marker)
    if scheduler.get("status") == "unhealthy":
        last = scheduler.get("latest_scheduler_heartbeat")
        seen = f"has not reported since {last}" if last else "has never reported"
        if not command:
            return [
                f"Airflow's scheduler {seen}. Set PROPHASE_AIRFLOW_RESTART to the command that "
                "restarts it, such as: kubectl rollout restart deployment/airflow-scheduler"
            ]
        return (
            [] if age_s is not None and age_s < _PATIENCE_S else [_restart(command, marker, seen)]
        )
    every = os.environ.get("PROPHASE_AIRFLOW_RESTART_EVERY")
    if command and every:
        every_s = units.parse_duration(
            every, bare="s", where="PROPHASE_AIRFLOW_RESTART_EVERY", positive=True
        )
        if age_s is None:
            write_whole(marker, "seen\n")
        elif age_s >= every_s:
            return [_restart(command, marker, f"is restarted every {every}")]
    return []


def _restart(command: str, marker: Path, why: str) -> str:
    write_whole(marker, f"{why}\n")
    try:
        done = subprocess.run(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"Airflow's scheduler {why}; {command!r} could not restart it: {error}"
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it printed no reason"])[-1]
        return f"Airflow's scheduler {why}; {command!r} ended with {done.returncode}: {said}"
    return f"Airflow's scheduler {why}; restarted it with {command!r}"


def _age_s(marker: Path) -> float | None:
    try:
        return time.time() - marker.stat().st_mtime
    except OSError:
        return None
