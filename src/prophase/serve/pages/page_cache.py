"""Page data that takes long: computed in a process of its own, kept for as long as it is true.

A page looks for what it needs and gets it at once if it was computed before from the same
tables and models, after a restart of the service too. Otherwise the work begins, and the page
shows how far it is; predictions go on being answered meanwhile.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from fastapi import Request

from prophase.json_types import JsonMapping
from prophase.serve.background.task_rows import BackgroundTask
from prophase.serve.background.tasks import BackgroundTasks
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.serve.problems import Problem
from prophase.trace.workspace import Workspace
from prophase.version import __version__

_MAKING = threading.Lock()
#: raised when pages expect their data in another form than kept data has
_LAYOUT = 2
#: results that stay in memory
_IN_MEMORY = 60


@dataclass(frozen=True)
class PageState:
    """What a page finds: data that is ready, work on its way, or why there is none."""

    state: Literal["ready", "working", "failed"]
    key: str
    title: str
    data: Any = None
    #: the data is of an earlier state of the workspace; newer data is being computed
    stale: bool = False
    step: str = ""
    percent: float | None = None
    error: str = ""
    #: address of the page, to come back to
    back: str = "/"


class PageCache:
    """Computes and keeps page data.

    Parameters
    ----------
    workspace : Workspace
        What the pages are about.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.tasks = BackgroundTasks(workspace.folder, at_once=1, name="pages")
        self._lock = threading.Lock()
        #: key -> task, of this state of the workspace and of earlier ones
        self._known: dict[str, str] = {}
        #: view and arguments -> the latest task that has data
        self._latest: dict[str, str] = {}
        self._ended: dict[str, BackgroundTask] = {}
        for task in reversed(self.tasks.all()):
            if task.state == "done":
                self._known[str(task.arguments.get("key"))] = task.id
                self._latest[str(task.arguments.get("what"))] = task.id

    def look(
        self,
        view: str,
        held: LoadedWorkspace,
        *,
        title: str,
        uses: Sequence[str],
        back: str,
        arguments: JsonMapping | None = None,
    ) -> PageState:
        """Return the data of a view; begin to compute it if nobody has.

        Parameters
        ----------
        view : str
            Key of :data:`prophase.serve.pages.page_results.VIEWS`.
        uses : sequence of str
            Tables and models that the data depends on.
        """
        what = json.dumps([_LAYOUT, view, arguments or {}], sort_keys=True)
        stamp = {name: _stamp(held, name) for name in uses}
        key = sha256(f"{what} {stamp} {__version__}".encode()).hexdigest()[:24]
        with self._lock:
            task = self._task(self._known.get(key))
            if task is None:
                task = self.tasks.start(
                    "page",
                    {"key": key, "what": what, "view": view, "arguments": dict(arguments or {})},
                    "pages",
                )
                self._known[key] = task.id
            if task.state == "done":
                self._latest[what] = task.id
            before = self._task(self._latest.get(what))
        if task.state == "done":
            return PageState("ready", key, title, data=task.result, back=back)
        if task.ended:
            error = task.error or "the work was cancelled."
            return PageState("failed", key, title, error=error, back=back)
        step = task.step if task.state == "running" else "waiting for other work"
        if before is not None:
            return PageState(
                "ready", key, title, before.result, True, step, task.percent, back=back
            )
        return PageState("working", key, title, step=step, percent=task.percent, back=back)

    def again(self, key: str) -> None:
        """Let what failed be computed again at the next look."""
        with self._lock:
            task = self._task(self._known.get(key))
            if task is not None and task.ended and task.state != "done":
                del self._known[key]

    def close(self) -> None:
        """End what computes."""
        self.tasks.close()

    def _task(self, id: str | None) -> BackgroundTask | None:
        """Return a task; one that has ended stays in memory."""
        if id is None:
            return None
        if id in self._ended:
            return self._ended[id]
        try:
            task = self.tasks.get(id)
        except Problem:
            return None
        if task.ended:
            self._ended[id] = task
            if len(self._ended) > _IN_MEMORY:
                self._ended.pop(next(iter(self._ended)))
        return task


def page_cache_of(request: Request) -> PageCache:
    """Return what prepares the pages of this service; made at its first use."""
    state = request.app.state
    with _MAKING:
        if not hasattr(state, "prepared"):
            state.prepared = PageCache(state.library.workspace)
    found: PageCache = state.prepared
    return found


def _stamp(held: LoadedWorkspace, name: str) -> str:
    """Return what changes when a table or a model does."""
    if name in held.tables:
        return held.tables[name].table_hash
    if name in held.stamps:
        return str(held.stamps[name])
    path = held.workspace.folder / "models" / f"{name}.model"
    try:
        return str(path.stat().st_mtime_ns)
    except OSError:
        return "none"
