"""Health: can the service answer, from what, and what waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from prophase.errors import ProphaseError
from prophase.plural import counted
from prophase.serve.background.task_rows import STATES
from prophase.serve.background.tasks import BackgroundTasks
from prophase.serve.dependencies import LoadedWorkspaceNow, TasksNow, WorkspaceCacheNow
from prophase.serve.loaded_workspace import MODELS, LoadedWorkspace, WorkspaceCache
from prophase.serve.model_versions import ModelVersions
from prophase.serve.pages.templates import page

router = APIRouter()
#: tasks that wait before an operator should know
_MANY_TASKS = 10


@dataclass(frozen=True)
class HealthCheck:
    """One thing that is well or not."""

    subject: str
    state: Literal["good", "warning", "bad"]
    found: str
    #: what to do about it
    action: str = ""


@router.get("/health")
def health(
    request: Request, held: LoadedWorkspaceNow, library: WorkspaceCacheNow, tasks: TasksNow
) -> Response:
    """Show what an operator looks at first."""
    checks = [
        *_models(held),
        _reports(library),
        _tasks(tasks),
        _database(request.app.state.versions),
    ]
    worst = max((one.state for one in checks), key=("good", "warning", "bad").index)
    return page(request, "health.html", section="health", checks=checks, worst=worst)


def _models(held: LoadedWorkspace) -> Iterator[HealthCheck]:
    missing = "predictions" not in held.models
    if missing and "predictions" not in held.broken:
        yield HealthCheck(
            "Predictions", "bad", "there is no model, so jobs pass as they are",
            f"prophase learn {held.workspace.folder.name}",
        )  # fmt: skip
    for name in MODELS:
        if name in held.broken:
            still = "; the one before still answers" if name in held.models else ""
            yield HealthCheck(name.capitalize(), "bad", f"{held.broken[name]}{still}")
        elif name in held.models:
            yield HealthCheck(name.capitalize(), "good", f"loaded {held.loaded_at}")


def _reports(library: WorkspaceCache) -> HealthCheck:
    reported = library.feedback.count
    if not reported:
        return HealthCheck("Reported jobs", "good", "none yet")
    return HealthCheck("Reported jobs", "good", f"{reported:,}, on the disk before confirmation")


def _tasks(tasks: BackgroundTasks) -> HealthCheck:
    counts = {state: tasks.count(state) for state in STATES}
    found = ", ".join(f"{number:,} {state}" for state, number in counts.items() if number)
    if counts["waiting"] > _MANY_TASKS:
        return HealthCheck("Tasks", "warning", found, "Cancel some, or run more replicas.")
    return HealthCheck("Tasks", "good", found or "none")


def _database(versions: ModelVersions | None) -> HealthCheck:
    if versions is None:
        return HealthCheck("Database", "good", "a file in the workspace; no replicas")
    try:
        current = versions.current()
    except ProphaseError as error:
        words = "Predictions and admissions go on; reports wait until it is back."
        return HealthCheck("Database", "bad", str(error), words)
    number = None if current is None else current.number
    found = f"shared by replicas; this one has version {versions.number} of the models"
    if number != versions.number:
        return HealthCheck("Database", "warning", f"{found}, {number} is in use")
    kept = counted(len(versions.all()), "version")
    return HealthCheck("Database", "good", f"{found}, which is in use; {kept} kept")
