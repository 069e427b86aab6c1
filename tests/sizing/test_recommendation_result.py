"""Recommended requests as a result."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from prophase.sizing.kind_recommendation import Recommendation, ResourceRecommendations, recommend
from prophase.sizing.recommendation_result import recommendation_result, saved_per_month
from prophase.stats import Estimate


def _found(span_h: float, saved: float) -> ResourceRecommendations:
    one = Recommendation(
        task="align", runs=12, now=32.0, ladder=(8.0, 16.0, 32.0), oom=Estimate(0.0),
        tried=5, saving=0.75, saved_per_month=saved, why="used little",
        keep=False,
    )  # fmt: skip
    return ResourceRecommendations([one], 0.01, "GiB", "memory", {}, span_h)


def test_a_month_says_the_history_it_comes_from() -> None:
    found = _found(14 * 24.0, 100.0)
    saved = saved_per_month(found)
    assert saved.value == pytest.approx(100.0)
    assert saved.method == "extrapolated from 14 days of history"
    assert any("save 100 GiB h a month (from 14 days)" in note for note in _notes(found))


def test_hours_of_history_are_not_extrapolated_to_a_month() -> None:
    found = _found(2.67, math.nan)
    fact = recommendation_result(found).facts[0]
    assert isinstance(fact.value, Estimate)
    assert math.isnan(fact.value.value)
    assert "at least 7 days needed" in fact.value.reason
    assert any("unknown amount a month" in note for note in _notes(found))


def _notes(found: ResourceRecommendations) -> list[str]:
    return list(recommendation_result(found).notes)


def test_hours_of_a_time_limit_are_written_once() -> None:
    count = 40
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{row}" for row in range(count)],
            "task": "align",
            "duration_s": 1800.0,
            "time_limit_s": 36_000.0,
            "submit_s": [40_000.0 * row for row in range(count)],
        }
    )
    result = recommendation_result(recommend(jobs, resource="time"))
    told = " ".join(result.notes)
    assert "h of time limits a month" in told
    assert " h h" not in told
    assert result.facts[0].unit == "h of time limits"


def test_the_next_command_exports_for_the_system_that_the_jobs_ran_on() -> None:
    for source, engine in (("sacct", "slurm"), ("nextflow", "nextflow"), ("csv", "kubernetes")):
        notes = recommendation_result(_found(400.0, 1.0), where="ws", source=source).notes
        assert notes[-1] == f"Next: prophase size ws --export {engine}"
