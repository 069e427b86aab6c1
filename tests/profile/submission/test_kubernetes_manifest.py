from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from prophase.errors import InputError
from prophase.profile.submission.kubernetes_manifest import from_manifest, is_manifest


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
        "attr_owner_kind": "Job",
    }
    assert found.notes == ("Labels and annotations not used: colour.",)


def test_the_image_is_that_of_the_container_that_asks_for_most() -> None:
    names = {"a-proxy": "mesh:1", "train": "reg/train:1"}
    asks = ({"cpu": "8", "memory": "1Gi"}, {"memory": "8Gi"})
    pod = {
        "containers": [
            {"name": name, "image": image, "resources": {"requests": asked}}
            for (name, image), asked in zip(names.items(), asks, strict=True)
        ]
    }
    assert from_manifest(job(pod), "j")[0].columns["attr_image"] == "reg/train:1"


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


def _with_junk(whole: Any) -> Iterator[Any]:
    """Yield a document once per place of it and piece of junk that stands there."""
    yield from (None, "x", 3, [1], ["x"], {"x": 1}, {None: 1})
    if isinstance(whole, dict):
        for place, part in whole.items():
            yield from ({**whole, place: other} for other in _with_junk(part))
    elif isinstance(whole, list):
        for place, part in enumerate(whole):
            yield from ([*whole[:place], other] for other in _with_junk(part))


def test_junk_at_any_place_is_read_or_refused_in_words() -> None:
    rule = {"key": "gpu-type", "operator": "In", "values": ["A100"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    pod = {
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}, "requests": {"cpu": 1}}}],
        "initContainers": [{}],
        "nodeSelector": {"a": "b"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "activeDeadlineSeconds": 60,
    }
    meta = {"name": "n", "namespace": "m", "labels": {"team": "t"}, "annotations": {"a": "b"}}
    part = {"replicas": 2, "template": {"metadata": meta, "spec": pod}}
    training = {
        "apiVersion": "v1", "kind": "PyTorchJob", "metadata": meta,
        "spec": {"runPolicy": {"a": 1}, "pytorchReplicaSpecs": {"Worker": part}},
    }  # fmt: skip
    tried = 0
    for document in _with_junk({"apiVersion": "v1", "kind": "List", "items": [training]}):
        if is_manifest(document):
            tried += 1
            with suppress(InputError):
                from_manifest(document, "j")
    assert tried > 200
