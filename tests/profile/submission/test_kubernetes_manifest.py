from __future__ import annotations

import pytest

from prophase.errors import InputError
from prophase.profile.submission.kubernetes_manifest import from_manifest


def job(pod: dict, spec: dict | None = None, **metadata: object) -> dict:
    held = {"template": {"spec": pod}, **(spec or {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": held}


TWO = {
    "containers": [
        {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"},
                       "limits": {"cpu": 4, "nvidia.com/gpu": 2}}},
        {"resources": {"limits": {"cpu": "2", "memory": "512Mi"}}},
    ],
    "initContainers": [{"resources": {"requests": {"memory": "3Gi"}}}],
    "nodeSelector": {"nvidia.com/gpu.product": "A100"},
    "priorityClassName": "batch-low",
}  # fmt: skip


def test_requests_are_those_of_all_containers_and_missing_ones_equal_the_limit() -> None:
    labels = {"example.com/owner": "ann", "team": "nlp", "colour": "red"}
    spec = {"parallelism": 4, "activeDeadlineSeconds": 3600}
    (found,) = from_manifest(job(TWO, spec, name="bert", namespace="lab", labels=labels), "j")
    assert dict(found.columns) == {
        "name": "bert",
        "user": "ann",
        "group": "nlp",
        "queue": "lab",
        "instances": 4.0,
        "request_cpu_cores": 2.5,
        "request_gpus": 2.0,
        "request_memory_gib": 3.0,
        "gpu_type": "A100",
        "time_limit_s": 3600.0,
        "attr_priority_class": "batch-low",
        "attr_namespace": "lab",
    }
    assert found.notes == ("Labels and annotations not used: colour.",)


def test_pods_cron_jobs_lists_and_training_jobs_are_read() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": TWO}
    cron = {**job(TWO), "kind": "CronJob", "spec": {"jobTemplate": {"spec": job(TWO)["spec"]}}}
    both = from_manifest({"apiVersion": "v1", "kind": "List", "items": [pod, cron]}, "j")
    assert [one.columns["request_gpus"] for one in both] == [2.0, 2.0]
    roles = {
        "Master": {"template": {"spec": TWO}},
        "Worker": {"replicas": 3, "template": {"spec": TWO}},
    }
    training = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {},
                "spec": {"pytorchReplicaSpecs": roles,
                         "runPolicy": {"activeDeadlineSeconds": 60}}}  # fmt: skip
    master, worker = from_manifest(training, "j")
    assert (master.columns["task"], worker.columns["task"]) == ("master", "worker")
    assert worker.columns["instances"] == 3.0
    assert worker.columns["gang_size"] == 4.0
    assert worker.columns["time_limit_s"] == 60.0


def test_queue_labels_win_over_the_namespace_and_affinity_names_gpu_types() -> None:
    term = {
        "matchExpressions": [{"key": "accelerator", "operator": "In", "values": ["T4", "V100"]}]
    }
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pod = {"containers": [{}], "affinity": {"nodeAffinity": rule}}
    labels = {"kueue.x-k8s.io/queue-name": "prod"}
    (found,) = from_manifest(job(pod, namespace="lab", labels=labels), "j")
    assert (found.columns["queue"], found.columns["gpu_type"]) == ("prod", "T4|V100")
    assert found.notes == ("No request and no limit of cpu and memory is set.",)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (job({"containers": []}), "has no containers"),
        (
            job({"containers": [{"resources": {"limits": {"cpu": "many"}}}]}),
            "not a quantity",
        ),
        (job({"containers": [{"resources": {"limits": {"memory": "-1Gi"}}}]}), "never below 0"),
        ({"apiVersion": "v1", "kind": "Service", "spec": {}}, "runs no pods"),
        ({"apiVersion": "v1", "kind": "Pod", "spec": [1]}, "has to be a mapping"),
    ],
)
def test_what_asks_for_nothing_is_refused(document: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        from_manifest(document, "j")
