from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.json_types import JsonObject
from prophase.serve.submit.decision import SubmitDecision, decide
from prophase.serve.submit.policy import SubmitRules
from prophase.sizing.gpu_grants import parts_given
from prophase.sizing.kind_recommendation import Gate
from prophase.sizing.recommender import Recommender, learn_recommender
from prophase.study.submission.job_recommender import JobRecommender
from prophase.study.submission.sbatch import recommended_options, rewritten

PART = "nvidia.com/mig-2g.10gb"


@pytest.fixture(scope="module")
def learnt() -> Recommender:
    at = np.arange(60)
    jobs = pd.DataFrame({"job_id": at.astype(str), "name": "train", "user": "ann"})
    jobs = jobs.assign(submit_s=7200.0 * at, duration_s=900.0, request_gpus=1.0, gpu_type="A100")
    jobs = jobs.assign(gpu_util_mean_pct=10.0 + at % 5, gpu_memory_peak_gib=8.0)
    nodes = pd.DataFrame({"node_id": ["a"], "gpus": [8], "features": ["1g.5gb,2g.10gb,3g.20gb"]})
    return learn_recommender(jobs, gate=Gate(gpu_parts=parts_given(jobs, nodes)))


class _Told:
    """Knows the job by its name, whatever the object calls it."""

    def __init__(self, learnt: Recommender) -> None:
        self.inner = JobRecommender(requests=learnt)

    def counsel(self, job: object, *, resources: object = ("gpu",)) -> object:
        return self.inner.counsel({"name": "train", "user": "ann", "gpus": 1}, resources=["gpu"])


def pod(gpus: str = "1", **metadata: object) -> JsonObject:
    asked = {"limits": {"nvidia.com/gpu": gpus, "memory": "4Gi"}}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-1", **metadata},
        "spec": {"containers": [{"name": "main", "image": "i", "resources": asked}]},
    }  # fmt: skip


def decided(learnt: Recommender, document: JsonObject, attempt: int = 1) -> SubmitDecision:
    rules = SubmitRules("set", ("gpu",))
    return decide(document, "team", rules, _Told(learnt), lambda: attempt)  # type: ignore[arg-type]


def held(found: SubmitDecision) -> JsonObject:
    assert found.after is not None
    resources: JsonObject = found.after["spec"]["containers"][0]["resources"]
    return resources


def test_a_pod_asks_for_the_part_that_holds_its_work_and_its_memory(learnt: Recommender) -> None:
    found = decided(learnt, pod())
    assert found.outcome == "set"
    assert held(found) == {"limits": {"memory": "4Gi", PART: "1"}, "requests": {PART: "1"}}
    assert {"op": "remove", "path": "/spec/containers/0/resources/limits/nvidia.com~1gpu"} in (
        found.patch.operations if found.patch else []
    )


def test_a_pod_with_several_gpus_keeps_them(learnt: Recommender) -> None:
    found = decided(learnt, pod("2"))
    assert found.outcome == "annotated"
    assert "only one whole GPU" in found.reason


def test_a_retried_pod_gets_the_whole_gpu_back(learnt: Recommender) -> None:
    first = decided(learnt, pod())
    assert first.after is not None
    again = decided(learnt, dict(first.after), attempt=2)
    assert again.outcome == "retried"
    assert held(again)["limits"] == {"memory": "4Gi", "nvidia.com/gpu": "1"}


@pytest.mark.parametrize(
    ("line", "whole"),
    [("--gres=gpu:a100:1", "gpu:a100:1"), ("--gpus=1", "gpu:1"), ("-G a100:1", "gpu:a100:1")],
)
def test_a_script_asks_for_the_part_and_says_what_to_do_if_it_does_not_do(
    learnt: Recommender, line: str, whole: str
) -> None:
    from prophase.profile.submission.slurm_script import script_options

    script = f"#!/bin/sh\n#SBATCH {line} -J train\nsrun train\n"
    counsel = JobRecommender(requests=learnt).counsel(
        {"name": "train", "user": "ann", "gpus": 1}, resources=["gpu"]
    )
    options = script_options(script, "the script")
    (one,), _ = recommended_options(counsel, options)
    assert one.line == "#SBATCH --gres=gpu:2g.10gb:1"
    assert one.later == (whole,)
    assert f"##SBATCH {line} -J train\n#SBATCH -J train" in rewritten(script, [one])
    (again,), _ = recommended_options(counsel, options, attempt=2)
    assert again.value == line.replace("=", " ").split()[1]


def test_a_script_that_asks_for_gpus_and_other_things_keeps_them(learnt: Recommender) -> None:
    counsel = JobRecommender(requests=learnt).counsel(
        {"name": "train", "user": "ann", "gpus": 1}, resources=["gpu"]
    )
    advised, stay = recommended_options(counsel, {"gres": "gpu:1,license:2"})
    assert not advised
    assert any("the script asks for GPUs in several ways" in one for one in stay)


def test_the_part_is_known_again_from_a_file(learnt: Recommender, tmp_path) -> None:
    learnt.save(tmp_path / "requests.model")
    job = {"name": "train", "user": "ann", "request_gpus": 1.0}
    (one,) = Recommender.load(tmp_path / "requests.model").recommend(job, ["gpu"])
    assert one.part is not None
    assert one.to_dict()["part"] == {"slurm": "gpu:2g.10gb:1", "kubernetes": PART}
