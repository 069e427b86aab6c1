"""A real Airflow on the loopback: API server, scheduler and DAG processor, SQLite metadata."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from prophase.integrations.airflow.api import AirflowApi, AirflowApiError

VENV = Path(__file__).parents[2] / ".venv-airflow"
#: names a cluster, so that pods can be made up; nobody answers there
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
"""
_SERVICES = ("api-server", "scheduler", "dag-processor")
_PATIENCE_S = 300


@dataclass(frozen=True)
class AirflowHome:
    """A folder of Airflow's own, with an empty metadata database."""

    folder: Path
    port: int
    #: seconds without a heartbeat after which the scheduler is called unhealthy
    health_after_s: float = 30

    @property
    def dags(self) -> Path:
        return self.folder / "dags"

    @property
    def environment(self) -> dict[str, str]:
        settings = {
            "CORE__LOAD_EXAMPLES": "False",
            "CORE__EXECUTOR": "LocalExecutor",
            "CORE__PARALLELISM": "3",
            "CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{self.port}/execution/",
            "CORE__SIMPLE_AUTH_MANAGER_USERS": "tester:admin",
            "API__HOST": "127.0.0.1",
            "API__PORT": str(self.port),
            "API__WORKERS": "1",
            "API_AUTH__JWT_SECRET": "for tests only " * 5,
            "DAG_PROCESSOR__REFRESH_INTERVAL": "1",
            "DAG_PROCESSOR__BUNDLE_REFRESH_CHECK_INTERVAL": "1",
            "SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "2",
            "SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": f"{self.health_after_s:g}",
            "DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.folder}/airflow.db",
        }
        ours = {f"AIRFLOW__{name}": value for name, value in settings.items()}
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW_", "PYTHON"))}
        return {**kept, **ours, "AIRFLOW_HOME": str(self.folder), "NO_PROXY": "127.0.0.1"}

    def pid_of(self, service: str) -> int:
        """Return the process id of a service, which leads a group of its own."""
        return int((self.folder / f"{service}.pid").read_text())

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program with Airflow's Python to its end."""
        return subprocess.run(
            [str(VENV / "bin" / "python"), *words],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE_S,
        )


def new_airflow_home(folder: Path, *, health_after_s: float = 30) -> AirflowHome:
    """Make a home, or skip the test where there is no Airflow."""
    if not list(VENV.glob(".ready-*")):
        pytest.skip("no Airflow; tools/airflow-env makes one in .venv-airflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = AirflowHome(folder, port, health_after_s)
    home.dags.mkdir(parents=True)
    shutil.copy(VENV / "home" / "airflow.db", folder / "airflow.db")
    return home


@contextmanager
def running_airflow(
    folder: Path, *, health_after_s: float = 30
) -> Iterator[tuple[AirflowHome, AirflowApi]]:
    """Start all services and yield a client once they are healthy."""
    home = new_airflow_home(folder, health_after_s=health_after_s)
    services = []
    try:
        for name in _SERVICES:
            with (folder / f"{name}.log").open("wb") as log:
                services.append(
                    subprocess.Popen(
                        [str(VENV / "bin" / "airflow"), name],
                        env=home.environment,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )
            (folder / f"{name}.pid").write_text(str(services[-1].pid))
        yield home, _healthy(home, services)
    finally:
        for service in services:
            with suppress(ProcessLookupError):
                os.killpg(service.pid, signal.SIGKILL)
            service.wait()


def _healthy(home: AirflowHome, services: list[subprocess.Popen[bytes]]) -> AirflowApi:
    end = time.monotonic() + _PATIENCE_S
    passwords = home.folder / "simple_auth_manager_passwords.json.generated"
    while time.monotonic() < end:
        for service in services:
            assert service.poll() is None, f"{service.args} ended; see {home.folder}"
        with suppress(AirflowApiError, OSError, ValueError, KeyError):
            password = json.loads(passwords.read_text())["tester"]
            api = AirflowApi(f"http://127.0.0.1:{home.port}", user="tester", password=password)
            states = api.get("monitor", "health")
            if all(states[s]["status"] == "healthy" for s in ("scheduler", "dag_processor")):
                return api
        time.sleep(0.2)
    raise AssertionError(f"Airflow was not healthy within {_PATIENCE_S} s; see {home.folder}")
