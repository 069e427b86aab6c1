"""A watcher in its workspace: what it begins with, what it reports, what it publishes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prophase.errors import MissingColumnError
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.profile.clusters.ended_jobs import ended_jobs
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.drift.watch_folder import WatchFolder
from prophase.profile.drift.watcher import Watcher
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PREDICTIONS, PROFILES, WATCH


def watch_folder(workspace: Workspace) -> WatchFolder:
    """Return where the workspace keeps its watcher."""
    entry = workspace.tables.get("jobs")
    history = workspace.read("jobs")
    assert entry is not None
    return WatchFolder(workspace.folder / WATCH, history, entry.table_hash)


def begin_watching(
    workspace: Workspace,
    folder: WatchFolder,
    settings: Mapping[str, Any] | None = None,
    *,
    profiles: bool = True,
) -> tuple[Watcher, list[str]]:
    """Let a new watcher learn what is usual in a workspace; returns it, and what to remark.

    Parameters
    ----------
    profiles : bool, default=True
        Watch profiles beside predictions, if the jobs record what they use.
    """
    Watcher(**(settings or {})).refuse_short(workspace.read("jobs"))
    profiler, remarks = profiles_to_watch(workspace) if profiles else (None, [])
    return folder.start(settings, profiler), remarks


def profiles_to_watch(workspace: Workspace) -> tuple[WorkloadProfiler | None, list[str]]:
    """Return the profiles of the workspace, or new ones; none if its jobs record no usage."""
    if (workspace.folder / PROFILES).is_file():
        found = WorkloadProfiler.load(workspace.folder / PROFILES)
    else:
        try:
            found = WorkloadProfiler().fit(ended_jobs(workspace.read("jobs")).jobs)
        except MissingColumnError as error:
            return None, [f"Only predictions are watched: {error}"]
    if all(one.outliers for one in found.profiles_):
        return None, [
            "Only predictions are watched: every job is an outlier, so none has a profile."
        ]
    return found, []


def watch_as_json(
    watcher: Watcher, folder: WatchFolder, remarks: list[str] | None = None
) -> JsonObject:
    """Return how right predictions and profiles are, and what was done about it."""
    scopes, standing = watcher.table(), folder.log.standing()
    status: JsonObject = finite(
        {
            "target": watcher.target,
            "method": watcher.method_,
            "seed": watcher.random_state,
            "data_hash": watcher.records_.data_hash,
            "watched_jobs": watcher.watched_,
            "waiting_jobs": len(folder.given()) - watcher.watched_,
            "state": scopes[0]["state"],
            "scopes": scopes,
            "steps": [{**one, "stands": one["step"] in standing} for one in folder.log.lines()],
            "remarks": remarks or [],
        }
    )
    return status


def publish(workspace: Workspace, watcher: Watcher) -> None:
    """Let others use what was kept right: the profiles, and a predictor they have."""
    from prophase.profile.predict.job_model import JobModel

    profiler = watcher.profiles()
    if profiler is not None:
        profiler.save(workspace.folder / PROFILES)
    saved = workspace.folder / PREDICTIONS
    if not saved.is_file():
        return
    model = JobModel.load(saved)
    same = model.data_hash == workspace.tables["jobs"].source_hash
    if same and watcher.target in model.predictors and model.method == watcher.method_:
        predictors = {**model.predictors, watcher.target: watcher.predictor_}
        replace(model, predictors=predictors).save(saved)
