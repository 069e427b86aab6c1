from __future__ import annotations

import pytest

from prophase.integrations.kubernetes.attempts import JobAttempt, attempt_row
from prophase.integrations.kubernetes.manifests import (
    ATTEMPT_LABEL,
    CONTAINER,
    MEMORY_NOTE,
    TASK_NOTE,
)


def attempt(terminated: dict[str, object], **pod_status: object) -> JobAttempt:
    about = {
        "name": "train-1",
        "creationTimestamp": "2024-01-01T00:00:00+00:00",
        "labels": {ATTEMPT_LABEL: "1"},
        "annotations": {TASK_NOTE: "train", MEMORY_NOTE: "4"},
    }
    times = {"startedAt": "2024-01-01T00:00:10+00:00", "finishedAt": "2024-01-01T00:01:10+00:00"}
    container = {"name": CONTAINER, "state": {"terminated": {**times, **terminated}}}
    pod = {"metadata": {"name": "p"}, "status": {"containerStatuses": [container], **pod_status}}
    return JobAttempt({"metadata": about}, pod)


@pytest.mark.parametrize(
    ("terminated", "pod", "cause", "status"),
    [
        ({"exitCode": 0, "reason": "Completed"}, {}, "completed", "completed"),
        ({"exitCode": 137, "reason": "OOMKilled"}, {}, "host_memory", "oom"),
        ({"exitCode": 137, "reason": "Error"}, {}, "killed", "cancelled"),
        ({"exitCode": 137, "reason": "Error"},
         {"reason": "Evicted", "message": "The node was low on resource: memory."},
         "node_pressure", "preempted"),
        ({"exitCode": 1, "reason": "Error", "message": "x\ntorch.OutOfMemoryError: CUDA out of "
          "memory. Tried to allocate 2 GiB"}, {}, "gpu_memory", "failed"),
        ({"exitCode": 3, "reason": "Error", "message": "no such file"}, {}, "failed", "failed"),
    ],
)  # fmt: skip
def test_a_pod_ends_for_the_cause_that_the_kubelet_or_its_last_words_name(
    terminated, pod, cause, status
):
    ended = attempt(terminated, **pod)
    assert ended.result is not None
    assert ended.result["cause"] == cause
    row = attempt_row(ended, 1.0, None, "default")
    assert (row["status"], row["end_cause"]) == (status, cause)
    assert row.get("at_least_gib") == (4.0 if cause == "host_memory" else None)
