from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ParameterError
from prophase.profile.predict.job_model import learn
from prophase.sizing.recommendation_file import learn_recommendations
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
    return JobRecommender(model, None, learn_recommendations(jobs))


def test_a_known_job_is_told_its_duration_and_a_smaller_request(counsellor: JobRecommender) -> None:
    found = counsellor.counsel({"task": "align", "user": "ann", "memory": "16Gi", "limit": "2h"})
    assert found.duration is not None
    assert found.duration.value == pytest.approx(600, rel=0.1)
    memory, time = found.of("memory"), found.of("time")
    assert memory is not None
    assert time is not None
    assert 2.4 <= memory.rung(1) < 4
    assert list(memory.ladder) == sorted(memory.ladder)
    assert 1200 <= time.rung(1) < 7200
    assert "instead of 16 GiB" in memory.words()


def test_the_last_attempt_never_has_less_than_its_user_wanted(counsellor: JobRecommender) -> None:
    memory = counsellor.counsel({"task": "align", "memory": 30}).of("memory")
    assert memory is not None
    assert memory.rung(3) >= 30


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ({"task": "align", "memory": 256}, "another kind"),
        ({"task": "align", "memory": 4}, "another kind"),
        ({"task": "sort", "memory": 16}, "no finished job of 'sort'"),
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
    memory = counsellor.counsel({"task": "align"}).of("memory")
    assert memory is not None
    assert memory.asked is None
    assert memory.change


def test_the_prediction_for_this_very_job_raises_the_first_rung() -> None:
    count = 400
    rows = np.arange(count)
    big = rows % 100 == 50
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in rows],
            "user": np.where(big, "big", np.where(rows % 2, "ann", "bob")),
            "task": "align",
            "memory_peak_gib": np.where(big, 9.0, 2.0),
            "duration_s": 600.0,
            "submit_s": 700.0 * rows,
            "request_memory_gib": 64.0,
        }
    )
    more = jobs[big].assign(submit_s=1e6)
    history = pd.concat([jobs, *[more.assign(job_id=f"m{n}") for n in range(10)]])
    teller = JobRecommender(
        learn(history, method="backoff-median"), None, learn_recommendations(jobs, risk=0.05)
    )
    small = teller.counsel({"task": "align", "user": "ann", "memory": 64}).of("memory")
    large = teller.counsel({"task": "align", "user": "big", "memory": 64}).of("memory")
    assert small is not None
    assert large is not None
    assert small.rung(1) < 9 <= large.rung(1)


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
