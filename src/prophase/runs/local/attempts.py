"""The attempts at a task, as folders: what was ordered, what came of it. Standard library only.

RUN/spec.json            tasks, commands, order
RUN/supervisor.lock      held while somebody runs the tasks
RUN/outcome-N.json       how the run ended, after N resets
RUN/tasks/TASK/1/        first attempt: order.json, lock, samples.jsonl, stdout.log,
                         stderr.log, result.json
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from prophase.atomic_files import write_whole
from prophase.json_types import JsonObject
from prophase.runs.local.leftover_processes import kill_marked
from prophase.runs.usage.measurement_order import Ending

#: stand in commands for what is known only when an attempt begins
MEMORY_LATER, PYTHON_LATER = "\0memory_gib\0", "\0python\0"
INTERRUPTED = "interrupted: whoever ran it was killed"


@dataclass(frozen=True)
class Attempt:
    """One try at one task."""

    folder: Path

    @property
    def number(self) -> int:
        return int(self.folder.name)

    @property
    def task(self) -> str:
        return self.folder.parent.name

    def order(self) -> JsonObject:
        """Return what was ordered; empty if the order was not written to its end."""
        return read_json(self.folder / "order.json") or {}

    def result(self) -> JsonObject | None:
        """Return how it ended, or None if it has not."""
        return read_json(self.folder / "result.json")

    def is_running(self) -> bool:
        """Say whether its logger lives."""
        return is_locked(self.folder / "lock")

    def give_up(self) -> None:
        """Write an attempt off whose logger was killed, with all that is left of it.

        The lock keeps a logger out that starts only now.
        """
        with (self.folder / "lock").open("a") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            if self.result() is None:
                kill_marked(str(self.folder))
                began_s, limit_gib = self.folder.stat().st_mtime, self.order().get("memory_gib")
                ending = Ending(137, "killed", INTERRUPTED, began_s, limit_gib=limit_gib)
                write_whole(self.folder / "result.json", json.dumps(asdict(ending)))


def attempts_of(run: Path, task: str) -> list[Attempt]:
    """Return all attempts at a task, first to last."""
    folder = run / "tasks" / task
    numbers = sorted(int(name) for name in _names(folder) if name.isdigit())
    return [Attempt(folder / str(number)) for number in numbers]


def is_locked(path: Path) -> bool:
    """Say whether somebody holds the lock of a file."""
    try:
        with path.open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def read_json(path: Path) -> JsonObject | None:
    """Return what a JSON file holds; None if it is not there or not whole."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []
