"""Is the service alive, and can it answer?"""

from __future__ import annotations

import asyncio
import logging

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.profile.predict.job_model import JobModel
from prophase.serve.dependencies import LoadedWorkspaceNow
from prophase.serve.prediction_batches import Batcher
from prophase.version import __version__

router = APIRouter(tags=["health"])
log = logging.getLogger("prophase.serve")
#: how long the model may take to answer while it is asked whether it can
_ANSWER_S = 5.0


@router.get("/healthz")
async def alive() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok", "version": __version__}


@router.get("/readyz")
async def ready(held: LoadedWorkspaceNow, request: Request) -> JSONResponse:
    """Say what is loaded; 503 until the model has answered a question.

    Waits for the first recommendation to a submission, which is much slower than all that follow.
    """
    desk = getattr(request.app.state, "desk", None)
    if desk is not None and not desk.warm.is_set():
        await asyncio.to_thread(desk.warm.wait, _ANSWER_S)
    problems = {name: str(error) for name, error in held.broken.items()}
    model = held.models.get("predictions")
    wrong = None if model is None else await _why_no_answer(model, request.app.state.batcher)
    if wrong is not None:
        problems["predictions"] = wrong
    told: JsonObject = {
        "ready": model is not None and wrong is None,
        "loaded_at": held.loaded_at,
        "models": sorted(held.models),
        "problems": problems,
    }
    versions = request.app.state.versions
    if versions is not None:
        told["version"] = versions.number
    return JSONResponse(told, 200 if told["ready"] else 503)


async def _why_no_answer(model: JobModel, batcher: Batcher) -> str | None:
    """Ask the model about a job that nobody has; return what is wrong, if anything is."""
    nobodys: JsonObject = {"job_id": "readiness", **dict.fromkeys(model.columns)}
    answer = batcher.ask(model, [nobodys], None)
    try:
        rows = await asyncio.wait_for(asyncio.wrap_future(answer), _ANSWER_S)
    except TimeoutError:
        return f"the model did not answer within {_ANSWER_S:g} s."
    except ProphaseError as error:
        return str(error)
    except Exception:
        log.exception("the model does not answer")
        return "the model does not answer; see the log of the service."
    return None if rows else "the model predicts nothing. Learn again with: prophase learn"
