"""One attempt at a task after the other: what comes next, and how it is started.

Standard library only: supervisors and the tasks of other schedulers run this.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from prophase import units
from prophase.atomic_files import write_whole
from prophase.json_types import JsonObject
from prophase.runs.local.attempts import (
    MEMORY_LATER,
    PYTHON_LATER,
    Attempt,
    attempts_of,
    read_json,
)
from prophase.runs.local.leftover_processes import MARK
from prophase.runs.next_attempt import NextAttempt, Tried, verdict

_PAUSE_S = 0.05
_SET_PARENT_DEATH_SIGNAL = 1


class TryAgainError(Exception):
    """The attempt ended in a way that allows another one, with the memory that the message says."""


class TaskFailedError(Exception):
    """The task is not to be tried again; the message says why."""


def judge(
    run: Path,
    spec: JsonObject,
    task: str,
    allocation: JsonObject,
    lives: Callable[[Attempt], bool] = Attempt.is_running,
) -> NextAttempt:
    """Say what happens next with a task; an attempt that nobody runs any more is written off.

    Parameters
    ----------
    lives : function, optional
        Says whether somebody runs an attempt that has no result yet.
    """
    attempts = attempts_of(run, task)
    if attempts and attempts[-1].result() is None and not lives(attempts[-1]):
        attempts[-1].give_up()
    return verdict(
        spec["tasks"][task],
        [tried(attempt) for attempt in attempts],
        allocation=allocation,
        generation=spec["generation"],
        node_memory_gib=spec["node_memory_gib"],
        bins_gib=spec["bins_gib"],
    )


def start_attempt(
    run: Path, spec: JsonObject, task: str, memory_gib: float | None, *, tied: bool = False
) -> subprocess.Popen[bytes]:
    """Begin the next attempt at a task and return the process that measures it.

    Parameters
    ----------
    tied : bool, default=False
        Whether the attempt ends when this process ends. Others outlive it.
    """
    number = len(attempts_of(run, task)) + 1
    folder = run / "tasks" / task / str(number)
    # whoever makes the folder makes the attempt
    folder.mkdir(parents=True)
    work = run / "work"
    work.mkdir(exist_ok=True)
    gib = f"{memory_gib:.6g}" if memory_gib else ""
    known_now = {MEMORY_LATER: gib, PYTHON_LATER: sys.executable}
    order = {
        "command": [_filled(part, known_now) for part in spec["tasks"][task]["command"]],
        "samples": str(folder / "samples.jsonl"),
        "result": str(folder / "result.json"),
        "every_s": spec["sample_every_s"],
        "memory_gib": memory_gib,
        "cwd": str(work),
        "env": {
            **spec["env"],
            "PROPHASE_TASK": task,
            "PROPHASE_TRY": str(number),
            "PROPHASE_MEMORY_GIB": gib,
            MARK: str(folder),
        },
        "stdout": str(folder / "stdout.log"),
        "stderr": str(folder / "stderr.log"),
        "name": f"{spec['id']}-{task}-{number}",
        "lock": str(folder / "lock"),
        "strict": True,
        "tied": tied,
        "timeout_s": spec["tasks"][task]["timeout_s"],
    }
    path = folder / "order.json"
    about = {"generation": spec["generation"], "ordered_at_s": time.time()}
    write_whole(path, json.dumps({**order, **about}))
    with (folder / "logger.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "prophase.runs.usage.measured_command", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, MARK: str(folder)},
            preexec_fn=_die_with_parent if tied else None,
        )


def try_once(run: Path, task: str, allocation: JsonObject) -> JsonObject:
    """Make one attempt at a task, unless it is done already; return how the last one ended.

    For schedulers that repeat a task by themselves: :class:`TryAgainError` asks for a repetition,
    :class:`TaskFailedError` says that none would help. The attempt ends with the caller.
    """
    spec = read_json(run / "spec.json")
    if spec is None:
        raise TaskFailedError(f"{run / 'spec.json'}: is not there, so nobody knows what to run.")
    logger: subprocess.Popen[bytes] | None = None
    while True:
        state = judge(run, spec, task, allocation)
        if state.kind == "done":
            return attempts_of(run, task)[-1].result() or {}
        if state.kind == "failed":
            raise TaskFailedError(f"task {task}: {state.reason}")
        if state.kind in ("new", "again"):
            if logger is not None:
                raise TryAgainError(f"task {task}: {_told(run, task, state)}")
            try:
                logger = start_attempt(run, spec, task, state.memory_gib, tied=True)
            except FileExistsError:
                # somebody else was quicker: his attempt is waited for
                continue
            logger.wait()
        time.sleep(_PAUSE_S)


def _told(run: Path, task: str, state: NextAttempt) -> str:
    ended = attempts_of(run, task)[-1].result() or {}
    return f"{ended.get('because') or 'interrupted'}; next with {units.memory(state.memory_gib)}"


def tried(attempt: Attempt) -> Tried:
    """Return what an attempt's folder says of it."""
    generation = attempt.order().get("generation")
    return Tried(attempt.result(), generation, str(attempt.folder / "stderr.log"))


def _filled(part: str, values: Mapping[str, str]) -> str:
    for later, value in values.items():
        part = part.replace(later, value)
    return part


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
