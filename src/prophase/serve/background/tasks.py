"""Background tasks: each a process, watched by a thread, its result kept in the workspace."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from prophase.errors import storage_error
from prophase.json_types import JsonMapping, JsonObject
from prophase.serve.background.task_kinds import KINDS
from prophase.serve.problems import Problem
from prophase.trace.workspace_paths import SERVICE

State = Literal["waiting", "running", "done", "failed", "cancelled"]
STATES: tuple[State, ...] = get_args(State)
#: states that nothing follows
ENDED = ("done", "failed", "cancelled")
#: finished tasks that are kept
_KEPT = 200


@dataclass(frozen=True)
class BackgroundTask:
    """Where a piece of long work is."""

    id: str
    kind: str
    arguments: JsonMapping
    started_by: str
    state: State
    asked_at: str
    step: str = ""
    percent: float | None = None
    ended_at: str | None = None
    error: str | None = None
    result: Any = None

    @property
    def ended(self) -> bool:
        """Say whether nothing more will happen."""
        return self.state in ENDED

    def to_dict(self, *, whole: bool = True) -> JsonObject:
        """Return the task for JSON; without its result if not ``whole``."""
        told = asdict(self)
        if not whole:
            del told["result"]
        return told


class BackgroundTasks:
    """Starts, follows and ends background tasks.

    Parameters
    ----------
    workspace : path
        What the work is about.
    at_once : int
        How many compute at the same time.
    name : str
        Folder below the workspace's ``service`` for what has ended.
    """

    def __init__(self, workspace: Path, *, at_once: int = 1, name: str = "tasks") -> None:
        self.workspace = workspace
        self.folder = workspace / SERVICE / name
        self._slots = threading.Semaphore(at_once)
        self._lock = threading.Lock()
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._tasks = {task.id: task for task in self._kept()}
        self._closed = False

    def start(self, kind: str, arguments: JsonMapping, who: str) -> BackgroundTask:
        """Begin a piece of work and return at once."""
        if kind not in KINDS:
            raise Problem(404, f"there is no background work of kind {kind!r}.")
        task = BackgroundTask(
            id=secrets.token_hex(8),
            kind=kind,
            arguments=dict(arguments),
            started_by=who,
            state="waiting",
            asked_at=_now(),
        )
        with self._lock:
            self._tasks[task.id] = task
        self._keep(task)
        threading.Thread(target=self._follow, args=(task,), daemon=True).start()
        return task

    def get(self, id: str) -> BackgroundTask:
        """Return a task as it is now."""
        task = self._tasks.get(id)
        if task is None:
            raise Problem(404, f"there is no task {id!r}. See /v1/tasks for those that are.")
        return task

    def all(self) -> list[BackgroundTask]:
        """Return every task, the latest first."""
        return sorted(self._tasks.values(), key=lambda task: task.asked_at, reverse=True)

    def count(self, state: str) -> int:
        """Return how many tasks are in a state."""
        return sum(task.state == state for task in list(self._tasks.values()))

    def cancel(self, id: str) -> BackgroundTask:
        """End a task; one that has ended stays as it is."""
        with self._lock:
            task = self.get(id)
            if task.ended:
                return task
            task = self._tasks[id] = replace(task, state="cancelled", ended_at=_now())
            process = self._processes.get(id)
        if process is not None:
            _end(process)
        self._keep(task)
        return task

    def close(self) -> None:
        """End everything that computes; called when the service stops."""
        self._closed = True
        for one in list(self._processes):
            self.cancel(one)

    def _follow(self, task: BackgroundTask) -> None:
        with self._slots:
            with self._lock:
                if self._closed or self._tasks[task.id].ended:
                    return
                try:
                    process = _worker()
                except OSError as cause:
                    words = f"no process can be started: {cause.strerror}."
                    failed = replace(task, state="failed", error=words, ended_at=_now())
                    self._tasks[task.id] = failed
                    return
                self._processes[task.id] = process
                self._tasks[task.id] = replace(task, state="running", step="starting")
            self._read(task.id, process)
        with self._lock:
            self._processes.pop(task.id, None)
            ended = self._tasks[task.id]
        self._keep(ended)

    def _read(self, id: str, process: subprocess.Popen[str]) -> None:
        """Take over what the process says until it ends."""
        assert process.stdin is not None
        assert process.stdout is not None
        task = self._tasks[id]
        order = {"kind": task.kind, "arguments": task.arguments, "workspace": str(self.workspace)}
        try:
            process.stdin.write(json.dumps(order))
            process.stdin.close()
        except BrokenPipeError:
            pass
        for line in process.stdout:
            self._heard(id, json.loads(line))
        process.wait()
        process.stdout.close()
        with self._lock:
            task = self._tasks[id]
            if not task.ended:
                words = f"the process ended with code {process.returncode} without a result."
                self._tasks[id] = replace(task, state="failed", error=words, ended_at=_now())

    def _heard(self, id: str, said: JsonMapping) -> None:
        task = self._tasks[id]
        if "result" in said:
            task = replace(task, state="done", result=said["result"], percent=100.0)
        elif "error" in said:
            task = replace(task, state="failed", error=said["error"])
        else:
            task = replace(task, step=said["step"], percent=said["percent"])
        if task.ended:
            # on the disk before anybody is told that it is done
            task = self._written(replace(task, ended_at=_now()))
        with self._lock:
            if not self._tasks[id].ended:
                self._tasks[id] = task

    def _keep(self, task: BackgroundTask) -> None:
        """Write a task down when it begins and when it ends; the oldest are forgotten."""
        kept = self._written(task)
        with self._lock:
            self._tasks[task.id] = kept
            ended = sorted((t for t in self._tasks.values() if t.ended), key=lambda t: t.asked_at)
            for old in ended[:-_KEPT]:
                del self._tasks[old.id]
                (self.folder / f"{old.id}.json").unlink(missing_ok=True)

    def _written(self, task: BackgroundTask) -> BackgroundTask:
        """Write a task down; returns it, with a word about a disk that refused its result."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            part = self.folder / f".{task.id}.part"
            part.write_text(json.dumps(task.to_dict()), encoding="utf-8")
            part.replace(self.folder / f"{task.id}.json")
        except OSError as cause:
            if task.ended:
                kept = f"The result is not kept: {storage_error(cause, 'tasks')}"
                return replace(task, error=f"{task.error or ''} {kept}".strip())
        return task

    def _kept(self) -> list[BackgroundTask]:
        found = []
        for path in self.folder.glob("*.json"):
            try:
                task = BackgroundTask(**json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError):
                continue
            if not task.ended:
                words = "the service was stopped before this was done. Ask again."
                task = replace(task, state="failed", error=words, ended_at=_now())
            found.append(task)
        return found


def _worker() -> subprocess.Popen[str]:
    """Start the process that does one task."""
    return subprocess.Popen(
        [sys.executable, "-m", "prophase.serve.background.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # one thread: the requests that come in meanwhile need the other processors
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and all it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
