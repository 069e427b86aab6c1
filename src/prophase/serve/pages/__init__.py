"""The pages of the dashboard: server-rendered, one file of routes per page.

``templates.py`` fills the templates, ``page_cache.py`` computes what takes long in processes of
its own (``page_results.py``), ``charts.py`` says what is drawn. Charts and styles
are in ``static/``.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import RedirectResponse, Response

from prophase.serve.dependencies import require
from prophase.serve.forms import form_of, local_path
from prophase.serve.pages import (
    ask,
    health,
    jobs,
    live_queue,
    overview,
    phases,
    profiles,
    reports,
    runs,
    simulator,
    sizing,
    whatif,
)
from prophase.serve.pages.page_cache import page_cache_of


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    yield
    if hasattr(app.state, "prepared"):
        app.state.prepared.close()


router = APIRouter(include_in_schema=False, dependencies=[Depends(require("read"))], lifespan=_life)
_PAGES = (
    overview, ask, profiles, sizing, simulator, whatif, phases, runs, reports, live_queue, jobs,
    health,
)  # fmt: skip
for page in _PAGES:
    router.include_router(page.router)


@router.post("/again")
async def again(request: Request) -> Response:
    """Compute again what failed, and go back to its page."""
    said = await form_of(request)
    page_cache_of(request).again(said.get("key", ""))
    return RedirectResponse(local_path(said.get("back", "/")), 303)
