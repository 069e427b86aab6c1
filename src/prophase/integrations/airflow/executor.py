"""The Airflow executor: a deployment is a DAG, an execution is one of its runs.

DAGs are put into Airflow's folder of DAGs; everything else goes through its REST API. The job code
and what is measured are files: Airflow's workers must see the folder of DAGs and that of the
campaign at the same places as we do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from prophase.atomic_files import write_whole
from prophase.integrations.airflow.api import AirflowApi, AirflowApiError
from prophase.integrations.airflow.deployment import (
    airflow_id,
    allocations_variable,
    dags_folder,
    deployment_text,
    write_deployment,
)
from prophase.integrations.airflow.scheduler_restart import keep_scheduler_alive
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.runs.executor import RUNNING, SUCCEEDED, Assignment, ExecutorCheck
from prophase.runs.local.attempt_process import judge
from prophase.runs.local.attempts import read_json
from prophase.runs.local.run_records import run_spec, task_rows

_NOT_FOUND, _CONFLICT = 404, 409
#: not the name of the package: Airflow can import from its folder of DAGs
_FOLDER = "prophase_dags"
_MADE_BY = "prophase"
#: the note of a DAG run says after how many resets its failed tasks were last set going
_NOTE = "prophase: begun after {} resets"


class AirflowExecutor:
    """Runs pipelines as DAGs of Airflow 3.

    Parameters
    ----------
    folder : path
        Of the campaign; runs and their samples are kept below it.
    api : AirflowApi, optional
        By default the one that ``PROPHASE_AIRFLOW_URL``, ``_USER`` and ``_PASSWORD`` or
        ``_TOKEN`` describe.
    dags : path, optional
        Where Airflow looks for DAGs, by default ``PROPHASE_AIRFLOW_DAGS``.
    """

    name = "airflow"

    def __init__(
        self, folder: Path, *, api: AirflowApi | None = None, dags: Path | None = None
    ) -> None:
        self.folder = Path(folder).resolve() / "airflow"
        self._given_api, self._given_dags = api, dags
        self._allocations: Mapping[str, JsonObject] = {}
        self._told: dict[str, str] = {}

    # deployment

    def deploy(self, job: Assignment) -> str:
        """Write the DAG of the scenario; Airflow finds it by itself."""
        dag_id = airflow_id(job.new_dag_id)
        self._api.get("version")
        write_deployment(job, self._place(dag_id), dag_id)
        return dag_id

    def check_deploy(self, job: Assignment) -> ExecutorCheck:
        """Wait until Airflow has read the DAG, and see that it can be run."""
        dag_id = job.dag_id or airflow_id(job.new_dag_id)
        path = self._place(dag_id) / "deployment.json"
        try:
            found = path.read_text(encoding="utf-8")
        except OSError:
            return ExecutorCheck("failed", f"{path}: the deployment is not there.")
        if found != deployment_text(job, dag_id):
            return ExecutorCheck("failed", f"{path}: is not what was registered.")
        dag = self._found("dags", dag_id)
        if dag is None or dag["is_stale"]:
            said = self._import_error(dag_id)
            return (
                ExecutorCheck("failed", f"Airflow cannot read the DAG: {said}") if said else RUNNING
            )
        if dag["is_paused"]:
            self._api.patch("dags", dag_id, body={"is_paused": False})
        return SUCCEEDED

    # execution

    def execute(self, job: Assignment) -> str:
        """Trigger the DAG run; after a reset, set going again what has not succeeded."""
        assert job.dag_id is not None
        run_id = job.run_id or airflow_id(job.new_run_id)
        place = self._run(run_id)
        spec = run_spec(job, run_id, code=str(self._place(job.dag_id) / "code"))
        write_whole(place / "spec.json", json.dumps(spec, indent=1))
        self._tell_allocations(job)
        if not self._trigger(job, run_id, place):
            self._set_going_again(job, run_id)
        return run_id

    def check_execute(self, job: Assignment) -> ExecutorCheck:
        """Ask how the DAG run is; one that somebody has deleted is triggered again."""
        assert job.run_id is not None
        self._tell_allocations(job)
        run = self._dag_run(job)
        if run is None:
            self.execute(job)
            return RUNNING
        if run["state"] == "success":
            return SUCCEEDED
        return ExecutorCheck("failed", self._reason(job)) if run["state"] == "failed" else RUNNING

    # profiling

    def profile(self, job: Assignment) -> str:
        """Refuse a run that has not been executed; rows are read at the check."""
        run = self._dag_run(job)
        if run is None or run["state"] != "success":
            raise job.not_executed()
        return job.new_profiling_id

    def check_profile(self, job: Assignment) -> ExecutorCheck:
        """Read what was measured; every task must have been completed once."""
        assert job.run_id is not None
        place = self._run(job.run_id)
        return job.check_rows(task_rows(place), place)

    def ended_attempts(self, job: Assignment) -> Sequence[JsonObject]:
        """Read what is on record of the run."""
        return [] if job.run_id is None else task_rows(self._run(job.run_id))

    # the rest

    def allocate(self, allocations: Mapping[str, JsonObject]) -> None:
        """Have attempts from now on use these; an Airflow Variable passes them on."""
        self._allocations = {task: dict(values) for task, values in allocations.items()}

    def repair(self, job: Assignment) -> str | None:
        """Unpause the DAG, and clear the tasks that run; Airflow begins them again."""
        if job.run_id is None or job.dag_id is None:
            return None
        run = self._dag_run(job)
        if run is None or run["state"] not in ("queued", "running"):
            return None
        done = []
        if self._api.get("dags", job.dag_id)["is_paused"]:
            self._api.patch("dags", job.dag_id, body={"is_paused": False})
            done.append("unpaused its DAG")
        cleared = self._clear(job.dag_id, job.run_id, only_running=True)
        if cleared:
            done.append(f"cleared {counted(cleared, 'running task')}")
        return ", ".join(done) or None

    def tidy(self, executing: Sequence[Assignment], campaign: str = "") -> list[str]:
        """Restart a scheduler that is stuck; fail this campaign's runs that nobody waits for."""
        wanted = {job.run_id or airflow_id(job.new_run_id) for job in executing}
        health = self._found("monitor", "health")
        done = keep_scheduler_alive(health, self.folder / "scheduler-restarted")
        for run in self._api.all_of(
            "dag_runs", "dags", "~", "dagRuns", state=["queued", "running"]
        ):
            conf = run.get("conf") or {}
            ours = conf.get("made_by") == _MADE_BY and conf.get("campaign") == campaign
            if ours and run["dag_run_id"] not in wanted:
                path = ("dags", run["dag_id"], "dagRuns", run["dag_run_id"])
                self._api.patch(*path, body={"state": "failed"})
                done.append(f"ended DAG run {run['dag_run_id']}, which nobody waits for")
        return done

    def _trigger(self, job: Assignment, run_id: str, place: Path) -> bool:
        """Create the DAG run; say whether it was new."""
        assert job.dag_id is not None
        conf = {
            "made_by": _MADE_BY,
            "campaign": job.campaign,
            "folder": str(place),
            "execution_date": str(job.execution_date),
            **job.attributes,
        }
        # the same date may be run again after a reset, which Airflow allows without a logical date
        body = {"dag_run_id": run_id, "logical_date": None, "conf": conf}
        body["note"] = _NOTE.format(job.resets)
        try:
            self._api.post("dags", job.dag_id, "dagRuns", body=body)
        except AirflowApiError as refused:
            if refused.status != _CONFLICT:
                raise
            return False
        return True

    def _set_going_again(self, job: Assignment, run_id: str) -> None:
        assert job.dag_id is not None
        path = ("dags", job.dag_id, "dagRuns", run_id)
        run = self._api.get(*path)
        note = _NOTE.format(job.resets)
        if run["note"] == note:
            return
        if run["state"] == "failed":
            self._clear(job.dag_id, run_id, only_failed=True)
        self._api.patch(*path, body={"note": note}, update_mask="note")

    def _clear(self, dag_id: str, run_id: str, **which: bool) -> int:
        body = {"dag_run_id": run_id, "dry_run": False, "reset_dag_runs": True}
        body |= {"only_failed": False, **which}
        cleared = self._api.post("dags", dag_id, "clearTaskInstances", body=body)
        return len(cleared["task_instances"])

    def _reason(self, job: Assignment) -> str:
        """Say which tasks failed, from what is on record or else from Airflow."""
        assert job.dag_id is not None
        assert job.run_id is not None
        place = self._run(job.run_id)
        spec = read_json(place / "spec.json") or {"tasks": {}}
        states = {
            task: judge(place, spec, task, self._allocations.get(task, {}))
            for task in spec["tasks"]
        }
        said = [f"task {t}: {s.reason}" for t, s in states.items() if s.kind == "failed"]
        if not said:
            path = ("dags", job.dag_id, "dagRuns", job.run_id, "taskInstances")
            failed = self._api.all_of("task_instances", *path, state="failed")
            said = [
                f"task {one['task_id']}: failed in Airflow, whose log of it says why"
                for one in failed
            ]
        return "; ".join(said) or "somebody has marked the DAG run as failed in Airflow"

    def _import_error(self, dag_id: str) -> str | None:
        for error in self._api.all_of("import_errors", "importErrors"):
            if Path(error["filename"]).parent.name == dag_id:
                return str(error["stack_trace"]).strip().splitlines()[-1]
        return None

    def _tell_allocations(self, job: Assignment) -> None:
        """Write the Variable that attempts read, if it says something else."""
        key = allocations_variable(job)
        text = json.dumps(self._allocations, sort_keys=True)
        if key not in self._told:
            held = self._found("variables", key) or {"value": "{}"}
            self._told[key] = held["value"]
        if self._told[key] != text:
            self._api.set_variable(key, text, "memory and cores per task, set by Prophase")
            self._told[key] = text

    def _dag_run(self, job: Assignment) -> JsonObject | None:
        assert job.dag_id is not None
        assert job.run_id is not None
        return self._found("dags", job.dag_id, "dagRuns", job.run_id)

    def _found(self, *path: str) -> JsonObject | None:
        try:
            return self._api.get(*path)
        except AirflowApiError as refused:
            if refused.status != _NOT_FOUND:
                raise
            return None

    def _place(self, dag_id: str) -> Path:
        return self._dags / _FOLDER / dag_id

    def _run(self, run_id: str) -> Path:
        return self.folder / "runs" / run_id

    @cached_property
    def _api(self) -> AirflowApi:
        return self._given_api or AirflowApi.of_environment()

    @cached_property
    def _dags(self) -> Path:
        return Path(self._given_dags) if self._given_dags is not None else dags_folder()
