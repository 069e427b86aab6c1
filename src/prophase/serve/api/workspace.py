"""The workspace: its tables, its models, and reading its files again."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Depends, Request

from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.serve.dependencies import LoadedWorkspaceNow, WorkspaceCacheNow, require
from prophase.serve.json_bodies import JsonRoute
from prophase.serve.loaded_workspace import LoadedWorkspace

router = APIRouter(route_class=JsonRoute, tags=["workspace"])


@router.get("/workspace", dependencies=[Depends(require("read"))])
def workspace(held: LoadedWorkspaceNow) -> JsonObject:
    """Say which tables and models are loaded, where they came from, and what is wrong with any."""
    return told(held)


@router.post("/reload", dependencies=[Depends(require("admin"))])
def reload(library: WorkspaceCacheNow, request: Request) -> JsonObject:
    """Read files that have changed now; until then answers use what was loaded."""
    if library.reload():
        request.app.state.metrics.reloads.inc()
    library.learn_reported()
    return told(library.now)


def told(held: LoadedWorkspace) -> JsonObject:
    """Return what is loaded."""
    tables = {name: asdict(entry) for name, entry in held.tables.items()}
    for entry in tables.values():
        # where files lie, and what was typed to make them, is nobody's business
        for private in ("file", "command", "report"):
            entry.pop(private)
    found: JsonObject = finite(
        {
            "name": held.workspace.folder.resolve().name,
            "tables": tables,
            "models": {name: _model(name, model) for name, model in held.models.items()},
            "problems": {name: str(error) for name, error in held.broken.items()},
            "loaded_at": held.loaded_at,
        }
    )
    return found


def _model(name: str, model: Any) -> JsonObject:
    if name != "predictions":
        return {}
    return {
        "method": model.method,
        "jobs": model.jobs,
        "targets": list(model.targets),
        "columns": list(model.columns),
        "data_hash": model.data_hash,
        "seed": model.random_state,
    }
