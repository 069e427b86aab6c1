"""Drift: are predictions and profiles still right?"""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from prophase.json_types import JsonObject
from prophase.profile.drift.watch_folder import watch_as_json, watch_folder
from prophase.serve.api.tasks import LATER, Wait, begin
from prophase.serve.dependencies import (
    Caller,
    LoadedWorkspaceNow,
    TasksNow,
    WorkspaceCacheNow,
    require,
)
from prophase.serve.json_bodies import JsonRoute
from prophase.trace.workspace_paths import WATCH

router = APIRouter(route_class=JsonRoute, tags=["drift"])


@router.get("/drift", dependencies=[Depends(require("read"))])
def drift(held: LoadedWorkspaceNow, library: WorkspaceCacheNow) -> JsonObject:
    """Say how good predictions are and what was corrected; as `prophase watch --format json`.

    `watching` is false until the first `POST /v1/drift` or `prophase watch`.
    """
    state = held.workspace.folder / WATCH / "state.model"
    reported = library.feedback.count
    if "jobs" not in held.tables or not state.is_file():
        return {"watching": False, "reported_jobs": reported}
    stamp = state.stat().st_mtime_ns

    def told() -> JsonObject:
        folder = watch_folder(held.workspace)
        return watch_as_json(folder.load(), folder)

    return {"watching": True, "reported_jobs": reported, **held.answer(("drift", stamp), told)}


@router.post("/drift", dependencies=[Depends(require("admin"))], **LATER)
async def watch(tasks: TasksNow, who: Caller, response: Response, wait: Wait = 0.0) -> JsonObject:
    """Compare the reported jobs with their predictions, and correct what broke.

    The same as `prophase watch --with` the reported jobs; each job is watched once. The service
    loads what was corrected.
    """
    return await begin(tasks, "watch", {}, who, response, wait)
