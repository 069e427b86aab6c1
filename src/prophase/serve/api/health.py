"""Is the service alive, and can it answer?"""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from prophase.json_types import JsonObject
from prophase.serve.dependencies import LoadedWorkspaceNow
from prophase.version import __version__

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def alive() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok", "version": __version__}


@router.get("/readyz")
async def ready(held: LoadedWorkspaceNow) -> JSONResponse:
    """Say what is loaded; 503 while nothing can be predicted."""
    told: JsonObject = {
        "ready": "predictions" in held.models,
        "loaded_at": held.loaded_at,
        "models": sorted(held.models),
        "problems": {name: str(error) for name, error in held.broken.items()},
    }
    return JSONResponse(told, 200 if told["ready"] else 503)
