"""What routes depend on: the library, the background tasks, and who is asking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from fastapi import Depends, Request

from prophase.json_types import JsonMapping
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


async def authenticated(request: Request) -> AuthenticatedCaller:
    """Return who asks, with role and tenants."""
    return asking(request)


LoadedWorkspaceNow = Annotated[LoadedWorkspace, Depends(loaded_workspace_now)]
WorkspaceCacheNow = Annotated[WorkspaceCache, Depends(workspace_cache_of)]
TasksNow = Annotated[BackgroundTasks, Depends(tasks_now)]
Caller = Annotated[str, Depends(caller)]
WhoAsks = Annotated[AuthenticatedCaller, Depends(authenticated)]


def require(role: Role, *, tenants: bool = False) -> Callable[[Request], Awaitable[None]]:
    """Return a dependency that lets only callers with a role pass.

    Parameters
    ----------
    tenants : bool
        Whether the route itself keeps a token that is limited to tenants within them; any other
        route refuses such a token.
    """

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
        if who.tenants and not tenants:
            raise Problem(
                403,
                f"the token {who.name!r} is limited to {', '.join(who.tenants)}, and this is about "
                "all tenants. Ask who runs the service for a token without --tenant.",
            )

    check.role = role  # type: ignore[attr-defined]
    return check


#: columns that say which tenant a job is of; the user does where none of them is there
_WHOSE = ("tenant", "attr_namespace", "group")


def refuse_other_tenants(who: AuthenticatedCaller, jobs: Sequence[JsonMapping]) -> None:
    """Refuse jobs that are not of the tenants that a caller is limited to.

    Examples
    --------
    >>> ann = AuthenticatedCaller("ann", "read", tenants=("nlp",))
    >>> refuse_other_tenants(ann, [{"group": "nlp", "user": "ann"}])
    >>> refuse_other_tenants(ann, [{"group": "vision"}])
    Traceback (most recent call last):
    prophase.serve.problems.Problem: job 1 is of vision, and the token 'ann' is limited to nlp.
    """
    if not who.tenants:
        return
    limits = f"the token {who.name!r} is limited to {', '.join(who.tenants)}."
    for number, job in enumerate(jobs, start=1):
        told = [str(job[name]) for name in _WHOSE if job.get(name) is not None]
        if not told and job.get("user") is not None:
            told = [str(job["user"])]
        if not told:
            raise Problem(
                403,
                f"job {number} does not say whose it is; give its namespace, group or user: "
                f"{limits}",
            )
        other = next((one for one in told if not who.may_see(one)), None)
        if other is not None:
            raise Problem(403, f"job {number} is of {other[:200]}, and {limits}")
