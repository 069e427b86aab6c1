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


def kinds(own: int, others: int, factor: float = 1.1, user: str = "ann") -> pd.DataFrame:
    """A task that has run a few times, beside others whose later runs need more than the first."""
    rows = [("mine", 2.0 + 0.05 * (n % 2)) for n in range(own)]
    for other in range(others):
        rows += [(f"of_{'abcdefghij'[other]}", factor if n == 11 else 1.0) for n in range(12)]
    task, peak = zip(*rows, strict=True)
    at = np.arange(len(rows))
    return pd.DataFrame(
        {
            "job_id": at.astype(str), "user": user, "task": task, "submit_s": 7200.0 * at,
            "duration_s": 900.0, "request_memory_gib": 16.0, "memory_peak_gib": peak,
            "status": "completed",
        }
    )  # fmt: skip


def of_mine(jobs: pd.DataFrame) -> Recommendation:
    found = ph.size(jobs, by="user,task")
    return next(one for one in found.tasks if one.kind.endswith("mine") and one.tenant == "ann")


@pytest.mark.parametrize("factor", [1.1, 2.0])
def test_other_kinds_of_a_tenant_show_how_far_further_runs_go(factor: float) -> None:
    one = of_mine(kinds(6, 5, factor))
    assert not one.keep
    # its own highest peak, how far others went beyond theirs, and 15 %
    assert one.request == pytest.approx(2.05 * factor * 1.15)
    assert f"5 other kinds went up to {factor:.3g} times" in one.why
    # five kinds say little of how many a sixth may kill, and this is told
    assert one.oom.value == 0.0
    assert one.oom.high > 0.3


@pytest.mark.parametrize(("own", "others"), [(4, 5), (6, 4)])
def test_four_runs_or_four_kinds_are_too_few(own: int, others: int) -> None:
    one = of_mine(kinds(own, others))
    assert one.keep
    assert "too few runs" in one.why


def test_a_kind_of_few_runs_with_a_kill_keeps_its_request() -> None:
    jobs = kinds(6, 5)
    jobs.loc[3, ["status", "memory_peak_gib"]] = "oom", 16.0
    assert of_mine(jobs).keep


def test_kinds_of_other_tenants_show_nothing() -> None:
    mine, theirs = kinds(6, 0), kinds(0, 5, user="bob")
    theirs["job_id"] = "b" + theirs["job_id"]
    jobs = pd.concat([mine, theirs], ignore_index=True)
    assert of_mine(jobs).keep
    # nor do those of nobody
    nobody = theirs.assign(user=None)
    assert of_mine(pd.concat([mine, nobody], ignore_index=True)).keep


def test_what_others_show_counts_at_once_when_it_is_observed(tmp_path: Path) -> None:
    jobs = with_identity(kinds(6, 5), by="user,task")
    last = jobs["task"].eq("of_e")
    made = learn_recommender(jobs[~last], resources=["memory"])
    mine = ("ann", next(kind for _, kind in made.keys("memory") if kind.endswith("mine")))
    whole = learn_recommender(jobs, resources=["memory"]).of("memory", mine)
    assert whole is not None
    assert not whole.keep
    made.save(tmp_path / "sizes")
    for one in (made.observed(jobs[last]), made, Recommender.load(tmp_path / "sizes")):
        before = one.of("memory", mine)
        assert before is not None
        if before.keep:
            one.observe(jobs[last])
        after = one.of("memory", mine)
        assert after is not None
        assert (after.keep, after.request) == (False, pytest.approx(whole.request))
