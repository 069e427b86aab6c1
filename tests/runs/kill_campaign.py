"""A campaign whose workers, tasks and connections are killed at random: a program of its own.

python tests/runs/kill_campaign.py FOLDER URL KILLS SEED local|paper

Prints what was killed and what is wrong afterwards, as JSON. ``paper`` executes runs only on
paper: a file says when one began, so that kills can follow each other within milliseconds.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import text

from prophase.runs.campaign import Campaign
from prophase.runs.executor import RUNNING, SUCCEEDED, Assignment, ExecutorCheck
from prophase.runs.local.executor import LocalExecutor
from prophase.runs.states import NEXT_STATE, RunState
from prophase.runs.usage.process_tree import all_pids
from prophase.runs.worker import Worker

PIPELINE = """
name: small
scenario: [size]
sample_every: 1s
parallel_tasks: 2
tasks:
  first: {command: "sh -c 'sleep 0.05'", memory: 256MiB}
  left: {command: "sleep 0.05", memory: 256MiB, after: first}
  right: {command: "sleep 0.02", memory: 256MiB, after: first}
"""
SETTINGS = [
    "lease_s=1.5",
    "maintain.interval_s=0.5",
    "execute.parallel=6",
    *(
        f"{branch}.interval_s=0.03"
        for branch in (
            "deploy",
            "check_deploy",
            "execute",
            "check_execute",
            "profile",
            "check_profile",
        )
    ),
]
WORKERS = 3
_DAYS = 4


class PaperExecutor:
    """Every step takes a moment, and a file says when it was begun."""

    name = "paper"

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "paper"
        self.folder.mkdir(exist_ok=True)

    def _begin(self, name: str) -> str:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.folder / name, os.O_CREAT | os.O_EXCL))
        return name

    def _look(self, name: str | None) -> ExecutorCheck:
        begun = (self.folder / str(name)).stat().st_mtime
        return SUCCEEDED if time.time() - begun > 0.03 else RUNNING

    def deploy(self, job: Assignment) -> str:
        return self._begin(f"{job.new_dag_id}--{job.id}")

    def check_deploy(self, job: Assignment) -> ExecutorCheck:
        return self._look(job.dag_id)

    def execute(self, job: Assignment) -> str:
        return self._begin(job.new_run_id)

    def check_execute(self, job: Assignment) -> ExecutorCheck:
        return self._look(job.run_id)

    def profile(self, job: Assignment) -> str:
        return self._begin(job.new_profiling_id)

    def check_profile(self, job: Assignment) -> ExecutorCheck:
        rows = [{"task": t, "attempt": 1, "status": "completed"} for t in job.pipeline.tasks]
        look = self._look(job.profiling_id)
        return ExecutorCheck("succeeded", task_rows=rows) if look is SUCCEEDED else look

    def allocate(self, allocations: Mapping[str, Mapping[str, float]]) -> None: ...

    def repair(self, job: Assignment) -> str | None:
        return None

    def tidy(self, executing: Sequence[Assignment], campaign: str = "") -> list[str]:
        return []


class KillCampaign:
    def __init__(self, folder: Path, url: str, seed: int, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self.chance = random.Random(seed)
        (folder / "pipeline.yaml").write_text(PIPELINE)
        self.campaign = Campaign.create(folder / "c", folder / "pipeline.yaml", database=url)
        for setting in SETTINGS:
            self.campaign.set(setting)
        self.workers: list[int] = []
        self.frozen: dict[int, float] = {}
        self.killed: Counter[str] = Counter()
        self.batches = 0

    def executor(self) -> object:
        make = LocalExecutor if self.kind == "local" else PaperExecutor
        return make(self.campaign.folder)

    def start_worker(self) -> None:
        pid = os.fork()
        if pid:
            self.workers.append(pid)
            return
        try:
            # connections of the parent are not ours to use or to close
            self.campaign.database.engine.dispose(close=False)
            Worker(self.campaign, self.executor()).work(forever=True)
        finally:
            os._exit(1)

    def register_more(self) -> None:
        days = [f"2024-{1 + self.batches % 12:02d}-{day + 1:02d}" for day in range(_DAYS)]
        name = f"s{self.batches}"
        (self.folder / "s.yaml").write_text(f"scenarios: [{{scenario: {name}, size: 1}}]")
        self.campaign.register(self.folder / "s.yaml", [",".join(days)])
        self.batches += 1

    def kill_something(self) -> None:
        kinds = ["worker", "frozen worker"]
        if self.kind == "local":
            kinds += ["task", "task"]
        if self.campaign.database.is_postgres:
            kinds += ["connection"]
        what = self.chance.choice(kinds)
        done = {
            "worker": self.kill_worker,
            "frozen worker": self.freeze_worker,
            "task": self.kill_task,
            "connection": self.kill_connection,
        }[what]()
        self.killed[what] += done

    def kill_worker(self) -> bool:
        pid = self.chance.choice(self.workers)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.workers.remove(pid)
        self.frozen.pop(pid, None)
        self.start_worker()
        return True

    def freeze_worker(self) -> bool:
        """Stop a worker for longer than its lease; it must not do harm when it comes back."""
        free = [pid for pid in self.workers if pid not in self.frozen]
        if len(free) < 2:
            return False
        pid = self.chance.choice(free)
        # with SQLite, one that sleeps inside a transaction would keep all others waiting
        self.frozen[pid] = time.monotonic() + self.chance.uniform(0.05, 2.5)
        os.kill(pid, signal.SIGSTOP)
        return True

    def thaw(self, *, all_of_them: bool = False) -> None:
        for pid, until in list(self.frozen.items()):
            if all_of_them or time.monotonic() > until:
                os.kill(pid, signal.SIGCONT)
                del self.frozen[pid]

    def processes(self) -> list[int]:
        """Supervisors, loggers and tasks of this campaign, by the folder they were started for."""
        found, place = [], str(self.campaign.folder).encode()
        for pid in all_pids():
            try:
                environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            marked = any(
                part.startswith((b"PROPHASE_SUPERVISES=", b"PROPHASE_ATTEMPT=")) and place in part
                for part in environment
            )
            if pid != os.getpid() and pid not in self.workers and (marked or place in command):
                found.append(pid)
        return found

    def kill_task(self) -> bool:
        alive = self.processes()
        if not alive:
            return False
        try:
            os.kill(self.chance.choice(alive), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def kill_connection(self) -> bool:
        def end_one(connection: object) -> bool:
            asked = (
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid()"
            )
            pids = list(connection.execute(text(asked)).scalars())
            if not pids:
                return False
            chosen = {"pid": self.chance.choice(pids)}
            connection.execute(text("SELECT pg_terminate_backend(:pid)"), chosen)
            return True

        return self.campaign.database.read(end_one)

    def go(self, kills: int, longest_s: float) -> None:
        end = time.monotonic() + longest_s
        self.register_more()
        for _ in range(WORKERS):
            self.start_worker()
        try:
            while self.killed.total() < kills and time.monotonic() < end:
                pause = (0.02, 0.3) if self.kind == "local" else (0.0, 0.06)
                time.sleep(self.chance.uniform(*pause))
                self.thaw()
                open_runs = sum(
                    n for s, n in self.campaign.store.counts().items() if s != RunState.FINISHED
                )
                if open_runs < _DAYS:
                    self.register_more()
                self.kill_something()
            self.thaw(all_of_them=True)
            while not self.is_done() and time.monotonic() < end:
                time.sleep(0.1)
        finally:
            for pid in self.workers:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def is_done(self) -> bool:
        counts = self.campaign.store.counts()
        return all(state.failed or state is RunState.FINISHED for state in counts)

    def problems(self) -> list[str]:
        """Say everything that should not be so."""
        found = []
        store = self.campaign.store
        rows = Counter((run, row["task"], row["status"]) for run, row in store.task_rows())
        for run in store.runs():
            if run.state is not RunState.FINISHED:
                found.append(f"run {run.id} is {run.state.label}: {run.notes}")
                continue
            story = store.history(run.id)
            if story[0].event != "registered" or story[-1].to_state is not RunState.FINISHED:
                found.append(f"run {run.id}: its history has no beginning or no end")
            for before, move in itertools.pairwise(story):
                right = move.from_state is before.to_state
                if not right or NEXT_STATE.get((before.to_state, move.event)) is not move.to_state:
                    found.append(f"run {run.id}: {before.to_state} {move.event} {move.to_state}")
            if len(story) != 7:
                found.append(f"run {run.id}: {len(story)} moves in place of 7")
            for task in ("first", "left", "right"):
                if rows[run.id, task, "completed"] != 1:
                    found.append(
                        f"run {run.id}: {task} completed {rows[run.id, task, 'completed']}"
                    )
            ids = (run.dag_id, run.run_id, run.profiling_id)
            if self.kind == "paper":
                paper = self.campaign.folder / "paper"
                found += [f"{name} was never begun" for name in ids if not (paper / name).exists()]
        if self.kind == "local":
            found += self.double_attempts()
        return found

    def double_attempts(self) -> list[str]:
        """No task may be started again once it has succeeded, nor run beside itself."""
        found, ends = [], {}
        for run, row in self.campaign.store.task_rows():
            key = run, row["task"]
            if row["attempt"] > 1 and row["start_s"] < ends[key] - 0.001:
                found.append(f"run {run}: attempt {row['attempt']} at {row['task']} came too soon")
            if ends.get(key) == float("inf"):
                found.append(f"run {run}: {row['task']} was run again after its success")
            ends[key] = float("inf") if row["status"] == "completed" else row["end_s"]
        return found


def main() -> None:
    folder, url, kills, seed, kind = sys.argv[1:]
    campaign = KillCampaign(Path(folder), url, int(seed), kind)
    began = time.monotonic()
    campaign.go(int(kills), longest_s=600)
    problems = campaign.problems()
    left = len(campaign.processes()) if kind == "local" else 0
    # a supervisor that another one has forestalled ends by itself
    patience = time.monotonic() + 60
    while left and time.monotonic() < patience:
        time.sleep(0.2)
        left = len(campaign.processes()) if kind == "local" else 0
    print(
        json.dumps(
            {
                "killed": dict(campaign.killed),
                "runs": len(campaign.campaign.store.runs()),
                "problems": problems,
                "left_running": left,
                "seconds": round(time.monotonic() - began, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
