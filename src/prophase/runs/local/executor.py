"""The local executor: real processes, under real memory limits, with their output kept."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from prophase.atomic_files import make_whole_folder, write_whole
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.runs.executor import RUNNING, SUCCEEDED, Assignment, ExecutorCheck
from prophase.runs.local.attempts import attempts_of, is_locked, read_json
from prophase.runs.local.leftover_processes import kill_marked
from prophase.runs.local.run_records import run_spec, task_rows
from prophase.runs.usage.process_tree import environment_has

#: restarts of a supervisor that brought the run no further, until that is called a failure
_MOST_RESTARTS = 10
_SUPERVISES = "PROPHASE_SUPERVISES"
#: holds the process id of the supervisor that was started last
_STARTED = "started.pid"


class LocalExecutor:
    """Runs tasks as processes of this machine.

    Parameters
    ----------
    folder : path
        Where deployments, runs and profiles are kept; the same for all workers.
    """

    name = "local"

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder).resolve() / "local"

    # deployment

    def deploy(self, job: Assignment) -> str:
        """Put the scenario beside the job code; the folder appears whole or not at all."""
        job.check_code()

        def fill(fresh: Path) -> None:
            fresh.mkdir()
            (fresh / "scenario.yaml").write_text(job.scenario_yaml, encoding="utf-8")
            (fresh / "pipeline.yaml").write_text(job.pipeline.text, encoding="utf-8")
            if job.code is not None:
                (fresh / "code").symlink_to(job.code)

        make_whole_folder(self._deployed(job.new_dag_id), fill)
        return job.new_dag_id

    def check_deploy(self, job: Assignment) -> ExecutorCheck:
        """See whether the deployment is as it should be."""
        place = self._deployed(job.dag_id or job.new_dag_id)
        try:
            found = (place / "scenario.yaml").read_text(encoding="utf-8")
        except OSError:
            return ExecutorCheck("failed", f"{place}: the deployment is not there.")
        if found != job.scenario_yaml:
            return ExecutorCheck(
                "failed", f"{place / 'scenario.yaml'}: is not what was registered."
            )
        if job.code is not None and not (place / "code").is_dir():
            return ExecutorCheck("failed", f"{place / 'code'}: the job code is gone.")
        return SUCCEEDED

    # execution

    def execute(self, job: Assignment) -> str:
        """Start a supervisor for the run, unless one is at work already."""
        run_id = job.run_id or job.new_run_id
        place = self._run(run_id)
        before = read_json(place / "spec.json")
        if before is not None and before.get("generation") != job.resets:
            self._stop_supervisor(place)
        spec = run_spec(
            job,
            run_id,
            code=str(self._deployed(job.dag_id or job.new_dag_id) / "code"),
            allocations=str(self.folder / "allocations.json"),
        )
        if before != json.loads(json.dumps(spec)):
            write_whole(place / "spec.json", json.dumps(spec, indent=1))
        if not self._outcome(place, job) and not is_locked(place / "supervisor.lock"):
            self._start_supervisor(place)
        return run_id

    def check_execute(self, job: Assignment) -> ExecutorCheck:
        """Read how the run ended; a supervisor that was killed is replaced."""
        assert job.run_id is not None
        place = self._run(job.run_id)
        outcome = self._outcome(place, job)
        if outcome is None:
            if is_locked(place / "supervisor.lock"):
                return RUNNING
            # it may have ended in order between the two looks
            outcome = self._outcome(place, job)
        if outcome is None:
            # one that has not taken its lock yet is not dead
            return RUNNING if self._is_starting(place) else self._restart(place, job)
        if outcome["succeeded"]:
            return SUCCEEDED
        return ExecutorCheck("failed", str(outcome["reason"]))

    # profiling

    def profile(self, job: Assignment) -> str:
        """Gather what was measured into one file."""
        assert job.run_id is not None
        place = self._run(job.run_id)
        outcome = _last_outcome(place, job)
        if outcome is None or not outcome["succeeded"]:
            raise job.not_executed()
        document = json.dumps({"rows": task_rows(place)})
        write_whole(self._profile(job.new_profiling_id), document)
        return job.new_profiling_id

    def check_profile(self, job: Assignment) -> ExecutorCheck:
        """Read the rows back; every task must have been completed once."""
        assert job.profiling_id is not None
        path = self._profile(job.profiling_id)
        found = read_json(path)
        if found is None:
            return ExecutorCheck("failed", f"{path}: what profiling gathered is gone or damaged.")
        return job.check_rows(found["rows"], path)

    def ended_attempts(self, job: Assignment) -> Sequence[JsonObject]:
        """Read what is on record of the run."""
        return [] if job.run_id is None else task_rows(self._run(job.run_id))

    # the rest

    def allocate(self, allocations: Mapping[str, JsonObject]) -> None:
        """Leave the allocations where supervisors look before each attempt."""
        path = self.folder / "allocations.json"
        wanted = {task: dict(values) for task, values in allocations.items()}
        if (read_json(path) or {}) != wanted:
            write_whole(path, json.dumps(wanted))

    def repair(self, job: Assignment) -> str | None:
        """Stop a supervisor that hangs, with its tasks; the next check starts another."""
        if job.run_id is None:
            return None
        place = self._run(job.run_id)
        if self._outcome(place, job):
            return None
        stopped = self._stop_supervisor(place)
        killed = _end_tasks(place)
        if not stopped and not killed:
            return None
        return f"restarted its supervisor, ended {counted(killed, 'process', 'processes')} of tasks"

    def tidy(self, executing: Sequence[Assignment], campaign: str = "") -> list[str]:
        """Stop supervisors of runs that are not being executed."""
        wanted = {job.run_id or job.new_run_id for job in executing}
        done = []
        for lock in (self.folder / "runs").glob("*/supervisor.lock"):
            place = lock.parent
            if place.name not in wanted and is_locked(lock) and self._stop_supervisor(place):
                _end_tasks(place)
                done.append(f"stopped the supervisor of {place.name}, which nobody waits for")
        return done

    def _start_supervisor(self, place: Path) -> None:
        with (place / "supervisor.log").open("ab") as log:
            # it belongs to nobody's session: it outlives the worker
            started = subprocess.Popen(
                [sys.executable, "-m", "prophase.runs.local.supervisor", str(place)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, _SUPERVISES: str(place)},
            )
        (place / _STARTED).write_text(str(started.pid), encoding="ascii")
        _started.append(started)
        for earlier in list(_started):
            if earlier.poll() is not None:
                _started.remove(earlier)

    def _restart(self, place: Path, job: Assignment) -> ExecutorCheck:
        """Start another supervisor, unless that has not helped several times."""
        path = place / f"restarts-{job.resets}.json"
        finished = sum(
            attempt.result() is not None
            for task in job.pipeline.tasks
            for attempt in attempts_of(place, task)
        )
        before = read_json(path) or {"finished": -1, "times": 0}
        times = before["times"] + 1 if before["finished"] == finished else 1
        if times > _MOST_RESTARTS:
            log = place / "supervisor.log"
            return ExecutorCheck(
                "failed", f"its supervisor died {times} times; what it said is in {log}"
            )
        write_whole(path, json.dumps({"finished": finished, "times": times}))
        self._start_supervisor(place)
        return RUNNING

    def _stop_supervisor(self, place: Path) -> bool:
        """Kill the supervisor of a run, if the process of that number is still it."""
        pid = _pid_in(place / "supervisor.pid")
        if pid is None or not environment_has(pid, f"{_SUPERVISES}={place}"):
            return False
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            return True
        return False

    def _is_starting(self, place: Path) -> bool:
        pid = _pid_in(place / _STARTED)
        return pid is not None and environment_has(pid, f"{_SUPERVISES}={place}")

    def _outcome(self, place: Path, job: Assignment) -> dict[str, object] | None:
        return read_json(place / f"outcome-{job.resets}.json")

    def _deployed(self, dag_id: str) -> Path:
        return self.folder / "deployed" / dag_id

    def _run(self, run_id: str) -> Path:
        return self.folder / "runs" / run_id

    def _profile(self, profiling_id: str) -> Path:
        return self.folder / "profiles" / f"{profiling_id}.json"


#: supervisors this process has started: to be waited for once they have ended
_started: list[subprocess.Popen[bytes]] = []


@atexit.register
def _let_go() -> None:
    """Part from supervisors that outlive this process on purpose; Python would warn of them."""
    for supervisor in _started:
        if supervisor.poll() is None:
            supervisor.returncode = 0


def _last_outcome(place: Path, job: Assignment) -> dict[str, object] | None:
    """Return how the last execution ended; a reset of the profiling alone left it as it was."""
    for resets in range(job.resets, -1, -1):
        found = read_json(place / f"outcome-{resets}.json")
        if found is not None:
            return found
    return None


def _pid_in(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _end_tasks(place: Path) -> int:
    """Kill what runs for the tasks of a run that nobody supervises; return how many processes."""
    return sum(
        kill_marked(str(attempt.folder))
        for task in (place / "tasks").glob("*")
        for attempt in attempts_of(place, task.name)[-1:]
        if attempt.result() is None
    )
