from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingColumnError, ParameterError
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.node_types import (
    median_interval,
    rank_for_job,
    rank_node_types,
)


def test_the_faster_type_comes_first_and_a_thin_one_gets_no_rank(history: pd.DataFrame) -> None:
    rows = rank_node_types(history[history["user"] == "ann"])
    assert [(row["rank"], row["node_type"]) for row in rows] == [
        (1, "V100"), (2, "T4"), (None, "P100"),
    ]  # fmt: skip
    first = rows[0]
    assert first["duration_low_s"] <= first["duration_s"] <= first["duration_high_s"]
    assert first["relative_duration"] < 1
    assert first["memory_peak_gib_low"] <= first["memory_peak_gib"]
    assert rows[2]["reason"].endswith("30 needed")
    assert np.isnan(rows[2]["duration_low_s"])


def test_types_that_cannot_be_distinguished_share_a_rank() -> None:
    draw = np.random.default_rng(1)
    jobs = pd.DataFrame({"gpu_type": ["a", "b"] * 40, "duration_s": draw.lognormal(5, 1, 80)})
    assert [row["rank"] for row in rank_node_types(jobs)] == [1, 1]


def test_only_jobs_like_the_asked_one_count(history: pd.DataFrame) -> None:
    rows, alike = rank_for_job(history, {"user": "bob", "workload": "bert"})
    assert rows[0]["node_type"] == "V100"
    assert rows[0]["duration_s"] > 1_500
    assert "the same user" in alike
    assert sum(row["jobs"] for row in rows) == int(alike.split()[0])
    everyone, told = rank_for_job(history, {"user": "eve"})
    assert told == "all 600 finished jobs"
    assert sum(row["jobs"] for row in everyone) == 600


def test_a_type_on_which_no_job_asked_for_as_much_is_filtered_out() -> None:
    jobs = pd.DataFrame({"gpu_type": ["T4", "V100"] * 40, "duration_s": [90.0, 30.0] * 40})
    jobs["request_gpus"] = [4.0, 1.0] * 40
    rows, _ = rank_for_job(jobs, {"request_gpus": 2.0})
    assert [(row["node_type"], row["rank"], row["score"]) for row in rows] == [
        ("T4", 1, 100.0), ("V100", None, None),
    ]  # fmt: skip
    assert rows[1]["reason"] == "not known to fit: request_gpus 2, at most 1 ran there"
    small, _ = rank_for_job(jobs, {"request_gpus": 1.0})
    assert [row["score"] for row in small] == [100.0, pytest.approx(100 / 3)]


def test_jobs_of_the_predicted_profile_are_alike(history: pd.DataFrame) -> None:
    profiler = WorkloadProfiler().fit(history)
    classifier = ProfileClassifier(unknown_below=0.5).fit(history, profiler.labels_)
    job = {"user": "ann", "workload": "bert"}
    rows, alike = rank_for_job(history, job, predicted=(profiler, classifier))
    named = profiler.profile(int(classifier.predict(pd.DataFrame([job]), partial=True)[0]))
    assert f"jobs of profile {named.name}, predicted with probability" in alike
    assert sum(row["jobs"] for row in rows) == int(alike.split()[0].replace(",", ""))
    _, other = rank_for_job(history, {"user": "eve"}, predicted=(profiler, classifier))
    assert "as its profile is unknown (none of" in other


@pytest.mark.parametrize("count", [5, 30, 101])
def test_the_interval_holds_the_median_as_often_as_it_says(count: int) -> None:
    draw = np.random.default_rng(0)
    held = [median_interval(draw.lognormal(size=count)) for _ in range(400)]
    covered = np.mean([low <= 1.0 <= high for _, low, high in held])
    assert covered >= 0.87


def test_jobs_without_a_node_type_or_a_wrong_column_are_refused(history: pd.DataFrame) -> None:
    bare = history.drop(columns="after_gpu_type")
    with pytest.raises(MissingColumnError, match="no column says which type"):
        rank_node_types(bare)
    with pytest.raises(MissingColumnError, match="no column 'colour'"):
        rank_node_types(history, column="colour")
    with pytest.raises(ParameterError, match="one job or more"):
        rank_node_types(history, enough=0)
