from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ParameterError
from prophase.profile.predict.job_model import learn
from prophase.sizing.recommender import learn_recommender
from prophase.study.submission.job_recommender import JobRecommender
from prophase.study.workspace_models import request_settings


@pytest.fixture(scope="module")
def counsellor() -> JobRecommender:
    count = 80
    rows = np.arange(count)
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in rows],
            "user": np.where(rows % 2, "ann", "bob"),
            "task": "align",
            "memory_peak_gib": 2.0 + 0.1 * (rows % 5),
            "duration_s": np.where(rows % 2, 600.0, 1200.0),
            "submit_s": 1300.0 * rows,
            "request_memory_gib": 16.0,
            "time_limit_s": 7200.0,
            "status": "completed",
        }
    )
    model = learn(jobs, method="backoff-median")
    return JobRecommender(model, None, learn_recommender(jobs))


def test_a_known_job_is_told_its_duration_and_a_smaller_request(counsellor: JobRecommender) -> None:
    found = counsellor.counsel({"task": "align", "user": "ann", "memory": "16Gi", "limit": "2h"})
    assert found.duration is not None
    assert found.duration.value == pytest.approx(600, rel=0.1)
    memory, time = found.of("memory"), found.of("time")
    assert memory is not None
    assert time is not None
    assert 2.4 <= memory.rung(1) < 4
    assert list(memory.ladder) == sorted(memory.ladder)
    assert 600 <= time.rung(1) < 1200
    assert "instead of 16 GiB" in memory.words()


def test_the_last_attempt_never_has_less_than_its_user_wanted(counsellor: JobRecommender) -> None:
    memory = counsellor.counsel({"task": "align", "user": "ann", "memory": 30}).of("memory")
    assert memory is not None
    assert memory.rung(3) >= 30


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ({"task": "align", "user": "ann", "memory": 256}, "another kind"),
        ({"task": "align", "user": "ann", "memory": 4}, "another kind"),
        ({"task": "sort", "user": "ann", "memory": 16}, "no finished job of 'ann/sort'"),
        ({"task": "align", "user": "eve", "memory": 16}, "no finished job of 'eve/align'"),
        ({"task": "align", "memory": 16}, "it does not say whose it is (user)"),
    ],
)
def test_a_job_unlike_the_past_keeps_its_request(
    counsellor: JobRecommender, job: dict[str, object], why: str
) -> None:
    memory = counsellor.counsel(job).of("memory")
    assert memory is not None
    assert not memory.change
    assert why in memory.why


def test_a_job_without_a_request_is_told_one(counsellor: JobRecommender) -> None:
    memory = counsellor.counsel({"task": "align", "user": "bob"}).of("memory")
    assert memory is not None
    assert memory.asked is None
    assert memory.change


def test_a_job_of_which_more_is_known_gets_a_request_of_its_own() -> None:
    count = 400
    rows = np.arange(count)
    size = np.random.default_rng(1).uniform(1.0, 20.0, count)
    jobs = pd.DataFrame(
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
    teller = JobRecommender(requests=learn_recommender(jobs, resources=["memory"]))
    asked = {"task": "align", "user": "ann", "request_memory_gib": 64.0}
    found = {}
    for gib in (2.0, 15.0):
        one = teller.counsel({**asked, "attr_input_bytes": gib * 2**30}, resources=["memory"]).of(
            "memory"
        )
        assert one is not None
        assert one.chance is not None
        assert one.chance < 0.05
        found[gib] = one.rung(1)
    of_kind = teller.counsel(asked, resources=["memory"]).of("memory")
    assert of_kind is not None
    assert 4.5 <= found[2.0] < 8 < 30.5 <= found[15.0] < of_kind.rung(1)


def test_who_has_learnt_nothing_is_silent_and_says_how_to_learn() -> None:
    found = JobRecommender().counsel({"user": "ann"})
    assert found.requests == ()
    assert found.duration is None
    assert all("prophase learn" in sentence for sentence in found.silent)


def test_settings_that_make_no_sense_are_refused() -> None:
    assert request_settings({})[0] == 0.01
    for bad in ({"requests": 3}, {"requests": {"rsk": 1}}, {"requests": {"risk": "much"}},
                {"requests": {"min_runs": 0}}):  # fmt: skip
        with pytest.raises(ParameterError):
            request_settings(bad)


def test_a_kind_that_fails_at_once_or_runs_for_hours_is_told_as_such_and_not_by_one_number() -> (
    None
):
    draw = np.random.default_rng(7)
    rows = np.arange(300)
    runs = np.where(draw.random(300) < 0.3, draw.uniform(3, 9, 300), draw.normal(7200, 300, 300))
    jobs = pd.DataFrame({"user": "ann", "task": np.where(rows % 3, "train", "eval"),
                         "duration_s": runs, "submit_s": 9000.0 * rows})  # fmt: skip
    (said, *_) = JobRecommender(learn(jobs, ["duration_s"])).counsel({"task": "train"}).words()
    assert said.startswith("of such jobs ")
    assert "% end within " in said
    assert "runs about" not in said
