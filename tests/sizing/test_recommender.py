from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ModelFileError
from prophase.modelfile import save_model
from prophase.sizing.recommender import (
    KIND,
    LAYOUT,
    Recommender,
    learn_recommender,
)


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
    learnt = learn_recommender(jobs, data_hash="abc")
    checksum = learnt.save(tmp_path / "requests.model")
    loaded = Recommender.load(tmp_path / "requests.model")
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
    learnt = learn_recommender(jobs)
    assert "cpu" not in learnt.by_resource
    assert "no measured peak" in learnt.silent["cpu"]
    assert learnt.of("cpu", "align") is None


def test_a_job_is_named_as_in_the_history_also_after_a_file(
    jobs: pd.DataFrame, tmp_path: Path
) -> None:
    named = jobs.assign(user=np.where(np.arange(len(jobs)) % 3, "ann", "bob"))
    learnt = learn_recommender(named)
    learnt.save(tmp_path / "requests.model")
    loaded = Recommender.load(tmp_path / "requests.model")
    job = {"task": "align", "user": "bob"}
    assert learnt.key_of(job) == loaded.key_of(job) == ("bob", "align")
    assert loaded.of("memory", ("bob", "align")) is not None
    assert loaded.of("memory", loaded.key_of({"task": "align", "user": "eve"})) is None


def test_a_job_that_does_not_say_whose_it_is_counts_where_there_is_one_tenant(
    jobs: pd.DataFrame,
) -> None:
    one = learn_recommender(jobs.assign(user="ann"))
    assert one.key_of({"task": "align"}) == ("ann", "align")
    assert one.key_of({"task": "align", "user": "bob"}) == ("bob", "align")
    two = learn_recommender(jobs.assign(user=np.where(jobs.index < 30, "ann", "bob")))
    assert two.of("memory", two.key_of({"task": "align"})) is None


def test_a_file_of_another_layout_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "old.model", kind=KIND, meta={"layout": 99})
    with pytest.raises(ModelFileError, match="another layout"):
        Recommender.load(tmp_path / "old.model")
    save_model(
        tmp_path / "bad.model", kind=KIND, meta={"layout": LAYOUT, "resources": {"memory": {}}}
    )
    with pytest.raises(ModelFileError, match="cannot be restored"):
        Recommender.load(tmp_path / "bad.model")
