"""Background tasks: each a process of whichever replica is free, its result in the database."""

from __future__ import annotations

import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from prophase.errors import ProphaseError
from prophase.json_types import JsonMapping
from prophase.serve.background.task_kinds import KINDS, WRITING
from prophase.serve.background.task_rows import BackgroundTask, TaskRows
from prophase.serve.problems import Problem
from prophase.trace.workspace_paths import SERVICE

log = logging.getLogger("prophase.serve")
#: how often a process looks for work that others have left, and says that it goes on
LOOK_EVERY_S, RENEW_EVERY_S = 2.0, 3.0
#: how often progress is written down
_SHOW_EVERY_S = 0.3
#: how long a process waits for another task: loading what it needs takes longer than many of them
KEEP_S = 20.0
#: kinds that read a file of the replica that took them
_HERE = ("import",)


class BackgroundTasks:
    """Starts, follows and ends background tasks.

    They are rows of the service's database, so every replica sees all of them, and whichever is
    free takes the next. A task whose replica dies is taken over by another; what the service stops
    in the middle waits for it to come back.

    Parameters
    ----------
    workspace : path
        What the work is about.
    at_once : int
        How many this process computes at the same time; 0 only asks about them.
    name : str
        Which queue: those of people, or those of pages.
    before, after : callable, optional
        Called before and after the work of one task, such as to fetch and to publish models.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        at_once: int = 1,
        name: str = "tasks",
        before: Callable[[], object] | None = None,
        after: Callable[[], object] | None = None,
    ) -> None:
        self.workspace, self.name = workspace, name
        #: where tasks were kept before there was a database
        self.folder = workspace / SERVICE / name
        self.worker = f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(4)}"
        self._before, self._after = before, after
        self._rows = TaskRows(workspace, name)
        self._lock = threading.Lock()
        self._at_once, self._threads = at_once, 0
        self._processes: dict[str, subprocess.Popen[str]] = {}
        #: processes that have done their task and wait for another, and since when
        self._kept: dict[subprocess.Popen[str], float] = {}
        # nothing computes for a service that is gone, even if nobody closed it
        weakref.finalize(self, _end_all, self._processes, self._kept)
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._take_files()
        if self._rows.exist:
            threading.Thread(target=self._look, name=name, daemon=True).start()

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
        before = self._rows.exist
        self._rows.add(task, self.worker if kind in _HERE else None)
        if not before:
            threading.Thread(target=self._look, name=self.name, daemon=True).start()
        self._begin()
        return task

    def get(self, id: str) -> BackgroundTask:
        """Return a task as it is now."""
        task = self._rows.one(id)
        if task is None:
            raise Problem(404, f"there is no task {id!r}. See /v1/tasks for those that are.")
        return task

    def all(self) -> list[BackgroundTask]:
        """Return every task without its result, the latest first."""
        return self._rows.all()

    def count(self, state: str) -> int:
        """Return how many tasks are in a state."""
        return self._rows.count(state)

    def cancel(self, id: str) -> BackgroundTask:
        """End a task; one that has ended stays as it is."""
        self.get(id)
        self._rows.end(id, None, "cancelled")
        self._stop(id)
        return self.get(id)

    def close(self) -> None:
        """Hand back everything that computes; called when the service stops."""
        self._closed.set()
        self._wake.set()
        with self._lock:
            going = dict(self._processes)
        for task, process in going.items():
            with suppress(ProphaseError):
                self._rows.hand_back(task, self.worker)
            _end(process)
        while (idle := self._idle(-1.0)) is not None:
            _dismiss(idle)
        with suppress(ProphaseError):
            self._rows.end_those_of(self.worker)
        for _ in range(50):
            if not self._threads:
                break
            time.sleep(0.02)
        self._rows.close()

    def _look(self) -> None:
        """Look for work that others have left, for as long as the service runs."""
        while not self._closed.is_set():
            try:
                if self._rows.take_over():
                    self._begin()
            except ProphaseError as error:
                log.warning("background tasks wait: %s", error)
            while (idle := self._idle(KEEP_S)) is not None:
                _dismiss(idle)
            self._wake.wait(LOOK_EVERY_S)
            self._wake.clear()

    def _begin(self) -> None:
        """Let one more thread work, if there may be one."""
        with self._lock:
            if self._threads >= self._at_once or self._closed.is_set():
                return
            self._threads += 1
        threading.Thread(target=self._work, name=self.name, daemon=True).start()

    def _work(self) -> None:
        """Do what waits until nothing does."""
        try:
            while not self._closed.is_set():
                task = self._rows.claim(self.worker)
                if task is None:
                    return
                self._do(task)
        except ProphaseError as error:
            log.warning("background tasks wait: %s", error)
        finally:
            with self._lock:
                self._threads -= 1

    def _do(self, task: BackgroundTask) -> None:
        try:
            if self._before is not None:
                self._before()
            process = self._idle() or _worker()
        except (OSError, ProphaseError) as cause:
            words = f"no process can be started: {getattr(cause, 'strerror', None) or cause}"
            self._rows.end(task.id, self.worker, "failed", error=f"{words.rstrip('.')}.")
            return
        with self._lock:
            self._processes[task.id] = process
        if self._closed.is_set():
            _end(process)
        ended = threading.Event()
        watch = threading.Thread(target=self._renew, args=(task.id, ended), daemon=True)
        watch.start()
        try:
            self._read(task, process)
        finally:
            ended.set()
            watch.join()
            with self._lock:
                stopped = self._processes.pop(task.id, None) is None
            self._keep(process, stopped)

    def _stop(self, id: str) -> None:
        """End the process of a task, which does no other then."""
        with self._lock:
            process = self._processes.pop(id, None)
            if process is not None:
                _end(process)

    def _idle(self, waited_s: float = 0.0) -> subprocess.Popen[str] | None:
        """Return a process that lives and has waited for a task so long, if there is one."""
        with self._lock:
            for process, since_s in self._kept.items():
                if time.monotonic() - since_s >= waited_s and (waited_s or process.poll() is None):
                    del self._kept[process]
                    return process
        return None

    def _keep(self, process: subprocess.Popen[str], stopped: bool) -> None:
        """Let a process wait for another task for a while, unless it was stopped."""
        with self._lock:
            if not stopped and process.poll() is None and not self._closed.is_set():
                self._kept[process] = time.monotonic()
                return
        _dismiss(process)

    def _renew(self, id: str, ended: threading.Event) -> None:
        """Say that the task is being computed, until it is; end it if somebody cancelled it."""
        while not ended.wait(RENEW_EVERY_S):
            try:
                if not self._rows.renew(id, self.worker):
                    self._stop(id)
                    return
            except ProphaseError as error:
                log.warning("background tasks wait: %s", error)

    def _read(self, task: BackgroundTask, process: subprocess.Popen[str]) -> None:
        """Take over what the process says until it has a result or ends."""
        assert process.stdin is not None
        assert process.stdout is not None
        order = {"kind": task.kind, "arguments": task.arguments, "workspace": str(self.workspace)}
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        shown_s = 0.0
        for line in process.stdout:
            said = json.loads(line)
            if "result" in said or "error" in said:
                self._end(task, said)
                return
            if time.monotonic() - shown_s > _SHOW_EVERY_S:
                shown_s = time.monotonic()
                self._rows.show(task.id, self.worker, str(said["step"]), said["percent"])
        process.wait()
        if not self._closed.is_set():
            words = f"the process ended with code {process.returncode} without a result."
            self._rows.end(task.id, self.worker, "failed", error=words)

    def _end(self, task: BackgroundTask, said: JsonMapping) -> None:
        """Keep the result before anybody is told that it is done."""
        if "error" in said:
            self._rows.end(task.id, self.worker, "failed", error=said["error"], code=said["code"])
            return
        try:
            if self._after is not None and task.kind in WRITING:
                self._after()
            self._rows.end(task.id, self.worker, "done", result=json.dumps(said["result"]))
        except ProphaseError as cause:
            words = f"The result is not kept: {cause}"
            self._rows.end(task.id, self.worker, "failed", error=words)

    def _take_files(self) -> None:
        """Take over tasks that an earlier version kept in files."""
        for path in self.folder.glob("*.json"):
            try:
                task = BackgroundTask(**json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError):
                continue
            if not task.ended:
                words = "the service was stopped before this was done. Ask again."
                task = replace(task, state="failed", error=words, ended_at=_now())
            self._rows.add(task, None)
            path.unlink(missing_ok=True)


def _worker() -> subprocess.Popen[str]:
    """Start a process that does tasks, one after the other."""
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


def _end_all(
    going: dict[str, subprocess.Popen[str]], kept: dict[subprocess.Popen[str], float]
) -> None:
    """End processes that work, and those that wait for work."""
    for process in [*going.values(), *kept]:
        _end(process)
        process.wait()


def _dismiss(process: subprocess.Popen[str]) -> None:
    """End a process that has nothing to do, and forget it."""
    _end(process)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        # a process that died first leaves an order that nobody reads
        with suppress(BrokenPipeError):
            pipe.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
