"""What routes depend on: the library, the background tasks, and who is asking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request

from prophase.serve.background.tasks import BackgroundTasks
from prophase.serve.guard.authentication import AuthenticatedCaller
from prophase.serve.loaded_workspace import LoadedWorkspace, WorkspaceCache
from prophase.serve.problems import Problem
from prophase.serve.tokens import Role, allows

# these are async because FastAPI sends every other dependency to a thread and back, which takes
# longer than a prediction while other threads compute


async def workspace_cache_of(request: Request) -> WorkspaceCache:
    """Return what keeps the workspace of this service in memory."""
    found: WorkspaceCache = request.app.state.library
    return found


async def loaded_workspace_now(request: Request) -> LoadedWorkspace:
    """Return the workspace as it is loaded now."""
    library: WorkspaceCache = request.app.state.library
    return library.now


async def tasks_now(request: Request) -> BackgroundTasks:
    """Return what runs long work."""
    found: BackgroundTasks = request.app.state.tasks
    return found


def asking(request: Request) -> AuthenticatedCaller:
    """Return who asks, as the guard found out."""
    found: AuthenticatedCaller = request.state.asking
    return found


async def caller(request: Request) -> str:
    """Return the name of the token that asks, or ``anyone`` where no token is needed."""
    return asking(request).name


LoadedWorkspaceNow = Annotated[LoadedWorkspace, Depends(loaded_workspace_now)]
WorkspaceCacheNow = Annotated[WorkspaceCache, Depends(workspace_cache_of)]
TasksNow = Annotated[BackgroundTasks, Depends(tasks_now)]
Caller = Annotated[str, Depends(caller)]


def require(role: Role) -> Callable[[Request], Awaitable[None]]:
    """Return a dependency that lets only callers with a role pass."""

    async def check(request: Request) -> None:
        who = asking(request)
        if who.refusal is not None:
            raise who.refusal
        if not allows(who.role or "", role):
            raise Problem(
                403,
                f"the token {who.name!r} has the role {who.role}, but this needs {role}. Ask who "
                f"runs the service for: prophase serve token add NAME --role {role}",
            )

    check.role = role  # type: ignore[attr-defined]
    return check
