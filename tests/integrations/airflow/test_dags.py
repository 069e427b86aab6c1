from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))
from airflow_server import new_airflow_home

from prophase.runs.campaign import Campaign
from prophase.runs.states import RunState

PIPELINE = """
name: tiny
scenario: [size]
sample_every: 1s
tasks:
  only: {command: "true", memory: 256MiB}
"""
DAGS = """\
# a DAG file of Airflow, as a user writes it
from prophase.integrations.airflow.dags import campaign_dags

scheduler, maintainer = campaign_dags({folder!r}, name="tiny")
"""
#: what users do in Airflow's pages: change the Variable, let the DAGs run
DRIVE = """
import json
from airflow.models import Variable
from tiny import maintainer, scheduler

def settings(**values):
    Variable.set("tiny_settings", json.dumps({k.replace("__", "."): v for k, v in values.items()}))

def go(dag):
    print("STATE", dag.dag_id, dag.test().state)

settings(deploy__parallel=2, execute__parallel=0, exekute__parallel=9)
# branches of a cycle run in any order, so two runs and one may take four cycles to be deployed
for _ in range(4):
    go(scheduler)
settings(execute__parallel=1, deploy__interval_s=3600)
go(scheduler)
go(maintainer)
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    lines = "".join(f"  - {{scenario: s{n}, size: {n}}}\n" for n in range(3))
    (tmp_path / "scenarios.yaml").write_text(f"dates: 2024-01-01\nscenarios:\n{lines}")
    made = Campaign.create(tmp_path / "campaign", tmp_path / "pipeline.yaml")
    made.register(tmp_path / "scenarios.yaml")
    return made


def test_branches_and_maintainer_run_as_dags_with_live_settings_from_a_variable(campaign, tmp_path):
    home = new_airflow_home(tmp_path / "airflow")
    (home.dags / "tiny.py").write_text(DAGS.format(folder=str(campaign.folder)))
    # not among the DAGs: Airflow would run it to see whether it has any
    drive = tmp_path / "drive.py"
    drive.write_text(f"import sys; sys.path.insert(0, {str(home.dags)!r})\n{DRIVE}")
    done = home.python(str(drive))
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-3000:]
    assert [line for line in done.stdout.splitlines() if line.startswith("STATE")] == [
        *["STATE tiny_scheduler success"] * 5,
        "STATE tiny_maintainer success",
    ]
    # all were deployed, two at a time; executing began with the last cycle
    counts = campaign.store.counts()
    assert counts.pop(RunState.DEPLOYED) == 2
    assert sum(counts.values()) == 1
    assert min(counts) >= RunState.EXECUTING
    history = campaign.store.history(1)
    assert all(move.actor for move in history)
    assert "Setting 'exekute.parallel' is unknown" in output
    assert "deploy: its interval is not over" in output
    assert campaign.settings.read()["execute.parallel"] == 1
    assert campaign.workers.alive() == {}
    campaign.executor.tidy([], campaign.key)
    campaign.close()
