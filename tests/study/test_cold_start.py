from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ParameterError
from prophase.study.cold_start import first_run


def test_an_unknown_job_gets_a_ladder_and_a_range_not_above_its_request(
    pipeline_jobs: pd.DataFrame,
) -> None:
    found = first_run(pipeline_jobs, {"task": "new", "request_memory_gib": 16.0})
    assert found.runs_known == 0
    assert 0 < found.ladder[0] <= 16.0
    assert list(found.ladder) == sorted(found.ladder)
    assert found.peak.holds(found.peak.value)
    assert found.to_dict()["peak_high"] == found.peak.high
    json.dumps(found.to_dict(), allow_nan=False)


def test_sizes_narrow_with_the_runs_that_are_known(pipeline_jobs: pd.DataFrame) -> None:
    curve = first_run(pipeline_jobs, {"task": "new"}).curve
    assert [one.runs_known for one in curve] == [0, 1, 3, 10]
    assert curve[-1].factor.value < curve[0].factor.value
    assert curve[-1].waste_pct < 50
    assert sum(one.decisions for one in curve) == len(pipeline_jobs)


def test_a_job_that_has_run_uses_its_own_runs(pipeline_jobs: pd.DataFrame) -> None:
    found = first_run(pipeline_jobs, {"task": "align", "user": "ann", "request_memory_gib": 16.0})
    assert found.runs_known == 120
    assert found.ladder[0] < 3.0


def test_a_history_without_peaks_of_the_target_says_why_there_is_no_range(
    pipeline_jobs: pd.DataFrame,
) -> None:
    few = pipeline_jobs.head(5)
    found = first_run(few, {"task": "new", "request_memory_gib": 16.0})
    assert math.isnan(found.peak.value)
    assert found.why


def test_runs_count_as_known_once_they_have_ended(pipeline_jobs: pd.DataFrame) -> None:
    at_once = pipeline_jobs.assign(submit_s=0.0, start_s=0.0, end_s=pipeline_jobs["duration_s"])
    curve = first_run(at_once, {"task": "new"}, by=["task"]).curve
    assert [one.runs_known for one in curve] == [0]


def test_jobs_are_told_apart_by_what_recurs(pipeline_jobs: pd.DataFrame) -> None:
    users = pipeline_jobs.assign(user=pipeline_jobs["task"], task="worker")
    found = first_run(users, {"user": "zoe", "task": "worker"}, by=["user", "task"])
    assert found.grouped_by == "user + task"
    assert found.task == "zoe/worker"
    assert found.runs_known == 0


def test_a_generous_start_keeps_the_request_until_enough_runs_are_known():
    at = np.arange(60)
    jobs = pd.DataFrame({"job_id": at.astype(str), "task": "a", "submit_s": 3600.0 * at})
    jobs["duration_s"], jobs["request_memory_gib"] = 600.0, 16.0
    jobs["memory_peak_gib"] = 2.0 + (at % 5) / 10
    asked = {"task": "a", "request_memory_gib": 16.0}
    few = first_run(jobs.iloc[:4], asked, generous_runs=5)
    many = first_run(jobs, asked, generous_runs=5, after=(0, 5, 20))
    assert few.ladder[0] == 16.0 > many.ladder[0]
    assert [one.runs_known for one in many.curve] == [0, 5, 20]
    # confidence grows: none of the generous requests is close to the need, the later ones are
    sure = [one.confidence.value for one in many.curve]
    assert sure[0] == 0
    assert sure == sorted(sure)
    assert sure[-1] > 0.8
    assert many.to_dict()["curve"][0]["confidence"] == 0
    with pytest.raises(ParameterError, match="begins with 0"):
        first_run(jobs, asked, after=(1, 3))
