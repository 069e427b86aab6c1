"""The Kubernetes executor: every attempt at a task is a Job with a memory limit.

All it knows is in the cluster, in labels and annotations, so that any worker can go on. Names are
made from what they stand for: creating the same Job twice is refused by the API server, and
that is how the same attempt is never started twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prophase.errors import ExecutorError, ParameterError
from prophase.integrations.kubernetes.manifests import (
    ATTEMPT_LABEL,
    CONTAINER,
    DEFAULT_IMAGE,
    GENERATION_NOTE,
    MANAGED,
    MEMORY_NOTE,
    RUN_LABEL,
    TASK_NOTE,
    run_label,
    scenario_map,
    task_job,
)
from prophase.plural import counted
from prophase.runs.attempting import Tried, Verdict, verdict
from prophase.runs.executor import RUNNING, SUCCEEDED, Assignment, Check

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONFLICT, _NOT_FOUND = 409, 404
_MANAGED_BY = ",".join(f"{key}={value}" for key, value in MANAGED.items())
#: what the kubelet says of a container that exceeded its limit
_OOM_KILLED = "OOMKilled"
_PROMETHEUS_STEP_S = 15.0


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
        api_client: Any = None,
        namespace: str | None = None,
        prometheus: str | None = None,
    ) -> None:
        import kubernetes  # noqa: F401 - here, so that a missing extra is noticed at once

        self._given_client = api_client
        self.namespace = namespace or os.environ.get("PROPHASE_KUBE_NAMESPACE", "default")
        self.prometheus = prometheus or os.environ.get("PROPHASE_PROMETHEUS")
        self.image = os.environ.get("PROPHASE_KUBE_IMAGE", DEFAULT_IMAGE)
        self._allocations: Mapping[str, Mapping[str, float]] = {}

    # deployment

    def deploy(self, job: Assignment) -> str:
        """Create the ConfigMap of the scenario, unless it is there."""
        with _said_by_server():
            self._create(self._core.create_namespaced_config_map, scenario_map(job))
        return job.new_dag_id

    def check_deploy(self, job: Assignment) -> Check:
        """Compare the ConfigMap with what was registered."""
        from kubernetes.client import ApiException

        wanted = scenario_map(job)
        try:
            found = self._core.read_namespaced_config_map(
                wanted["metadata"]["name"], self.namespace
            )
        except ApiException as cause:
            if cause.status == _NOT_FOUND:
                return Check("failed", f"ConfigMap {wanted['metadata']['name']} is not there.")
            raise
        if found.data != wanted["data"]:
            name = wanted["metadata"]["name"]
            return Check("failed", f"ConfigMap {name} is not what was registered.")
        return SUCCEEDED

    # execution

    def execute(self, job: Assignment) -> str:
        """Create the Jobs of all tasks that wait for nothing."""
        with _said_by_server():
            self._go_on(job)
        return job.run_id or job.new_run_id

    def check_execute(self, job: Assignment) -> Check:
        """See which Jobs have ended, and create those that can run now."""
        states = self._go_on(job)
        failed = {task: state.reason for task, state in states.items() if state.kind == "failed"}
        if failed and not any(state.kind == "running" for state in states.values()):
            return Check("failed", "; ".join(f"task {t}: {said}" for t, said in failed.items()))
        if all(state.kind == "done" for state in states.values()):
            return SUCCEEDED
        return RUNNING

    # profiling

    def profile(self, job: Assignment) -> str:
        """Refuse a run that has not been executed; gathering happens at the check."""
        with _said_by_server():
            attempts = self._attempts(job)
            states = self._verdicts(job, attempts)
        if not all(state.kind == "done" for state in states.values()):
            raise ExecutorError(
                f"Run {job.run_id} has not finished successfully, so it cannot be profiled."
            )
        return job.new_profiling_id

    def check_profile(self, job: Assignment) -> Check:
        """Gather one row per attempt from the pods, and their usage from Prometheus."""
        rows = []
        for task, attempts in self._attempts(job).items():
            for attempt in attempts:
                if attempt.pod is None or attempt.result is None:
                    return Check("failed", f"the pod of task {task} is gone, with what it told")
                rows.append(self._row(job, task, attempt))
        return Check("succeeded", task_rows=rows)

    # the rest

    def allocate(self, allocations: Mapping[str, Mapping[str, float]]) -> None:
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
            self._delete_job(attempt.name)
        return f"deleted {counted(len(stuck), 'Job')} that had not ended" if stuck else None

    def tidy(self, executing: Sequence[Assignment], campaign: str = "") -> list[str]:
        """Delete Jobs that nobody waits for, and failed pods whose Job is gone."""
        wanted = {run_label(job.run_id or job.new_run_id) for job in executing}
        jobs = self._batch.list_namespaced_job(self.namespace, label_selector=_MANAGED_BY).items
        done = []
        for found in jobs:
            ended = found.status and (found.status.succeeded or found.status.failed)
            if not ended and found.metadata.labels.get(RUN_LABEL) not in wanted:
                self._delete_job(found.metadata.name)
                done.append(f"deleted Job {found.metadata.name}, which nobody waits for")
        names = {found.metadata.name for found in jobs}
        for pod in self._pods(_MANAGED_BY):
            orphaned = pod.metadata.labels.get("job-name") not in names
            if orphaned and pod.status.phase in ("Failed", "Unknown"):
                self._core.delete_namespaced_pod(pod.metadata.name, self.namespace)
                done.append(f"deleted pod {pod.metadata.name}, which had failed")
        return done

    def _go_on(self, job: Assignment) -> dict[str, Verdict]:
        """Create every Job that can run now and return what is known of all tasks."""
        attempts = self._attempts(job)
        states = self._verdicts(job, attempts)
        if any(state.kind == "failed" for state in states.values()):
            return states
        room = job.pipeline.parallel_tasks - sum(s.kind == "running" for s in states.values())
        for task in job.pipeline.tasks.values():
            state = states[task.name]
            ready = all(states[before].kind == "done" for before in task.after)
            if room > 0 and ready and state.kind in ("new", "again"):
                assert state.memory_gib is not None
                set_here = self._allocations.get(task.name, {})
                manifest = task_job(
                    job,
                    task,
                    len(attempts[task.name]) + 1,
                    state.memory_gib,
                    set_here.get("cpu_cores", task.cpu_cores),
                    task.image or self.image,
                )
                self._create(self._batch.create_namespaced_job, manifest)
                room -= 1
        return states

    def _verdicts(
        self, job: Assignment, attempts: Mapping[str, Sequence[_Attempt]]
    ) -> dict[str, Verdict]:
        return {
            task.name: verdict(
                {
                    "memory_gib": task.memory_gib,
                    "advised_gib": task.advised_gib,
                    "attempts": task.attempts,
                },
                [Tried(a.result, a.generation, f"pod {a.name}") for a in attempts[task.name]],
                allocation=self._allocations.get(task.name, {}),
                generation=job.resets,
                node_memory_gib=job.pipeline.node_memory_gib,
                bins_gib=job.pipeline.bins_gib,
            )
            for task in job.pipeline.tasks.values()
        }

    def _attempts(self, job: Assignment) -> dict[str, list[_Attempt]]:
        """Return what the cluster knows of each task, first attempt to last."""
        selector = f"{RUN_LABEL}={run_label(job.run_id or job.new_run_id)}"
        jobs = self._batch.list_namespaced_job(self.namespace, label_selector=selector).items
        pods = {pod.metadata.labels.get("job-name"): pod for pod in self._pods(selector)}
        found: dict[str, list[_Attempt]] = {task: [] for task in job.pipeline.tasks}
        for one in jobs:
            attempt = _Attempt(one, pods.get(one.metadata.name))
            found.setdefault(attempt.task, []).append(attempt)
        for attempts in found.values():
            attempts.sort(key=lambda attempt: attempt.number)
        return found

    def _row(self, job: Assignment, task: str, attempt: _Attempt) -> dict[str, Any]:
        assert attempt.result is not None
        oom, code = attempt.result["oom"], attempt.result["exit_code"]
        start_s, end_s = attempt.times
        row = {
            "task": task,
            "attempt": attempt.number,
            "status": "oom" if oom else "completed" if code == 0 else "failed",
            "submit_s": attempt.created_s,
            "start_s": start_s,
            "end_s": end_s,
            "duration_s": None if start_s is None or end_s is None else end_s - start_s,
            "request_memory_gib": attempt.memory_gib,
            "request_cpu_cores": job.pipeline.tasks[task].cpu_cores,
        }
        if oom:
            row["at_least_gib"] = attempt.memory_gib
        if self.prometheus and start_s is not None and end_s is not None:
            row |= self._usage(attempt.pod.metadata.name, start_s, end_s)
        return row

    def _usage(self, pod: str, start_s: float, end_s: float) -> dict[str, float]:
        """Return the highest and mean use of a pod that cAdvisor has seen."""
        from prophase.integrations.prometheus import usage_from_prometheus

        assert self.prometheus is not None
        which = f'{{namespace="{self.namespace}",pod="{pod}",container="{CONTAINER}"}}'
        queries = {
            "memory_gib": f"sum by (pod) (container_memory_working_set_bytes{which}) / 2^30",
            "cpu_cores": f"sum by (pod) (rate(container_cpu_usage_seconds_total{which}[1m]))",
        }
        usage = usage_from_prometheus(
            self.prometheus, queries, start_s=start_s, end_s=end_s, step_s=_PROMETHEUS_STEP_S
        )
        found = {}
        for column, kind in (("memory_gib", "memory"), ("cpu_cores", "cpu")):
            unit = column.removeprefix(f"{kind}_")
            if usage[column].notna().any():
                found[f"{kind}_peak_{unit}"] = float(usage[column].max())
                found[f"{kind}_mean_{unit}"] = float(usage[column].mean())
        return found

    def _create(self, create: Any, manifest: dict[str, Any]) -> None:
        """Create an object; that it is there already is what we wanted."""
        from kubernetes.client import ApiException

        try:
            create(self.namespace, manifest)
        except ApiException as cause:
            if cause.status != _CONFLICT:
                raise

    def _delete_job(self, name: str) -> None:
        from kubernetes.client import ApiException

        try:
            self._batch.delete_namespaced_job(name, self.namespace, propagation_policy="Background")
        except ApiException as cause:
            if cause.status != _NOT_FOUND:
                raise

    def _pods(self, selector: str) -> list[Any]:
        pods = self._core.list_namespaced_pod(self.namespace, label_selector=selector)
        return list(pods.items)

    @cached_property
    def _batch(self) -> Any:
        from kubernetes.client import BatchV1Api

        return BatchV1Api(self._client)

    @cached_property
    def _core(self) -> Any:
        from kubernetes.client import CoreV1Api

        return CoreV1Api(self._client)

    @cached_property
    def _client(self) -> Any:
        from kubernetes import client, config

        if self._given_client is not None:
            return self._given_client
        try:
            config.load_incluster_config()
        except config.ConfigException:
            try:
                config.load_kube_config()
            except (config.ConfigException, OSError) as cause:
                raise ParameterError(
                    f"No cluster is configured ({cause}). Run this in a pod, or set KUBECONFIG."
                ) from cause
        return client.ApiClient()


class _Attempt:
    """One Job and its pod, as the API server shows them."""

    def __init__(self, job: Any, pod: Any) -> None:
        notes = job.metadata.annotations or {}
        self.name: str = job.metadata.name
        self.task: str = notes.get(TASK_NOTE, "")
        self.number = int(job.metadata.labels.get(ATTEMPT_LABEL, 1))
        self.generation = int(notes.get(GENERATION_NOTE, 0))
        self.memory_gib = float(notes.get(MEMORY_NOTE, "nan"))
        self.created_s = job.metadata.creation_timestamp.timestamp()
        self.pod = pod
        self._job = job

    @property
    def result(self) -> dict[str, Any] | None:
        """How the container ended; None while it has not."""
        terminated = self._terminated
        if terminated is not None:
            oom = terminated.reason == _OOM_KILLED
            said = (terminated.message or "").strip().splitlines()[-1:]
            because = "OOMKilled" if oom else "; ".join([terminated.reason or "", *said])
            return self._ended(terminated.exit_code, oom, because)
        conditions = (self._job.status.conditions if self._job.status else None) or ()
        failed = [condition for condition in conditions if condition.type == "Failed"]
        if not failed:
            return None
        if failed[0].reason == "DeadlineExceeded":
            return self._ended(124, False, failed[0].message or "DeadlineExceeded")
        # evicted, or its node was lost: nothing is known against the task itself
        return self._ended(137, False, failed[0].message or "its pod was lost")

    @property
    def times(self) -> tuple[float | None, float | None]:
        """When the container started and ended."""
        ended = self._terminated
        if ended is None:
            return None, None
        return tuple(  # type: ignore[return-value]
            None if moment is None else moment.timestamp()
            for moment in (ended.started_at, ended.finished_at)
        )

    def _ended(self, exit_code: int, oom: bool, because: str) -> dict[str, Any]:
        limit = self.memory_gib
        return {"exit_code": exit_code, "oom": oom, "because": because, "limit_gib": limit}

    @property
    def _terminated(self) -> Any:
        statuses = (self.pod.status.container_statuses or ()) if self.pod is not None else ()
        return next((s.state.terminated for s in statuses if s.name == CONTAINER), None)


@contextmanager
def _said_by_server() -> Iterator[None]:
    """Turn what the API server refuses into our error, in its words."""
    from kubernetes.client import ApiException

    try:
        yield
    except ApiException as cause:
        try:
            said = json.loads(cause.body)["message"]
        except (TypeError, ValueError, KeyError):
            said = cause.reason
        raise ExecutorError(f"The API server says {cause.status}: {said}") from cause
