"""Kill the loggers of tasks at random and at the worst moment: does any task take effect twice?

    python -m tests.runs.logger_kills [KILLS] [SEED] [--keepers]

Each task leaves a line in a file as the last thing it does. Half of the kills come at a random
time, half right after that line: the logger has not yet noticed that its task has ended. With
--keepers every third kill hits the keeper of the command as well; then nobody can know, and the
row has to say that the task may have run twice.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from prophase.json_types import JsonObject
from prophase.runs.local.attempt_process import judge, start_attempt
from prophase.runs.local.attempts import attempts_of
from prophase.runs.local.run_records import task_rows
from prophase.runs.usage.process_tree import descendants

AT_ONCE = 4


@dataclass
class Story:
    """One task, from its first attempt to its success."""

    run: Path
    chance: random.Random
    keepers: bool
    kills: Counter[str]
    budget: int
    logger: subprocess.Popen[bytes] | None = None
    #: when to kill: a moment, or None for right after the effect
    at: float | None = None
    done: bool = False
    loggers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def effects(self) -> int:
        """How often the task took effect."""
        with suppress(OSError):
            return len((self.run / "effect").read_text().splitlines())
        return 0

    def spec(self) -> JsonObject:
        """Return what is run."""
        command = [
            "sh",
            "-c",
            f"sleep 0.0{self.chance.randrange(1, 9)}; echo x >> {self.run}/effect",
        ]
        task = {
            "command": command, "memory_gib": 0.25, "advised_gib": [], "attempts": 3,
            "timeout_s": None, "cpu_cores": 1,
        }  # fmt: skip
        return {
            "id": 1, "generation": 0, "env": {}, "tasks": {"t": task}, "sample_every_s": 1.0,
            "node_memory_gib": None, "bins_gib": [],
        }  # fmt: skip

    def step(self) -> None:
        """Look at the task, start it if nobody runs it, kill if it is time."""
        held = json.loads((self.run / "spec.json").read_text())
        mine = self.logger is not None and self.logger.poll() is None
        state = judge(self.run, held, "t", {}, lambda one: mine or one.is_running())
        if state.kind == "done":
            self.done = True
        elif state.kind in ("new", "again"):
            self.logger = start_attempt(self.run, held, "t", None)
            self.loggers.append(self.logger)
            soon = time.monotonic() + self.chance.uniform(0.0, 0.5)
            self.at = soon if self.chance.random() < 0.5 else None
        elif state.kind == "failed":
            raise AssertionError(state.reason)
        if mine and self.budget > 0 and self._is_time():
            self._kill()

    def _is_time(self) -> bool:
        return self.effects > 0 if self.at is None else time.monotonic() >= self.at

    def _kill(self) -> None:
        assert self.logger is not None
        self.budget -= 1
        victims = [self.logger.pid]
        kind = "logger at random" if self.at is not None else "logger after the effect"
        if self.keepers and self.chance.random() < 1 / 3:
            # the keeper is the only child of the logger; the command is its child
            victims = [*descendants(self.logger.pid)[:1], *victims]
            kind = "keeper and logger"
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.kills[kind] += 1

    def close(self) -> None:
        """Wait for what was started."""
        for logger in self.loggers:
            logger.wait()


def campaign(folder: Path, kills: int, seed: int, *, keepers: bool = False) -> JsonObject:
    """Run tasks until so many loggers were killed; return what happened to them."""
    chance, killed = random.Random(seed), Counter[str]()
    going: list[Story] = []
    tasks = doubled = told = lost = 0
    problems: list[str] = []
    while killed.total() < kills or going:
        while len(going) < AT_ONCE and killed.total() < kills:
            run = folder / f"run-{tasks}"
            run.mkdir()
            own = random.Random(chance.randrange(2**32))
            story = Story(run, own, keepers, killed, budget=own.choice([1, 1, 2]))
            (run / "spec.json").write_text(json.dumps(story.spec()))
            going.append(story)
            tasks += 1
        for story in list(going):
            story.step()
            if not story.done:
                continue
            going.remove(story)
            story.close()
            rows = task_rows(story.run)
            says = any(row.get("may_have_run_twice") for row in rows)
            told += says
            if story.effects > 1:
                doubled += 1
                if not says:
                    problems.append(f"{story.run.name}: {story.effects} effects, nothing said")
            if story.effects == 0:
                lost += 1
                problems.append(f"{story.run.name}: done without its effect")
            if attempts_of(story.run, "t")[-1].is_running():
                problems.append(f"{story.run.name}: something still runs")
        time.sleep(0.002)
    return {
        "killed": dict(killed), "tasks": tasks, "took_effect_twice": doubled, "said_so": told,
        "lost": lost, "problems": problems,
    }  # fmt: skip


def main() -> None:
    """Run a campaign and print what came of it."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    kills, seed = [*numbers, *(1000, 0)[len(numbers) :]]
    with tempfile.TemporaryDirectory() as scratch:
        found = campaign(Path(scratch), kills, seed, keepers="--keepers" in sys.argv)
    print(json.dumps(found))
    sys.exit(bool(found["problems"]))


if __name__ == "__main__":
    main()
