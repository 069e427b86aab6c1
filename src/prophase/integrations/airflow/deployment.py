"""What is put into Airflow's folder of DAGs: one folder per scenario and version of the code."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

from prophase.atomic_files import make_whole_folder, write_whole
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.runs.executor import Assignment

_LONGEST_ID = 200
_RETRY_DELAY_S = 1.0
_DAG_FILE = '''\
"""An Airflow DAG made by Prophase from a pipeline; changes are lost with the next deployment."""

from pathlib import Path

from prophase.integrations.airflow.dags import pipeline_dag

dag = pipeline_dag(Path(__file__).with_name("deployment.json"))
'''


def airflow_id(text: str) -> str:
    """Return an id that Airflow allows; texts that differ stay different.

    Examples
    --------
    >>> airflow_id("demand--eu.north--0123abcd")
    'demand--eu.north--0123abcd'
    >>> airflow_id("demand--København--0123abcd")
    'demand--K-benhavn--0123abcd-bb415958'
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", text)
    if plain == text and len(text) <= _LONGEST_ID:
        return text
    return f"{plain[:_LONGEST_ID]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def dags_folder() -> Path:
    """Return the folder in which Airflow looks for DAGs."""
    named = os.environ.get("PROPHASE_AIRFLOW_DAGS")
    home = os.environ.get("AIRFLOW_HOME")
    if not named and not home:
        raise ParameterError(
            "Where does Airflow look for DAGs? Set PROPHASE_AIRFLOW_DAGS to that folder."
        )
    return Path(named or f"{home}/dags").expanduser().resolve()


def allocations_variable(job: Assignment | str) -> str:
    """Return the name of the Airflow Variable that holds what is set per task."""
    campaign = job if isinstance(job, str) else job.campaign
    return f"prophase_allocations_{campaign}" if campaign else "prophase_allocations"


def deployment_text(job: Assignment, dag_id: str) -> str:
    """Return what Airflow needs to know of a deployment, as JSON."""
    described: JsonObject = {
        "dag_id": dag_id,
        "campaign": job.campaign,
        "pipeline": job.pipeline.name,
        "scenario": job.scenario,
        "version": job.version,
        "attributes": dict(job.attributes),
        "parallel_tasks": job.pipeline.parallel_tasks,
        "retry_delay_s": _RETRY_DELAY_S,
        "allocations_variable": allocations_variable(job),
        "tasks": {task.name: list(task.after) for task in job.pipeline.tasks.values()},
    }
    return json.dumps(described, indent=1, sort_keys=True, default=str)


def write_deployment(job: Assignment, place: Path, dag_id: str) -> None:
    """Put the DAG, its description and the job code into a folder that appears whole."""
    job.check_code()

    def fill(fresh: Path) -> None:
        fresh.mkdir()
        (fresh / "scenario.yaml").write_text(job.scenario_yaml, encoding="utf-8")
        (fresh / "pipeline.yaml").write_text(job.pipeline.text, encoding="utf-8")
        write_whole(fresh / "deployment.json", deployment_text(job, dag_id))
        # Airflow looks for DAGs in every file that .airflowignore does not name
        (fresh / ".airflowignore").write_text("code/\n", encoding="utf-8")
        if job.code is not None:
            shutil.copytree(job.code, fresh / "code", symlinks=True)
        (fresh / "dag.py").write_text(_DAG_FILE, encoding="utf-8")

    make_whole_folder(place, fill)
