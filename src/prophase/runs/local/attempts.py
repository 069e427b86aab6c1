"""The attempts at a task, as folders: what was ordered, what came of it. Standard library only.

RUN/spec.json            tasks, commands, order
RUN/supervisor.lock      held while somebody runs the tasks
RUN/outcome-N.json       how the run ended, after N resets
RUN/tasks/TASK/1/        first attempt: order.json, lock, begun, samples.jsonl, stdout.log,
                         stderr.log, ended.json (how the command ended, first of all),
                         result.json
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from prophase.atomic_files import write_whole
from prophase.json_types import JsonObject
from prophase.runs.end_cause import EndEvidence, command_end
from prophase.runs.local.leftover_processes import kill_marked
from prophase.runs.usage.measurement_order import Ending
from prophase.runs.usage.recorded_command import RecordedEnd, begun_path
from prophase.runs.usage.sampler import whole_lines

#: stand in commands for what is known only when an attempt begins
MEMORY_LATER, PYTHON_LATER = "\0memory_gib\0", "\0python\0"
INTERRUPTED = "interrupted: whoever ran it was killed"
PARTLY_MEASURED = "measured only until its logger was killed"
_TAIL_BYTES = 64 * 1024


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
        """Say whether its logger lives, or the keeper of its command."""
        return is_locked(self.folder / "lock")

    def give_up(self) -> None:
        """Write down the end of an attempt whose logger was killed: the one that its keeper has on
        record, or that it was interrupted.

        The lock keeps a logger out that starts only now.
        """
        with (self.folder / "lock").open("a") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            if self.result() is None:
                kill_marked(str(self.folder))
                result = self.folder / "result.json"
                write_whole(result, json.dumps(asdict(self._ending(RecordedEnd.read(result)))))

    def _ending(self, end: RecordedEnd | None) -> Ending:
        """Return how an attempt ended that nobody measured to its end."""
        order = self.order()
        limit_gib, result = order.get("memory_gib"), self.folder / "result.json"
        if end is None:
            began_s, unsure = self.folder.stat().st_mtime, begun_path(result).exists()
            because = f"{INTERRUPTED}; it may have run to its end" if unsure else INTERRUPTED
            return Ending(137, "killed", because, began_s, limit_gib=limit_gib, unsure=unsure)
        seen = command_end(
            EndEvidence(
                end.exit_code,
                _tail(self.folder / "stderr.log"),
                timed_out=end.timed_out,
                timeout_s=order.get("timeout_s"),
                oom_kills=end.oom_kills,
                signalled=end.exit_code > 128,
            )
        )
        samples = _samples(self.folder / "samples.jsonl")
        return Ending(
            end.exit_code,
            seen.cause,
            "; ".join(filter(None, [seen.because, PARTLY_MEASURED])),
            end.started_at_s,
            duration_s=max(0.0, end.ended_at_s - end.started_at_s),
            memory_peak_gib=max((one.get("memory_gib", 0.0) for one in samples), default=0.0),
            samples=len(samples),
            limit_gib=limit_gib,
            partly_measured=True,
        )


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


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return stream.read()
    except OSError:
        return b""


def _samples(path: Path) -> list[JsonObject]:
    try:
        return whole_lines(path)
    except OSError:
        return []


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []
