from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prophase as ph
from prophase.errors import ParameterError
from prophase.sizing.kind_recommendation import Gate, Recommendation
from prophase.sizing.recommender import Recommender, learn_recommender
from prophase.sizing.wider_level import Prior
from prophase.trace.identity.job_identity import with_identity


def history(own: int, own_gib: float = 2.0, others_gib: float = 4.0) -> pd.DataFrame:
    """Two teams have run a task often, a third one a few times; all ask for 16 GiB."""
    user = np.array(["ann", "bob"] * 40 + ["cat"] * own)
    at, random = np.arange(len(user)), np.random.default_rng(1)
    peak = np.where(user == "cat", own_gib, others_gib) * random.lognormal(0, 0.02, len(user))
    return pd.DataFrame(
        {
            "job_id": at.astype(str), "user": user, "task": "align", "submit_s": 7200.0 * at,
            "duration_s": 900.0, "request_memory_gib": 16.0, "memory_peak_gib": peak,
            "status": "completed",
        }
    )  # fmt: skip


def of_cat(jobs: pd.DataFrame, prior: Prior) -> Recommendation:
    found = ph.size(jobs, by="user,task", prior=prior)
    return next(one for one in found.tasks if one.tenant == "cat")


def learnt(jobs: pd.DataFrame, prior: Prior) -> Recommender:
    jobs = with_identity(jobs, by="user,task")
    return learn_recommender(jobs, gate=Gate(prior=prior), resources=["memory"])


def test_without_being_told_so_nothing_is_taken_from_others() -> None:
    one = of_cat(history(5), "none")
    assert one.keep
    assert "too few runs" in one.why


def test_a_prior_makes_up_for_runs_and_asks_for_what_both_need() -> None:
    one = of_cat(history(5), "kind")
    assert not one.keep
    # others need up to 4.2 GiB: its own runs alone would ask for less
    assert 4.0 < one.request < 6.0
    assert "the same kind of other tenants" in one.why


@pytest.mark.parametrize("own", [1, 2])
def test_a_prior_never_lowers_a_request_by_itself(own: int) -> None:
    assert of_cat(history(own), "kind").keep


def test_own_runs_above_the_others_count() -> None:
    one = of_cat(history(5, own_gib=9.0), "kind")
    assert not one.keep
    assert one.request >= 9.0


def test_enough_runs_of_its_own_need_no_prior() -> None:
    jobs = history(40)
    assert of_cat(jobs, "kind").request == of_cat(jobs, "none").request < 3.0


def test_a_job_without_history_keeps_its_request_or_gets_more() -> None:
    job = {"user": "dan", "task": "align", "request_memory_gib": 16.0}
    recommender = learnt(history(5), "kind")
    assert not recommender.recommend(job)[0].change
    raised = recommender.recommend({**job, "request_memory_gib": 3.0})[0]
    assert raised.ladder[0] > 4.0
    assert raised.why.startswith("ask for more")
    assert not learnt(history(5), "none").recommend({**job, "request_memory_gib": 3.0})[0].change


def test_a_kept_recommender_answers_with_its_prior(tmp_path: Path) -> None:
    made = learnt(history(5), "kind")
    made.save(tmp_path / "m")
    held = Recommender.load(tmp_path / "m")
    job = {"user": "cat", "task": "align", "request_memory_gib": 16.0}
    assert held.recommend(job)[0].ladder == made.recommend(job)[0].ladder
    assert held.recommend(job)[0].change


def test_a_prior_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ParameterError, match="prior is 'team'"):
        ph.size(history(5), prior="team")  # type: ignore[arg-type]
