"""A small workspace with tables, profiles and models, and clients of its service."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from prophase.serve.app import create_app
from prophase.serve.settings import ServiceSettings

JOBS, DAYS = 300, 2.0


@dataclass(frozen=True)
class Running:
    """``prophase serve`` in a process of its own, and where it answers."""

    process: subprocess.Popen[str]
    address: str


#: starts the service of a workspace, with further options of the command
Run = Callable[..., Running]
#: makes a client of the service of a workspace
Serve = Callable[..., TestClient]


@pytest.fixture(scope="session")
def made_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace nobody may change: synthetic jobs, profiles, predictions, a classifier."""
    from tests.phase.made_series import steps, usage_of

    from prophase.phase.detector import PhaseDetector
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.study.workspace_models import learn_models
    from prophase.trace.synth.pai import make_pai
    from prophase.trace.workspace import Workspace
    from prophase.trace.workspace_paths import PROFILES

    folder = tmp_path_factory.mktemp("served") / "ws"
    made = make_pai(jobs=JOBS, days=DAYS, random_state=0)
    workspace = Workspace.create(folder)
    usage = usage_of({f"s{n}": steps([1.0, 4.0, 7.0] * 3, seed=n) for n in range(2)})
    tables = {**made.tables, "usage": usage}
    workspace.store_frames(tables, source="pai2020", source_hash="synthetic", seed=0)
    PhaseDetector(n_phases=3, window=1).fit(usage).save(folder / "models" / "phases.model")
    jobs = workspace.read("jobs")
    WorkloadProfiler(random_state=0).fit(ended_jobs(jobs).jobs).save(folder / PROFILES)
    learn_models(folder, [name for name in ("duration_s", "memory_peak_gib") if name in jobs])
    return folder


@pytest.fixture
def workspace(made_workspace: Path, tmp_path: Path) -> Path:
    """A copy of the workspace that a test may change."""
    return Path(shutil.copytree(made_workspace, tmp_path / "ws"))


@pytest.fixture
def serve(workspace: Path) -> Iterator[Serve]:
    """Make clients of the service, with the settings given."""
    with ExitStack() as open_clients:

        def make(**settings: object) -> TestClient:
            chosen = ServiceSettings(**{"reload_every_s": 0.0, "open": True, **settings})  # type: ignore[arg-type]
            client = TestClient(create_app(workspace, chosen), raise_server_exceptions=False)
            return open_clients.enter_context(client)

        yield make


@pytest.fixture
def client(serve: Serve) -> TestClient:
    """A client of a service with the usual settings."""
    return serve()


@pytest.fixture
def run() -> Iterator[Run]:
    """Run the real program; it is killed after the test."""
    begun: list[subprocess.Popen[str]] = []

    def start(workspace: Path, *options: str | Path) -> Running:
        program = str(Path(sys.executable).parent / "prophase")
        process = subprocess.Popen(
            [program, "serve", str(workspace), "--port", "0", *map(str, options)],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        begun.append(process)
        assert process.stderr is not None
        line = process.stderr.readline()
        address = line.split(" at ")[1].split()[0]
        for _ in range(600):
            try:
                httpx.get(f"{address}healthz", verify=False)
                return Running(process, address)
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError("the service does not answer")

    yield start
    for process in begun:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
