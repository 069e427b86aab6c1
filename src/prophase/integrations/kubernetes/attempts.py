"""One attempt at a task: its Job and pod at the API server, and what it used."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from prophase.integrations.kubernetes.manifests import (
    ATTEMPT_LABEL,
    CONTAINER,
    GENERATION_NOTE,
    MEMORY_NOTE,
    TASK_NOTE,
)
from prophase.json_types import JsonObject
from prophase.runs.end_cause import KILLED, TIMED_OUT, EndEvidence, cause_of, command_end, status_of


class JobAttempt:
    """One Job and its pod, both as plain JSON."""

    def __init__(self, job: JsonObject, pod: JsonObject | None) -> None:
        about = job["metadata"]
        notes = about.get("annotations") or {}
        self.name: str = about["name"]
        self.task: str = notes.get(TASK_NOTE, "")
        self.number = int(about["labels"].get(ATTEMPT_LABEL, 1))
        self.generation = int(notes.get(GENERATION_NOTE, 0))
        self.memory_gib = float(notes.get(MEMORY_NOTE, "nan"))
        self.created_s = _seconds(about["creationTimestamp"])
        self.pod = pod
        self._job = job

    @property
    def result(self) -> JsonObject | None:
        """How the container ended; None while it has not."""
        ended = self._terminated
        pod = (self.pod or {}).get("status") or {}
        if ended is not None:
            printed = (ended.get("message") or "").strip()
            # the pod says that it was evicted, the container only that it was killed
            reason = pod.get("reason") or ended.get("reason") or ""
            last = (pod.get("message") or "").strip() or "".join(printed.splitlines()[-1:])
            return self._ended(ended["exitCode"], reason, last, printed.encode())
        conditions = (self._job.get("status") or {}).get("conditions") or ()
        failed = [condition for condition in conditions if condition["type"] == "Failed"]
        if not failed:
            return None
        message = failed[0].get("message") or ""
        if failed[0].get("reason") == "DeadlineExceeded":
            return self._ended(TIMED_OUT, "DeadlineExceeded", message)
        # its node was lost: nothing is known against the task itself
        reason = pod.get("reason") or ""
        return self._ended(KILLED, reason, message or "its pod was lost", lost=True)

    @property
    def times(self) -> tuple[float | None, float | None]:
        """When the container started and ended."""
        ended = self._terminated or {}
        start, end = ended.get("startedAt"), ended.get("finishedAt")
        return _seconds(start) if start else None, _seconds(end) if end else None

    @property
    def has_ended(self) -> bool:
        """Say whether the Job itself says that it is over."""
        status = self._job.get("status") or {}
        return bool(status.get("succeeded") or status.get("failed"))

    @property
    def is_doubtful(self) -> bool:
        """Say whether the Job has failed but nothing is known of how its container ended."""
        ended = self.result
        return ended is not None and self._terminated is None

    def _ended(
        self, exit_code: int, reason: str, message: str, printed: bytes = b"", *, lost: bool = False
    ) -> JsonObject:
        end = command_end(
            EndEvidence(
                exit_code,
                printed,
                reason=reason,
                message=message,
                limit_bytes=self.memory_gib * 2**30,
                # the kubelet would have said OOMKilled
                oom_kills=0,
                signalled=lost,
            )
        )
        because = message if lost and end.cause == "killed" else end.because
        limit = self.memory_gib
        return {
            "exit_code": exit_code, "cause": end.cause, "because": because, "limit_gib": limit
        }  # fmt: skip

    @property
    def _terminated(self) -> JsonObject | None:
        statuses = ((self.pod or {}).get("status") or {}).get("containerStatuses") or ()
        ours = next((one for one in statuses if one["name"] == CONTAINER), None)
        return None if ours is None else (ours.get("state") or {}).get("terminated")


def job_attempts(
    jobs: Iterable[JsonObject], pods: Iterable[JsonObject]
) -> dict[str, list[JobAttempt]]:
    """Return the attempts at each task, first to last."""
    pod_of = {(pod["metadata"].get("labels") or {}).get("job-name"): pod for pod in pods}
    found: dict[str, list[JobAttempt]] = {}
    for job in jobs:
        attempt = JobAttempt(job, pod_of.get(job["metadata"]["name"]))
        found.setdefault(attempt.task, []).append(attempt)
    for attempts in found.values():
        attempts.sort(key=lambda attempt: attempt.number)
    return found


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


_STEP_S = 15.0


def attempt_row(
    attempt: JobAttempt, cpu_cores: float, prometheus: str | None, namespace: str
) -> JsonObject:
    """Return the row of an attempt that has ended.

    Parameters
    ----------
    prometheus : str or None
        Address of the server; without one the row has no usage.
    """
    assert attempt.result is not None
    assert attempt.pod is not None
    cause = cause_of(attempt.result)
    start_s, end_s = attempt.times
    row = {
        "task": attempt.task,
        "attempt": attempt.number,
        "status": status_of(cause),
        "end_cause": cause,
        "submit_s": attempt.created_s,
        "start_s": start_s,
        "end_s": end_s,
        "duration_s": None if start_s is None or end_s is None else end_s - start_s,
        "request_memory_gib": attempt.memory_gib,
        "request_cpu_cores": cpu_cores,
    }
    if cause == "host_memory":
        row["at_least_gib"] = attempt.memory_gib
    if prometheus and start_s is not None and end_s is not None:
        row |= pod_usage(prometheus, namespace, attempt.pod["metadata"]["name"], start_s, end_s)
    return row


def pod_usage(
    prometheus: str, namespace: str, pod: str, start_s: float, end_s: float
) -> dict[str, float]:
    """Return the highest and mean use of a pod that cAdvisor has seen."""
    from prophase.integrations.prometheus.usage import usage_from_prometheus

    which = f'{{namespace="{namespace}",pod="{pod}",container="{CONTAINER}"}}'
    queries = {
        "memory_gib": f"sum by (pod) (container_memory_working_set_bytes{which}) / 2^30",
        "cpu_cores": f"sum by (pod) (rate(container_cpu_usage_seconds_total{which}[1m]))",
    }
    usage = usage_from_prometheus(prometheus, queries, start_s=start_s, end_s=end_s, step_s=_STEP_S)
    found = {}
    for column, kind in (("memory_gib", "memory"), ("cpu_cores", "cpu")):
        unit = column.removeprefix(f"{kind}_")
        if usage[column].notna().any():
            found[f"{kind}_peak_{unit}"] = float(usage[column].max())
            found[f"{kind}_mean_{unit}"] = float(usage[column].mean())
    return found
