"""The Kubernetes executor: every attempt at a task is a Job with a memory limit.

All it knows is in the cluster, in labels and annotations, so that any worker can go on. Names are
made from what they stand for: creating the same Job twice is refused by the API server, and
that is how the same attempt is never started twice, however old the view is that we act upon.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from prophase.integrations.kubernetes.api_server import ApiServer, Kind, api_server_message
from prophase.integrations.kubernetes.attempts import JobAttempt, attempt_row, job_attempts
from prophase.integrations.kubernetes.manifests import (
    DEFAULT_IMAGE,
    RUN_LABEL,
    campaign_selector,
    run_label,
    scenario_map,
    task_job,
)
from prophase.integrations.kubernetes.watch_stream import WatchedObjects
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.runs.executor import RUNNING, SUCCEEDED, Assignment, ExecutorCheck
from prophase.runs.next_attempt import NextAttempt, Tried, verdict

_WATCHED: tuple[Kind, ...] = ("job", "pod")


class KubernetesExecutor:
    """Runs tasks as Jobs of a cluster.

    Parameters
    ----------
    folder : path
        Of the campaign; nothing is kept there.
    api_client : optional
        A client of the official library; by default that of the pod we are in, or of the
        kubeconfig.
    namespace : str, optional
        By default ``PROPHASE_KUBE_NAMESPACE``, else ``default``.
    prometheus : str, optional
        Address of the server that has cAdvisor's metrics, by default ``PROPHASE_PROMETHEUS``.
        Without one, rows have no usage.
    """

    name = "kubernetes"

    def __init__(
        self,
        folder: Path,
        *,
        api_client: object = None,
        namespace: str | None = None,
        prometheus: str | None = None,
    ) -> None:
        import kubernetes  # noqa: F401 - here, so that a missing extra is noticed at once

        self.namespace = namespace or os.environ.get("PROPHASE_KUBE_NAMESPACE", "default")
        self.cluster = ApiServer(self.namespace, api_client)
        self.prometheus = prometheus or os.environ.get("PROPHASE_PROMETHEUS")
        self.image = os.environ.get("PROPHASE_KUBE_IMAGE", DEFAULT_IMAGE)
        self._allocations: Mapping[str, JsonObject] = {}
        #: Jobs and pods of each campaign, as the API server reports their changes
        self._views: dict[str, tuple[WatchedObjects, ...]] = {}

    # deployment

    def deploy(self, job: Assignment) -> str:
        """Create the ConfigMap of the scenario, unless it is there."""
        with api_server_message():
            self.cluster.create("config_map", scenario_map(job))
        return job.new_dag_id

    def check_deploy(self, job: Assignment) -> ExecutorCheck:
        """Compare the ConfigMap with what was registered."""
        wanted = scenario_map(job)
        name = wanted["metadata"]["name"]
        found = self.cluster.config_map(name)
        if found is None:
            return ExecutorCheck("failed", f"ConfigMap {name} is not there.")
        if found != wanted["data"]:
            return ExecutorCheck("failed", f"ConfigMap {name} is not what was registered.")
        return SUCCEEDED

    # execution

    def execute(self, job: Assignment) -> str:
        """Create the Jobs of all tasks that wait for nothing."""
        with api_server_message():
            self._go_on(job, self._attempts(job))
        return job.run_id or job.new_run_id

    def check_execute(self, job: Assignment) -> ExecutorCheck:
        """See which Jobs have ended, and create those that can run now."""
        states = self._go_on(job, self._watched_attempts(job))
        failed = {task: state.reason for task, state in states.items() if state.kind == "failed"}
        if failed and not any(state.kind == "running" for state in states.values()):
            return ExecutorCheck(
                "failed", "; ".join(f"task {t}: {said}" for t, said in failed.items())
            )
        if all(state.kind == "done" for state in states.values()):
            return SUCCEEDED
        return RUNNING

    # profiling

    def profile(self, job: Assignment) -> str:
        """Refuse a run that has not been executed; gathering happens at the check."""
        with api_server_message():
            states = self._verdicts(job, self._attempts(job))
        if not all(state.kind == "done" for state in states.values()):
            raise job.not_executed()
        return job.new_profiling_id

    def check_profile(self, job: Assignment) -> ExecutorCheck:
        """Gather one row per attempt from the pods, and their usage from Prometheus."""
        found = self._attempts(job)
        for task, attempts in found.items():
            if any(attempt.pod is None or attempt.result is None for attempt in attempts):
                return ExecutorCheck("failed", f"the pod of task {task} is gone, with its output")
        return ExecutorCheck("succeeded", task_rows=self._rows(job, found))

    def ended_attempts(self, job: Assignment) -> Sequence[JsonObject]:
        """Gather the rows of all attempts whose pods are still there."""
        return self._rows(job, self._attempts(job))

    def _rows(self, job: Assignment, found: Mapping[str, Sequence[JobAttempt]]) -> list[JsonObject]:
        return [
            attempt_row(attempt, self._cores(job, task), self.prometheus, self.namespace)
            for task, attempts in found.items()
            for attempt in attempts
            if attempt.pod is not None and attempt.result is not None
        ]

    # the rest

    def allocate(self, allocations: Mapping[str, JsonObject]) -> None:
        """Use these for the Jobs that are created from now on."""
        self._allocations = allocations

    def repair(self, job: Assignment) -> str | None:
        """Delete the Jobs that have not ended; the next check creates them again."""
        if job.run_id is None:
            return None
        stuck = [
            attempt
            for attempts in self._attempts(job).values()
            for attempt in attempts
            if attempt.result is None
        ]
        for attempt in stuck:
            self.cluster.delete("job", attempt.name)
        return f"deleted {counted(len(stuck), 'Job')} that had not ended" if stuck else None

    def tidy(self, executing: Sequence[Assignment], campaign: str = "") -> list[str]:
        """Delete Jobs that nobody waits for, and failed pods whose Job is gone."""
        wanted = {run_label(job.run_id or job.new_run_id) for job in executing}
        selector = campaign_selector(campaign)
        jobs = self.cluster.listed("job", selector)
        done = []
        for found in jobs:
            about = found["metadata"]
            if not JobAttempt(found, None).has_ended and about["labels"][RUN_LABEL] not in wanted:
                self.cluster.delete("job", about["name"])
                done.append(f"deleted Job {about['name']}, which nobody waits for")
        names = {found["metadata"]["name"] for found in jobs}
        for pod in self.cluster.listed("pod", selector):
            about = pod["metadata"]
            orphaned = about["labels"].get("job-name") not in names
            if orphaned and pod["status"]["phase"] in ("Failed", "Unknown"):
                self.cluster.delete("pod", about["name"])
                done.append(f"deleted pod {about['name']}, which had failed")
        return done

    def close(self) -> None:
        """Stop watching."""
        for views in self._views.values():
            for view in views:
                view.close()
        self._views.clear()

    def _go_on(
        self, job: Assignment, attempts: Mapping[str, Sequence[JobAttempt]]
    ) -> dict[str, NextAttempt]:
        """Create every Job that can run now and return what is known of all tasks."""
        states = self._verdicts(job, attempts)
        if any(state.kind == "failed" for state in states.values()):
            return states
        room = job.pipeline.parallel_tasks - sum(s.kind == "running" for s in states.values())
        for task in job.pipeline.tasks.values():
            state = states[task.name]
            ready = all(states[before].kind == "done" for before in task.after)
            if room > 0 and ready and state.kind in ("new", "again"):
                assert state.memory_gib is not None
                number = len(attempts[task.name]) + 1
                cores, image = self._cores(job, task.name), task.image or self.image
                manifest = task_job(job, task, number, state.memory_gib, cores, image)
                self.cluster.create("job", manifest)
                room -= 1
        return states

    def _verdicts(
        self, job: Assignment, attempts: Mapping[str, Sequence[JobAttempt]]
    ) -> dict[str, NextAttempt]:
        return {
            task.name: verdict(
                vars(task),
                [Tried(a.result, a.generation, f"pod {a.name}") for a in attempts[task.name]],
                allocation=self._allocations.get(task.name, {}),
                generation=job.resets,
                node_memory_gib=job.pipeline.node_memory_gib,
                bins_gib=job.pipeline.bins_gib,
            )
            for task in job.pipeline.tasks.values()
        }

    def _attempts(self, job: Assignment) -> dict[str, list[JobAttempt]]:
        """Return what the cluster knows of each task right now."""
        selector = f"{RUN_LABEL}={run_label(job.run_id or job.new_run_id)}"
        return _per_task(
            job, self.cluster.listed("job", selector), self.cluster.listed("pod", selector)
        )

    def _watched_attempts(self, job: Assignment) -> dict[str, list[JobAttempt]]:
        """Return what the watch knows of each task; while it knows nothing, ask."""
        if job.campaign not in self._views:
            selector = campaign_selector(job.campaign)
            views = tuple(self.cluster.watched(kind, selector) for kind in _WATCHED)
            self._views[job.campaign] = views
        jobs, pods = (view.objects() for view in self._views[job.campaign])
        if jobs is None or pods is None:
            return self._attempts(job)
        label = run_label(job.run_id or job.new_run_id)
        found = _per_task(
            job,
            [one for one in jobs if one["metadata"]["labels"].get(RUN_LABEL) == label],
            [one for one in pods if one["metadata"]["labels"].get(RUN_LABEL) == label],
        )
        if any(attempt.is_doubtful for attempts in found.values() for attempt in attempts):
            # the news of the Job may have overtaken those of its pod
            return self._attempts(job)
        return found

    def _cores(self, job: Assignment, task: str) -> float:
        usual = job.pipeline.tasks[task].cpu_cores
        return float(self._allocations.get(task, {}).get("cpu_cores", usual))


def _per_task(
    job: Assignment, jobs: list[JsonObject], pods: list[JsonObject]
) -> dict[str, list[JobAttempt]]:
    return {task: [] for task in job.pipeline.tasks} | job_attempts(jobs, pods)
