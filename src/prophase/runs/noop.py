"""An executor that does nothing and succeeds at once: to try a campaign, or measure its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prophase.runs.executor import SUCCEEDED, Assignment, Check


class NoopExecutor:
    """Every step succeeds; every task has one row that says nothing was used."""

    name = "noop"

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def deploy(self, job: Assignment) -> str:
        return job.new_dag_id

    def check_deploy(self, job: Assignment) -> Check:
        return SUCCEEDED

    def execute(self, job: Assignment) -> str:
        return job.new_run_id

    def check_execute(self, job: Assignment) -> Check:
        return SUCCEEDED

    def profile(self, job: Assignment) -> str:
        return job.new_profiling_id

    def check_profile(self, job: Assignment) -> Check:
        rows = [{"task": t, "attempt": 1, "status": "completed"} for t in job.pipeline.tasks]
        return Check("succeeded", task_rows=rows)

    def allocate(self, allocations: Mapping[str, Mapping[str, Any]]) -> None:
        """Leave them: nothing is run."""

    def repair(self, job: Assignment) -> str | None:
        return None

    def tidy(self, executing: Sequence[Assignment], campaign: str = "") -> list[str]:
        return []
