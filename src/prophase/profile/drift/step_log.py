"""Steps of a watcher, what it noticed and did, and the log they are added to."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from prophase.errors import WorkspaceError, storage_error
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.profile.drift.monitor import Alarm
from prophase.profile.drift.repair import RepairPlan

#: jobs after an alarm at which its cause is looked at again, with more jobs known
LOOKS_AGAIN = (100, 300)


@dataclass
class DriftChange:
    """A change that was noticed, until it has been looked at for the last time."""

    #: number of the step that noticed it
    step: int
    #: row of all jobs at which it began, and those at which it is looked at again
    since: int
    due: list[int]
    alarms: list[Alarm]
    profiles_done: bool = False
    mend: RepairPlan | None = None


@dataclass(frozen=True)
class WatchStep:
    """One entry of the log."""

    step: int
    #: alarm, or second look at a change that was noticed
    kind: str
    #: jobs watched by then, and the end of the last of them on the clock of the trace
    jobs: int
    time_s: float | None
    reason: str
    #: step that noticed the change this one is about
    change: int
    #: jobs watched before the change began
    since_jobs: int
    alarms: list[JsonObject]
    culprit: str
    repair: dict[str, object]
    retired: list[int]
    new: list[int]
    profiles: str
    #: median absolute log error and share outside the range, before and since the change
    before: dict[str, float]
    since: dict[str, float]
    #: of the history and all jobs watched so far
    data_hash: str

    def to_dict(self) -> JsonObject:
        """Return what JSON holds."""
        return asdict(self)


class StepLog:
    """Steps in a file of JSON lines.

    Examples
    --------
    >>> log = StepLog(getfixture("tmp_path") / "steps.jsonl")
    >>> log.undone([2], jobs=50)
    >>> log.lines()[0]["undoes"], log.standing()
    ([2], [])
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[JsonObject]:
        """Return every line of the log."""
        if not self.path.is_file():
            return []
        lines = self.path.read_bytes().splitlines(keepends=True)
        if lines and _is_torn(lines[-1]):
            # cut off by a crash; whoever loads the state adds the step again
            lines.pop()
        try:
            return [json.loads(line) for line in lines if line.strip()]
        except json.JSONDecodeError as cause:
            raise WorkspaceError(
                f"{self.path}: a line is not JSON ({cause}). Restore the file, or remove that line."
            ) from cause

    def standing(self) -> list[int]:
        """Return the steps that were taken and not undone."""
        found: list[int] = []
        for entry in self.lines():
            if entry["kind"] == "undo":
                found = [one for one in found if one not in entry["undoes"]]
            else:
                found.append(entry["step"])
        return found

    def add(self, steps: Sequence[WatchStep]) -> None:
        """Add steps; they are on the disk when this returns."""
        self._append([one.to_dict() for one in steps])

    def undone(self, steps: Sequence[int], *, jobs: int) -> None:
        """Note that steps were taken back to where so many jobs were watched."""
        number = max((entry["step"] for entry in self.lines()), default=0) + 1
        self._append([{"step": number, "kind": "undo", "undoes": list(steps), "jobs": jobs}])

    def clear(self) -> None:
        """Remove the log."""
        self.path.unlink(missing_ok=True)

    def _append(self, entries: Sequence[JsonObject]) -> None:
        if not entries:
            return
        now = datetime.now(UTC).isoformat(timespec="seconds")
        lines = [json.dumps({**finite(one), "logged_at": now}) + "\n" for one in entries]
        try:
            with self.path.open("ab+") as out:
                self._end_whole(out)
                out.write("".join(lines).encode())
                out.flush()
                os.fsync(out.fileno())
        except OSError as cause:
            raise storage_error(cause, self.path) from cause

    def _end_whole(self, out: BinaryIO) -> None:
        """Let the file end with a whole line, without the part of one that a crash has left."""
        out.seek(0)
        held = out.read()
        begun = held[held.rfind(b"\n") + 1 :]
        if _is_torn(begun):
            out.truncate(len(held) - len(begun))
        elif begun:
            out.write(b"\n")


def _is_torn(line: bytes) -> bool:
    """Say whether a last line is the beginning of one; no part of an object is JSON itself."""
    if line.endswith(b"\n") or not line.strip():
        return False
    try:
        json.loads(line)
    except ValueError:
        return True
    return False
