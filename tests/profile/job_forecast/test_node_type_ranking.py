from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingColumnError, ParameterError
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
