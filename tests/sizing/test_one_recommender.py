"""The recommender learns as it goes, is saved without loss, and answers from what it knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.sizing.recommender import Recommender, learn_recommender

ASKED = {"user": "ann", "task": "align", "request_memory_gib": 64.0}


def history(count: int, seed: int = 1, first: int = 0) -> pd.DataFrame:
    """Peaks follow the size of the input."""
    rows = first + np.arange(count)
    size = np.random.default_rng(seed).uniform(1.0, 20.0, count)
    return pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in rows],
            "user": "ann",
            "task": "align",
            "attr_input_bytes": size * 2**30,
            "memory_peak_gib": 0.5 + 2.0 * size,
            "duration_s": 600.0,
            "submit_s": 700.0 * rows,
            "request_memory_gib": 64.0,
        }
    )


def first(recommender: Recommender, **more: object) -> float:
    one = recommender.recommend({**ASKED, **more}, ["memory"])[0]
    return one.ladder[0] if one.change else float(one.asked or 0)


@pytest.fixture(scope="module")
def recommender() -> Recommender:
    return learn_recommender(history(300), resources=["memory"])


def test_what_is_known_of_a_job_gives_it_a_request_of_its_own(recommender: Recommender) -> None:
    for gib in (2.0, 8.0, 18.0):
        asked = first(recommender, attr_input_bytes=gib * 2**30)
        assert 0.5 + 2 * gib <= asked < 3 + 3 * gib


def test_a_job_of_which_only_the_kind_is_known_gets_that_of_the_kind(
    recommender: Recommender,
) -> None:
    of_kind = recommender.of("memory", ("ann", "align"))
    assert of_kind is not None
    assert first(recommender) == of_kind.request >= 38


def test_a_saved_recommender_answers_and_learns_as_the_one_that_was_saved(
    recommender: Recommender, tmp_path: Path
) -> None:
    recommender.save(tmp_path / "requests.model")
    loaded = Recommender.load(tmp_path / "requests.model")
    more = history(40, seed=2, first=300)
    for one in (recommender.observed(more), loaded.observed(more)), (recommender, loaded):
        for gib in (2.0, 8.0, 18.0):
            asked = [first(held, attr_input_bytes=gib * 2**30) for held in one]
            assert asked[0] == asked[1]


def test_jobs_seen_later_count_without_a_refit(recommender: Recommender) -> None:
    before = recommender.of("memory", ("ann", "align"))
    sort = history(40, seed=3, first=300).assign(task="sort", memory_peak_gib=1.0)
    later = recommender.observed(sort)
    assert not recommender.recommend({**ASKED, "task": "sort"}, ["memory"])[0].change
    assert later.recommend({**ASKED, "task": "sort"}, ["memory"])[0].ladder[0] < 3
    assert (
        later.of("memory", ("ann", "align")) == before == recommender.of("memory", ("ann", "align"))
    )


def test_runs_killed_at_their_request_raise_it_when_they_are_reported() -> None:
    jobs = history(40).assign(memory_peak_gib=7.5, request_memory_gib=8.0)
    recommender = learn_recommender(jobs, resources=["memory"])
    assert first(recommender, request_memory_gib=8.0) == 8
    reported = history(200, first=40).assign(
        memory_peak_gib=7.5,
        request_memory_gib=8.0,
        status=np.where(np.arange(200) % 2, "oom", "completed"),
    )
    assert first(recommender.observed(reported), request_memory_gib=8.0) > 8


def test_nothing_alike_leaves_the_request_as_it_is(recommender: Recommender) -> None:
    for other in ({"user": "eve"}, {"task": "plot"}):
        one = recommender.recommend({**ASKED, **other}, ["memory"])[0]
        assert not one.change
        assert "no finished job" in one.why


def test_a_job_of_another_version_of_its_code_keeps_its_request() -> None:
    jobs = pd.DataFrame({"task": ["fit"] * 40, "memory_peak_gib": 2.0, "duration_s": 600.0})
    jobs = jobs.assign(job_id=range(40), request_memory_gib=16.0, attr_container="fit:1")
    found = learn_recommender(jobs, resources=["memory"])
    job = {"task": "fit", "request_memory_gib": 16.0}
    same, other, unsaid = (
        found.recommend({**job, **said})[0]
        for said in ({"attr_container": "fit:1"}, {"attr_container": "fit:2"}, {})
    )
    assert same.change
    assert unsaid.change
    assert not other.change
    assert "another version of its code" in other.why
