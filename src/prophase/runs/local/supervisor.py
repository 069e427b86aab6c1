"""Run the tasks of one run to the end: ``python -m prophase.runs.local.supervisor FOLDER``.

Everything it knows is in the folder, so that after ``kill -9`` another supervisor goes on: tasks
that succeeded stay done, those that still run are waited for, those that died run again.
Standard library only.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from prophase.atomic_files import write_whole
from prophase.runs.local.attempt_process import judge, start_attempt
from prophase.runs.local.attempts import Attempt, read_json
from prophase.runs.next_attempt import NextAttempt

_PAUSE_S = 0.05


class Supervisor:
    """The tasks of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        spec = read_json(folder / "spec.json")
        assert spec is not None
        self.spec = spec
        self.loggers: list[subprocess.Popen[bytes]] = []

    def run(self) -> None:
        """Run what can be run until all is done or something failed; then write the outcome."""
        outcome = self.folder / f"outcome-{self.spec['generation']}.json"
        while not outcome.exists():
            states = self._look()
            failed = {name: v.reason for name, v in states.items() if v.kind == "failed"}
            running = [name for name, v in states.items() if v.kind == "running"]
            if failed and not running:
                reason = "; ".join(f"task {name}: {said}" for name, said in failed.items())
                write_whole(outcome, json.dumps({"succeeded": False, "reason": reason}))
            elif all(v.kind == "done" for v in states.values()):
                write_whole(outcome, json.dumps({"succeeded": True, "reason": ""}))
            elif not failed:
                self._start_ready(states, len(running))
            for logger in list(self.loggers):
                if logger.poll() is not None:
                    self.loggers.remove(logger)
            if not outcome.exists():
                time.sleep(_PAUSE_S)

    def _look(self) -> dict[str, NextAttempt]:
        allocations = read_json(Path(self.spec["allocations"])) or {}
        return {
            name: judge(self.folder, self.spec, name, allocations.get(name, {}), self._lives)
            for name in self.spec["tasks"]
        }

    def _lives(self, attempt: Attempt) -> bool:
        """Ours may not have taken its lock yet; others' are alive if their lock is held."""
        mine = str(attempt.folder / "order.json")
        if any(mine in logger.args and logger.poll() is None for logger in self.loggers):  # type: ignore[operator]
            return True
        return attempt.is_running()

    def _start_ready(self, states: dict[str, NextAttempt], running: int) -> None:
        room = self.spec["parallel_tasks"] - running
        for name, state in states.items():
            task = self.spec["tasks"][name]
            ready = all(states[before].kind == "done" for before in task["after"])
            if room > 0 and ready and state.kind in ("new", "again"):
                self.loggers.append(start_attempt(self.folder, self.spec, name, state.memory_gib))
                room -= 1


def main() -> int:
    """Supervise the run of a folder, unless somebody already does."""
    folder = Path(sys.argv[1])
    with (folder / "supervisor.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        (folder / "supervisor.pid").write_text(str(os.getpid()))
        with suppress(KeyboardInterrupt):
            Supervisor(folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
