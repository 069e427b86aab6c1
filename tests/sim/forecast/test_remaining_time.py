from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sksurv.nonparametric import kaplan_meier_estimator

from prophase.sim.forecast.remaining_time import RunTimes, Survival

RNG = np.random.default_rng


def history(count: int = 4000, seed: int = 0, **columns: object) -> pd.DataFrame:
    rng = RNG(seed)
    return pd.DataFrame(
        {"submit_s": np.arange(count) * 1e5, "duration_s": rng.exponential(100.0, count), **columns}
    )


def test_exponential_run_times_forget_how_long_they_ran() -> None:
    jobs = pd.DataFrame({"submit_s": [0.0, 1e7], "elapsed_s": [0.0, 80.0]})
    left = RunTimes.of(history()).draw(jobs, RNG(1), 4000)
    assert left[0].mean() == pytest.approx(100.0, rel=0.08)
    assert left[1].mean() == pytest.approx(100.0, rel=0.08)


def test_running_jobs_count_as_having_lasted() -> None:
    # half of the jobs are still running at 50 s: what ended is too short by itself
    lengths = RNG(3).exponential(100.0, 4000)
    cut = 50.0
    done, submit = lengths < cut, np.arange(4000.0)
    finished = pd.DataFrame({"submit_s": submit[done], "duration_s": lengths[done]})
    running = pd.DataFrame({"submit_s": submit[~done], "elapsed_s": cut})
    jobs = pd.DataFrame({"submit_s": [0.0]})
    naive = RunTimes.of(finished).draw(jobs, RNG(0), 2000)
    right = RunTimes.of(finished, running).draw(jobs, RNG(0), 2000)
    assert (naive < cut).mean() == 1.0
    assert (right < cut).mean() == pytest.approx(1 - np.exp(-0.5), abs=0.05)


def test_survival_is_kaplan_and_meiers() -> None:
    # the textbook way, by hand: ends at 1, 3, 4; still going at 2 and 5
    found = Survival.of(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1.0, 0.0, 1.0, 1.0, 0.0]))
    assert found.time_s.tolist() == [1, 3, 4]
    assert found.share.tolist() == pytest.approx([4 / 5, 4 / 5 * 2 / 3, 4 / 5 * 2 / 3 / 2])


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("going", [0.0, 0.3, 0.8])
def test_survival_is_that_of_scikit_survival(going: float, whole: bool) -> None:
    # whole seconds: many jobs end, and are left running, at the same time
    rng = RNG(int(10 * going))
    length = rng.exponential(100.0, 500)
    length = np.ceil(length / 10) if whole else length
    ended = rng.random(500) >= going
    found = Survival.of(length, ended.astype(float))
    time, share = kaplan_meier_estimator(ended, length)
    # ours has a step for each job, theirs one for each time
    last = np.searchsorted(found.time_s, time, side="right") - 1
    ours = np.where(last >= 0, found.share[np.maximum(last, 0)], 1.0)
    assert ours == pytest.approx(share)
    for luck in (0.1, 0.25, 0.5):
        if share[-1] < 1 - luck:
            median = time[np.argmax(share <= 1 - luck + 1e-9)]
            assert found.left_s(0.0, np.array([luck]))[0] == pytest.approx(median)


def test_the_closest_kin_with_enough_jobs_decides() -> None:
    past = pd.concat(
        [
            history(200).assign(user="ann", duration_s=10.0),
            history(200).assign(user="bob", duration_s=1000.0),
        ]
    )
    jobs = pd.DataFrame({"user": ["ann", "bob", "eve"], "submit_s": 0.0})
    left = RunTimes.of(past).draw(jobs, RNG(0), 300)
    assert set(left[0]) == {10.0}
    assert set(left[1]) == {1000.0}
    assert set(left[2]) == {10.0, 1000.0}


def test_time_limits_are_kept() -> None:
    jobs = pd.DataFrame({"submit_s": 0.0, "elapsed_s": [10.0, 90.0], "time_limit_s": [60.0, 60.0]})
    left = RunTimes.of(history()).draw(jobs, RNG(0), 500)
    assert left[0].max() <= 50.0
    assert left[1].max() <= 1.0


def test_a_job_that_outlived_all_others_gets_some_more() -> None:
    jobs = pd.DataFrame({"submit_s": [0.0], "elapsed_s": [1e6]})
    left = RunTimes.of(history()).draw(jobs, RNG(0), 500)
    assert (left >= 0).all()
    assert 0 < np.median(left) < 1e6


def test_jobs_that_came_together_run_alike_if_they_used_to() -> None:
    rng = RNG(5)
    batch = np.repeat(np.arange(300), 10)
    alike = np.exp(rng.standard_normal(300)[batch] + 0.1 * rng.standard_normal(3000))
    past = pd.DataFrame({"submit_s": batch * 21_600.0, "duration_s": alike})
    learnt = RunTimes.of(past)
    assert learnt.together > 0.8
    assert RunTimes.of(past.assign(duration_s=rng.permutation(alike))).together < 0.05
    jobs = pd.DataFrame({"submit_s": np.full(50, 1e9)})
    tied = learnt.draw(jobs, RNG(0), 400).mean(axis=0)
    alone = learnt.draw(jobs.assign(submit_s=1e9 + 1e6 * jobs.index), RNG(0), 400).mean(axis=0)
    assert tied.std() > 2 * alone.std()
