"""create_app: the service as an ASGI application."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path

from anyio.to_thread import current_default_thread_limiter
from fastapi import Depends, FastAPI
from fastapi.responses import FileResponse
from starlette.routing import NoMatchFound
from starlette.staticfiles import StaticFiles

from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.serve import login, metrics, pages, problems, submit
from prophase.serve import openapi as contract
from prophase.serve.api import health
from prophase.serve.audit import AuditLog
from prophase.serve.background.tasks import BackgroundTasks
from prophase.serve.dependencies import require
from prophase.serve.guard.browser_rules import is_loopback
from prophase.serve.guard.middleware import Guard, limits_of
from prophase.serve.guard.oidc import OidcProvider
from prophase.serve.guard.rate_limits import BucketExchange
from prophase.serve.loaded_workspace import WorkspaceCache
from prophase.serve.metrics import Metrics
from prophase.serve.model_versions import ModelVersions
from prophase.serve.pages.templates import problem_page
from prophase.serve.prediction_batches import Batcher
from prophase.serve.settings import ServiceSettings
from prophase.serve.tokens import TokenStore
from prophase.serve.tracing import Tracing, traces_address
from prophase.serve.workspace_reloader import WorkspaceReloader
from prophase.trace.service_database import ServiceDatabase, shared_address
from prophase.trace.workspace_paths import UPLOADS
from prophase.version import __version__

#: modules of serve/api with a router below /v1, in the order of the documentation
SUBJECTS = (
    "ask",
    "predict",
    "bins",
    "observe",
    "profiles",
    "phases",
    "tasks",
    "prove",
    "drift",
    "runs",
    "reports",
    "workspace",
    "imports",
)


#: slow answers that are computed at the same time
_THREADS = 4
#: how long one thread may compute before another gets its turn
_SWITCH_S = 0.001


def create_app(workspace: Path | str, settings: ServiceSettings | None = None) -> FastAPI:
    """Return the service of a workspace.

    Parameters
    ----------
    workspace : path
        Folder with the tables and models to answer from.
    settings : ServiceSettings, optional
        Limits and places; the defaults suit a laptop.

    Examples
    --------
    >>> from prophase.trace.workspace import Workspace
    >>> made = Workspace.create(getfixture("tmp_path") / "ws")
    >>> create_app(made.folder).title
    'Prophase'
    """
    chosen = settings or ServiceSettings()
    if chosen.open and not is_loopback(chosen.host):
        raise ParameterError(
            f"an open service lets in whoever reaches it, and {chosen.host} is reached from "
            "elsewhere. Leave --open out and make tokens, or listen on 127.0.0.1."
        )
    if chosen.open and chosen.oidc is not None:
        raise ParameterError(
            "an open service asks nobody who they are, and [serve.oidc] of prophase.toml names who "
            "does. Leave --open out, or remove [serve.oidc]."
        )
    oidc = OidcProvider(chosen.oidc) if chosen.oidc is not None else None
    address = traces_address(chosen.traces)
    tracing = Tracing(address) if address else None
    versions = _versions(Path(workspace))
    library = WorkspaceCache(Path(workspace))

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        # answers compute and hold each other up; few at a time end sooner than many together
        current_default_thread_limiter().total_tokens = _THREADS
        sys.setswitchinterval(_SWITCH_S)
        keeper.start()
        if exchange is not None:
            exchange.start()
        try:
            yield
        finally:
            keeper.stop()
            app.state.tasks.close()
            app.state.batcher.close()
            if exchange is not None:
                exchange.stop()
            library.close()
            app.state.audit.close()
            app.state.tokens.close()
            if versions is not None:
                versions.close()
            if tracing is not None:
                tracing.close()

    app = FastAPI(
        title="Prophase",
        version=__version__,
        summary="What ML jobs on a shared cluster need, are doing, and would do.",
        lifespan=life,
        # their pages load scripts from elsewhere
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    app.state.settings = chosen
    app.state.library = library
    # whoever was to read them has ended with the service before
    shutil.rmtree(library.workspace.folder / UPLOADS, ignore_errors=True)
    app.state.versions = versions
    app.state.tasks = BackgroundTasks(
        library.workspace.folder,
        at_once=chosen.tasks_at_once,
        before=None if versions is None else partial(versions.synchronise, socket.gethostname()),
        after=None if versions is None else partial(versions.publish, socket.gethostname()),
    )
    app.state.tokens = TokenStore(library.workspace.folder, open=chosen.open)
    app.state.oidc = oidc
    app.state.audit = AuditLog(library.workspace.folder)
    app.state.metrics = Metrics()
    app.state.batcher = Batcher()
    app.state.metrics.watch_service(library, app.state.tasks, versions)
    keeper = WorkspaceReloader(
        library, app.state.metrics, every_s=chosen.reload_every_s, versions=versions
    )
    buckets = limits_of(chosen)
    exchange = (
        BucketExchange(ServiceDatabase.of(library.workspace.folder), buckets) if versions else None
    )
    problems.install(app, problem_page)
    contract.install(app)
    refusals: JsonObject = {"responses": contract.REFUSALS}
    app.include_router(health.router)
    app.include_router(metrics.router, **refusals)
    app.include_router(login.router)
    for subject in SUBJECTS:
        found = import_module(f"prophase.serve.api.{subject}")
        app.include_router(found.router, prefix="/v1", **refusals)
    app.include_router(submit.router, **refusals)
    readers = [Depends(require("read"))]
    app.include_router(pages.router, dependencies=readers, include_in_schema=False)
    static = Path(__file__).parent / "static"
    app.mount("/static", StaticFiles(directory=static, check_dir=False), name="static")

    @app.get("/favicon.ico", include_in_schema=False)
    async def _icon() -> FileResponse:
        # browsers ask here before they have read which icon a page names
        return FileResponse(static / "icon.svg", media_type="image/svg+xml")

    app.add_middleware(
        Guard,
        settings=chosen,
        tokens=app.state.tokens,
        seen=app.state.metrics.seen,
        audit=app.state.audit,
        buckets=buckets,
        oidc=oidc,
        tracing=tracing,
    )
    _build_routes(app)
    return app


def _versions(folder: Path) -> ModelVersions | None:
    """Fetch the tables and models that replicas share; None for a service on its own."""
    if shared_address(folder) is None:
        return None
    versions = ModelVersions(folder)
    versions.synchronise(socket.gethostname())
    return versions


def _build_routes(app: FastAPI) -> None:
    """Build every route now: FastAPI would build those of a router at the first request to it.

    Not while others compute: it hides warnings of pydantic by a setting of the whole process, which
    another thread may put back in the middle.
    """
    with suppress(NoMatchFound):
        # a look-up by name goes through all of them
        app.url_path_for("no route is called so")
