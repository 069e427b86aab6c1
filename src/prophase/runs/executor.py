"""What an executor must be able to do, where executors are found, and one that does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal, Protocol

import yaml

from prophase.errors import ExecutorError, MissingExtraError, ParameterError
from prophase.json_types import JsonObject
from prophase.runs.pipeline import Pipeline

Progress = Literal["running", "succeeded", "failed"]


@dataclass(frozen=True)
class Assignment:
    """All that an executor needs to know of a run."""

    id: int
    scenario: str
    attributes: Mapping[str, object]
    execution_date: date
    version: str
    pipeline: Pipeline
    #: folder of the job code, or None if the pipeline needs none
    code: Path | None
    dag_id: str | None = None
    run_id: str | None = None
    profiling_id: str | None = None
    #: how often it was begun from nothing, and how often it was reset at all
    beginnings: int = 0
    resets: int = 0
    #: tells apart the runs of campaigns that share a cluster
    campaign: str = ""

    @property
    def new_dag_id(self) -> str:
        """The name of the deployment: the same for the same scenario and code."""
        ours = f"--{self.campaign}" if self.campaign else ""
        return f"{self.pipeline.name}--{_plain(self.scenario)}--{self.version[:8]}{ours}"

    @property
    def new_run_id(self) -> str:
        """The name of the execution: the same however often it is triggered."""
        again = f"-{self.beginnings}" if self.beginnings else ""
        return f"{self.new_dag_id}--{self.execution_date}--{self.id}{again}"

    @property
    def new_profiling_id(self) -> str:
        """The name of the profiling job."""
        again = f"-{self.resets}" if self.resets else ""
        return f"profile--{self.new_run_id}{again}"

    @property
    def scenario_yaml(self) -> str:
        """What a deployment says of its scenario."""
        described = {"scenario": self.scenario, "version": self.version, **self.attributes}
        return str(yaml.safe_dump(described, sort_keys=True, allow_unicode=True))

    def placeholders(self, run_id: str, **more: str) -> dict[str, object]:
        """Return what the placeholders of commands stand for."""
        about = {"date": str(self.execution_date), "scenario": self.scenario, "run_id": run_id}
        return {**self.attributes, **about, **more}

    def environment(self, values: Mapping[str, object], *names: str) -> dict[str, str]:
        """Return the variables that a task finds the scenario and these values in.

        ``PROPHASE_DATE``, ``PROPHASE_SCENARIO``, ``PROPHASE_RUN_ID`` and ``PROPHASE_CODE``, and
        one for each attribute of the scenario.
        """
        held = {**self.attributes, **{name: values[name] for name in names}}
        return {f"PROPHASE_{key.upper()}": str(value) for key, value in held.items()}

    def check_code(self) -> None:
        """Refuse to deploy job code that is not there."""
        if self.code is not None and not self.code.is_dir():
            raise ExecutorError(
                f"{self.code}: the job code of version {self.version[:8]} is not there. "
                "Register the scenarios again from where the code is."
            )

    def not_executed(self) -> ExecutorError:
        """Return the refusal to profile the run."""
        return ExecutorError(
            f"Run {self.run_id} has not finished successfully, so it cannot be profiled."
        )

    def check_rows(self, rows: Sequence[JsonObject], place: Path) -> ExecutorCheck:
        """Return the rows of a profiling if every task was completed once."""
        completed = sorted(row["task"] for row in rows if row["status"] == "completed")
        if completed != sorted(self.pipeline.tasks):
            return ExecutorCheck("failed", f"{place}: has not one completed attempt per task.")
        return ExecutorCheck("succeeded", task_rows=rows)


@dataclass(frozen=True)
class ExecutorCheck:
    """How far a step has come."""

    progress: Progress
    reason: str = ""
    #: of a profiling that succeeded: one row per attempt at a task
    task_rows: Sequence[JsonObject] = ()


RUNNING = ExecutorCheck("running")
SUCCEEDED = ExecutorCheck("succeeded")


class Executor(Protocol):
    """Deploys, executes and profiles runs.

    Triggers return at once and may be repeated: the same assignment is started once. They raise
    :class:`prophase.errors.ExecutorError` if the command fails immediately. Checks change nothing
    but may bring back to life what was killed.
    """

    name: str

    def deploy(self, job: Assignment) -> str:
        """Begin to deploy the job code with its scenario; return the DAG id."""

    def check_deploy(self, job: Assignment) -> ExecutorCheck:
        """Say whether it is deployed."""

    def execute(self, job: Assignment) -> str:
        """Begin to execute; return the run id. Tasks that have succeeded are not run again."""

    def check_execute(self, job: Assignment) -> ExecutorCheck:
        """Say whether it has been executed."""

    def profile(self, job: Assignment) -> str:
        """Begin to gather what was measured; return the profiling id."""

    def check_profile(self, job: Assignment) -> ExecutorCheck:
        """Say whether it is gathered, with the rows."""

    def ended_attempts(self, job: Assignment) -> Sequence[JsonObject]:
        """Return one row per attempt that has ended, however far the run came."""

    def allocate(self, allocations: Mapping[str, JsonObject]) -> None:
        """Use these allocations per task from the next attempt on."""

    def repair(self, job: Assignment) -> str | None:
        """Restart what hangs; return what was done, or None if nothing can be."""

    def tidy(self, executing: Sequence[Assignment], campaign: str = "") -> list[str]:
        """End what belongs to none of the campaign's runs in execution; return what was done."""


#: executors of the core; others join through the entry point group prophase.executors
BUILT_IN = {
    "local": "prophase.runs.local.executor:LocalExecutor",
    "noop": "prophase.runs.executor:NoopExecutor",
}


def executor_names() -> list[str]:
    """Return the names of all executors that are installed."""
    return [*BUILT_IN, *(point.name for point in entry_points(group="prophase.executors"))]


def make_executor(name: str, folder: Path) -> Executor:
    """Return an executor that keeps its files below a folder."""
    if name in BUILT_IN:
        module, _, kind = BUILT_IN[name].partition(":")
        made: Executor = getattr(import_module(module), kind)(folder)
        return made
    for point in entry_points(group="prophase.executors"):
        if point.name == name:
            try:
                loaded: Executor = point.load()(folder)
            except ModuleNotFoundError as cause:
                raise MissingExtraError(f"The executor {name}", name) from cause
            return loaded
    raise ParameterError.among(f"executor {name!r} is unknown.", name, executor_names())


def _plain(text: str) -> str:
    return "".join(c if c.isalnum() or c in "._" else "-" for c in text)


class NoopExecutor:
    """Every step succeeds; every task has one row that says nothing was used."""

    name = "noop"

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def deploy(self, job: Assignment) -> str:
        return job.new_dag_id

    def check_deploy(self, job: Assignment) -> ExecutorCheck:
        return SUCCEEDED

    def execute(self, job: Assignment) -> str:
        return job.new_run_id

    def check_execute(self, job: Assignment) -> ExecutorCheck:
        return SUCCEEDED

    def profile(self, job: Assignment) -> str:
        return job.new_profiling_id

    def check_profile(self, job: Assignment) -> ExecutorCheck:
        rows = [{"task": t, "attempt": 1, "status": "completed"} for t in job.pipeline.tasks]
        return ExecutorCheck("succeeded", task_rows=rows)

    def ended_attempts(self, job: Assignment) -> Sequence[JsonObject]:
        return []

    def allocate(self, allocations: Mapping[str, JsonObject]) -> None:
        """Leave them: nothing is run."""

    def repair(self, job: Assignment) -> str | None:
        return None

    def tidy(self, executing: Sequence[Assignment], campaign: str = "") -> list[str]:
        return []
