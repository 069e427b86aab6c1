from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ModelFileError
from prophase.modelfile import save_model
from prophase.sizing.recommendation_file import (
    KIND,
    Recommendations,
    learn_recommendations,
    task_of,
)
from prophase.sizing.replays.task_runs import task_runs


@pytest.fixture(scope="module")
def jobs() -> pd.DataFrame:
    count = 60
    return pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in range(count)],
            "task": np.where(np.arange(count) % 2, "align", "sort"),
            "memory_peak_gib": 2.0 + 0.1 * (np.arange(count) % 5),
            "duration_s": 600.0 + np.arange(count),
            "submit_s": 700.0 * np.arange(count),
            "request_memory_gib": 16.0,
            "time_limit_s": 7200.0,
        }
    )


def test_recommendations_answer_the_same_after_a_file(jobs: pd.DataFrame, tmp_path: Path) -> None:
    learnt = learn_recommendations(jobs, data_hash="abc")
    checksum = learnt.save(tmp_path / "requests.model")
    loaded = Recommendations.load(tmp_path / "requests.model")
    for resource in ("memory", "time"):
        for task in ("align", "sort"):
            one, other = learnt.of(resource, task), loaded.of(resource, task)
            assert one is not None
            assert other is not None
            assert (one.ladder, one.keep, one.why, one.runs) == (
                other.ladder, other.keep, other.why, other.runs,
            )  # fmt: skip
    assert loaded.data_hash == "abc"
    assert len(checksum) == 64


def test_a_resource_that_was_not_measured_is_silent_and_says_why(jobs: pd.DataFrame) -> None:
    learnt = learn_recommendations(jobs)
    assert "cpu" not in learnt.by_resource
    assert "no measured peak" in learnt.silent["cpu"]
    assert learnt.of("cpu", "align") is None


def test_a_task_is_named_as_in_the_history(jobs: pd.DataFrame) -> None:
    for job in (
        {"task": "align", "group": "g"},
        {"group": "g", "name": "n"},
        {"request_gpus": 1.0},
    ):
        row = pd.DataFrame([{**job, "memory_peak_gib": 1.0, "duration_s": 60.0}])
        assert task_of(job) == task_runs(row).runs[0].task


def test_a_file_of_another_layout_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "old.model", kind=KIND, meta={"layout": 99})
    with pytest.raises(ModelFileError, match="another layout"):
        Recommendations.load(tmp_path / "old.model")
    save_model(tmp_path / "bad.model", kind=KIND, meta={"layout": 1, "resources": {"memory": {}}})
    with pytest.raises(ModelFileError, match="cannot be restored"):
        Recommendations.load(tmp_path / "bad.model")
