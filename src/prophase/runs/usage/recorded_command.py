"""A command whose own small parent writes down how it ended, before anybody else learns of it.

logger -> keeper -> command

The logger measures; if it is killed, the keeper stays, waits for the command and writes its end
into a file. It holds the lock of the attempt while it lives, so that nobody takes a command
for dead that is running, or for unfinished when it has ended. Standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from prophase.atomic_files import write_whole
from prophase.json_types import JsonObject
from prophase.runs.usage.cgroup import ControlGroup
from prophase.runs.usage.measurement_order import MeasurementOrder

_SET_PARENT_DEATH_SIGNAL = 1
#: what the keeper gets when its logger dies
_LEFT_ALONE = signal.SIGUSR2


@dataclass(frozen=True)
class RecordedEnd:
    """How a command ended, as its keeper saw it."""

    #: as the shell has it: 0, the exit code, or 128 and the signal
    exit_code: int
    started_at_s: float
    ended_at_s: float
    timed_out: bool = False
    #: processes that the kernel killed for lack of memory; None if nobody counts them
    oom_kills: int | None = None

    @staticmethod
    def path_for(result: str | Path) -> Path:
        """Return the file of the record that belongs to a result."""
        return Path(result).with_name("ended.json")

    @classmethod
    def read(cls, result: str | Path) -> RecordedEnd | None:
        """Return the record that belongs to a result, if it was written."""
        try:
            return cls(**json.loads(cls.path_for(result).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None


def begun_path(result: str | Path) -> Path:
    """Return the file that is there from the moment the command may have begun."""
    return Path(result).with_name("begun")


class RecordedCommand:
    """A running command with its keeper; looks like ``subprocess.Popen`` to whoever watches it.

    Parameters
    ----------
    order : MeasurementOrder
        What to run.
    group : ControlGroup, optional
        Where the command runs; the keeper stays outside.
    out, err : files
        For what it prints.
    """

    stderr = None

    def __init__(
        self, order: MeasurementOrder, group: ControlGroup | None, out: Any, err: Any
    ) -> None:
        self._order = order
        self.returncode = 0
        #: whether nobody knows how the command ended, because its keeper was killed
        self.unsure = False
        logger = os.getpid()
        read, write = os.pipe()
        self.waited_pid = os.fork()
        if self.waited_pid == 0:
            try:
                os.close(read)
                _keep(order, group, out, err, write, logger)
            finally:
                os._exit(1)
        os.close(write)
        with os.fdopen(read, "rb") as told:
            said = told.read()
        started: JsonObject = json.loads(said) if said else {"lost": True}
        self.pid = int(started.get("pid", self.waited_pid))
        if "errno" in started:
            os.waitpid(self.waited_pid, 0)
            raise OSError(started["errno"], started["strerror"], started["filename"])
        if "failed" in started:
            os.waitpid(self.waited_pid, 0)
            raise subprocess.SubprocessError(started["failed"])

    def wait(self) -> int:
        """Wait for the keeper, and return how the command ended."""
        with suppress(ChildProcessError):
            os.waitpid(self.waited_pid, 0)
        end = RecordedEnd.read(self._order.result)
        self.unsure = end is None
        if end is None:
            self.returncode = -signal.SIGKILL
        else:
            code = end.exit_code
            self.returncode = 128 - code if code > 128 else code
        return self.returncode


def _keep(
    order: MeasurementOrder,
    group: ControlGroup | None,
    out: Any,
    err: Any,
    told: int,
    logger: int,
) -> None:
    """Start the command, wait for it, write down how it ended; the life of the keeper."""
    # handlers and not SIG_IGN, which the command would inherit
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, lambda sent, frame: None)
    alone: list[Callable[[], None]] = []
    signal.signal(_LEFT_ALONE, lambda sent, frame: [act() for act in alone] and None)
    _libc().prctl(_SET_PARENT_DEATH_SIGNAL, _LEFT_ALONE)
    began_s = time.time()
    began = time.monotonic()
    # from here on nobody can be sure that the command did nothing
    os.close(os.open(begun_path(order.result), os.O_CREAT | os.O_WRONLY, 0o644))
    try:
        child = subprocess.Popen(
            order.command,
            cwd=order.cwd,
            env={**os.environ, **order.env},
            stdout=out,
            stderr=err,
            start_new_session=True,
            preexec_fn=lambda: _enter(group),
        )
    except OSError as cause:
        said = {"errno": cause.errno, "strerror": cause.strerror, "filename": cause.filename}
        _tell(told, said)
        os._exit(0)
    except subprocess.SubprocessError as cause:
        _tell(told, {"failed": str(cause)})
        os._exit(0)
    timed_out: list[bool] = []

    def kill(*_: object) -> None:
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)

    def out_of_time(sent: int, frame: FrameType | None) -> None:
        timed_out.append(True)
        kill()

    def left_alone() -> None:
        if order.tied:
            kill()
        elif order.timeout_s is not None:
            rest_s = began + order.timeout_s - time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, max(rest_s, 0.001))

    signal.signal(signal.SIGALRM, out_of_time)
    alone.append(left_alone)
    _tell(told, {"pid": child.pid})
    if os.getppid() != logger:
        # it died before it could be told to say so
        left_alone()
    code = child.wait()
    end = RecordedEnd(
        exit_code=code if code >= 0 else 128 - code,
        started_at_s=began_s,
        ended_at_s=time.time(),
        timed_out=bool(timed_out),
        oom_kills=None if group is None else group.oom_kills(),
    )
    write_whole(RecordedEnd.path_for(order.result), json.dumps(asdict(end)))
    if os.getppid() != logger and group is not None:
        group.remove()
    os._exit(0)


def _tell(told: int, said: JsonObject) -> None:
    # the logger may have been killed meanwhile
    with suppress(OSError):
        os.write(told, json.dumps(said).encode())
    os.close(told)


def _enter(group: ControlGroup | None) -> None:
    """Runs in the command's process, before it takes over: it ends with its keeper."""
    _libc().prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if group is not None:
        group.enter()


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)
