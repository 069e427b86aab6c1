"""What an attempt used: the pod's times, and cAdvisor's metrics through Prometheus."""

from __future__ import annotations

from typing import Any

from prophase.integrations.kubernetes.attempts import JobAttempt
from prophase.integrations.kubernetes.manifests import CONTAINER

_STEP_S = 15.0


def attempt_row(
    attempt: JobAttempt, cpu_cores: float, prometheus: str | None, namespace: str
) -> dict[str, Any]:
    """Return the row of an attempt that has ended.

    Parameters
    ----------
    prometheus : str or None
        Address of the server; without one the row has no usage.
    """
    assert attempt.result is not None
    assert attempt.pod is not None
    oom, code = attempt.result["oom"], attempt.result["exit_code"]
    start_s, end_s = attempt.times
    row = {
        "task": attempt.task,
        "attempt": attempt.number,
        "status": "oom" if oom else "completed" if code == 0 else "failed",
        "submit_s": attempt.created_s,
        "start_s": start_s,
        "end_s": end_s,
        "duration_s": None if start_s is None or end_s is None else end_s - start_s,
        "request_memory_gib": attempt.memory_gib,
        "request_cpu_cores": cpu_cores,
    }
    if oom:
        row["at_least_gib"] = attempt.memory_gib
    if prometheus and start_s is not None and end_s is not None:
        row |= pod_usage(prometheus, namespace, attempt.pod["metadata"]["name"], start_s, end_s)
    return row


def pod_usage(
    prometheus: str, namespace: str, pod: str, start_s: float, end_s: float
) -> dict[str, float]:
    """Return the highest and mean use of a pod that cAdvisor has seen."""
    from prophase.integrations.prometheus import usage_from_prometheus

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
