"""The plugin for slurmctld is run by Lua itself, against a service that answers over HTTP."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lupa.lua54
import numpy as np
import pandas as pd
import pytest
import uvicorn

from prophase.profile.predict.job_model import learn
from prophase.serve.app import create_app
from prophase.serve.settings import ServiceSettings
from prophase.serve.tokens import TokenStore
from prophase.sizing.recommendation_file import learn_recommendations
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PREDICTIONS, REQUESTS

SCRIPT = Path(__file__).parent.parent.parent / "deploy" / "slurm" / "job_submit.lua"
POLICY = '[submit]\nmode = "set"\nbudget_ms = 10000\nresources = ["memory", "time"]\n'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Address of a service that needs a token, and the file with one."""
    rows = np.arange(60)
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in rows],
            "group": "nlp",
            "submit_s": 700.0 * rows,
            "duration_s": 600.0 + rows % 5,
            "request_memory_gib": 16.0,
            "time_limit_s": 14_400.0,
            "memory_peak_gib": 2.0,
        }
    )
    folder = tmp_path_factory.mktemp("slurm")
    workspace = Workspace.create(folder / "ws")
    workspace.store_frames({"jobs": jobs}, source="csv", source_hash="h", seed=0)
    learn(jobs, method="backoff-median").save(workspace.folder / PREDICTIONS)
    learn_recommendations(jobs).save(workspace.folder / REQUESTS)
    (workspace.folder / "prophase.toml").write_text(POLICY, encoding="utf-8")
    token = folder / "token"
    token.write_text(TokenStore(workspace.folder).add("slurm", "read") + "\n", encoding="utf-8")
    app = create_app(workspace.folder, ServiceSettings(port=0))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 120
    while not server.started and time.monotonic() < until:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/v1/submit/slurm", token
    server.should_exit = True
    thread.join(60)


class Slurmctld:
    """Loads the plugin as slurmctld does, with the names it gives to plugins."""

    def __init__(self, url: str, token: Path) -> None:
        self.lua = lupa.lua54.LuaRuntime(unpack_returned_tuples=True)
        self.told: list[str] = []
        said = self.told.append
        names = self.lua.globals()
        names.PROPHASE_URL, names.PROPHASE_TOKEN, names.PROPHASE_SECONDS = url, str(token), 60
        names.slurm = self.lua.table_from({"SUCCESS": 0, "log_user": said, "log_info": said})
        names.slurm.log_user = lambda text, *parts: said(text)
        names.slurm.log_info = lambda text, *parts: said(" ".join(map(str, (text, *parts))))
        # this Lua was built without popen; the command is run all the same
        names.io.popen = self._popen
        self.lua.execute(SCRIPT.read_text(encoding="utf-8"))

    def _popen(self, command: str) -> Any:
        said = subprocess.run(command, shell=True, capture_output=True, timeout=120, check=False)
        text = said.stdout.decode()
        return self.lua.table_from({"read": lambda *_: text, "close": lambda *_: True})

    def submit(self, **fields: Any) -> Any:
        job = self.lua.table_from(fields)
        assert self.lua.globals().slurm_job_submit(job, None, 1000) == 0
        return job


JOB = {
    "name": 'tr"ain\n\\ \x01ü', "account": "nlp", "partition": "gpu", "min_nodes": 1,
    "min_mem_per_node": 16 * 1024, "time_limit": 240, "num_tasks": 4294967294,
}  # fmt: skip


def test_a_job_gets_what_the_service_advises(served: tuple[str, Path]) -> None:
    slurmctld = Slurmctld(*served)
    job = slurmctld.submit(**JOB)
    assert 2048 <= job.pn_min_memory < 4096
    assert 10 <= job.time_limit < 240
    assert any("Prophase" in text for text in slurmctld.told)


def test_a_job_nobody_knows_stays_as_it_is(served: tuple[str, Path]) -> None:
    job = Slurmctld(*served).submit(**{**JOB, "account": "bio"})
    assert (job.pn_min_memory, job.time_limit) == (None, 240)


def test_without_service_or_token_jobs_are_submitted_as_they_are(
    served: tuple[str, Path], tmp_path: Path
) -> None:
    for address, token in (("http://127.0.0.1:1/", served[1]), (served[0], tmp_path / "none")):
        job = Slurmctld(address, token).submit(**JOB)
        assert (job.pn_min_memory, job.time_limit) == (None, 240)
    (tmp_path / "empty").write_text("", encoding="utf-8")
    slurmctld = Slurmctld(served[0], tmp_path / "empty")
    assert slurmctld.submit(**JOB).time_limit == 240
    assert any("prophase:" in text for text in slurmctld.told)
