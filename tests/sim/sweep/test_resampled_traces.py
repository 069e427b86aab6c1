from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase.errors import ParameterError
from prophase.sim import Workload
from prophase.sim.sweep.resampled_traces import (
    Resampler,
    interval_of_resamples,
    interval_remark,
    paired_change,
    recorded_change,
    require_blocks,
)

DAY_S = 86400.0


def trace(days: int = 6, per_day: int = 20) -> Workload:
    rng = np.random.default_rng(3)
    submit = np.sort(
        np.concatenate([DAY_S * d + rng.uniform(0, DAY_S, per_day) for d in range(days)])
    )
    jobs = pd.DataFrame({"job_id": [f"j{i}" for i in range(len(submit))], "submit_s": submit})
    return Workload.from_jobs(jobs.assign(duration_s=60.0, start_s=submit + 5, request_gpus=1.0))


def test_seed_zero_is_the_trace_as_recorded():
    workload = trace()
    assert Resampler(workload)(0, 1.0) is workload


def test_a_seed_moves_whole_days_and_keeps_the_hour_of_every_job():
    workload = trace()
    drawn = Resampler(workload)(seed=1)
    hour = dict(zip(workload.jobs["job_id"], workload.submit_s % DAY_S, strict=True))
    assert np.allclose(drawn.submit_s % DAY_S, drawn.jobs["job_id"].map(hour).to_numpy())
    assert (np.diff(drawn.submit_s) >= 0).all()
    assert np.allclose(drawn.jobs["submit_s"], drawn.submit_s)
    assert np.allclose(drawn.jobs["start_s"], drawn.submit_s + 5)
    # each day of the new trace holds exactly the jobs of one day of the old one
    from_day = drawn.jobs["job_id"].map(
        dict(zip(workload.jobs["job_id"], workload.submit_s // DAY_S, strict=True))
    )
    assert (from_day.groupby(drawn.submit_s // DAY_S).nunique() == 1).all()


def test_the_same_seed_draws_the_same_jobs_and_another_seed_others():
    draw = Resampler(trace())
    assert np.array_equal(draw(1).submit_s, Resampler(trace())(1).submit_s)
    assert list(draw(1).jobs["job_id"]) != list(draw(2).jobs["job_id"])


@given(seed=st.integers(0, 50), low=st.floats(0.2, 2.9), more=st.floats(0.0, 1.5))
def test_a_larger_load_keeps_every_job_of_a_smaller_one(seed, low, more):
    workload = trace()
    few = Resampler(workload)(seed, low)
    many = Resampler(workload)(seed, low + more)
    arrivals = set(zip(many.jobs["job_id"], many.submit_s, strict=True))
    assert set(zip(few.jobs["job_id"], few.submit_s, strict=True)) <= arrivals


def test_the_load_is_the_number_of_jobs_per_day_in_the_mean():
    workload = trace(days=10, per_day=100)
    for load in (0.5, 1.7, 2.0):
        sizes = [len(Resampler(workload)(seed, load)) for seed in range(1, 11)]
        assert np.mean(sizes) == pytest.approx(1000 * load, rel=0.05)


@pytest.mark.parametrize("load", [0.7, 1.2, 2.5])
def test_a_load_asks_for_that_much_work_on_every_day_though_few_jobs_are_most_of_it(load):
    rng = np.random.default_rng(1)
    jobs = trace(days=8, per_day=400).jobs.assign(duration_s=rng.pareto(1.3, 3200) * 60)
    workload = Workload.from_jobs(jobs)
    for seed in (0, 1):
        before, after = (Resampler(workload)(seed, factor) for factor in (1.0, load))
        work = [np.sort(one.duration_s * one.gpus) for one in (before, after)]
        # but for the largest five, each of which may come once more or not
        whole, busier = (float(one[one < work[0][-5]].sum()) for one in work)
        assert busier == pytest.approx(load * whole, rel=0.06)
        days = [np.bincount((one.submit_s // DAY_S).astype(int), minlength=9) for one in
                (before, after)]  # fmt: skip
        assert np.allclose(days[1][:8], load * days[0][:8], rtol=0.2)


def test_a_trace_of_one_day_has_nothing_to_draw_from():
    with pytest.raises(ParameterError, match="--block 1h"):
        require_blocks(Resampler(trace(days=1)), 10)
    require_blocks(Resampler(trace(days=1), block_h=1.0), 10)
    with pytest.raises(ParameterError, match="give 0 for no interval"):
        require_blocks(Resampler(trace()), -1)


@pytest.mark.parametrize("load", [0.0, -1.0, float("nan")])
def test_a_load_that_is_no_load_is_refused(load):
    with pytest.raises(ParameterError, match="load is"):
        Resampler(trace())(1, load)


def test_a_steady_factor_is_seen_through_days_of_very_different_waits():
    rng = np.random.default_rng(0)
    before = np.exp(rng.normal(3, 2, 10))
    after = before * np.exp(rng.normal(-0.3, 0.05, 10))
    change = paired_change(before, after, blocks=30)
    assert change.high < 0
    assert change.method.startswith("paired factor")
    assert change.low <= change.value <= change.high


def test_waits_that_may_be_zero_fall_back_to_differences():
    before, after = np.tile([0.0, 1.0, 2.0], 3), np.tile([0.0, 3.0, 4.0], 3)
    change = paired_change(before, after, blocks=9)
    assert "factor" not in change.method
    assert change.holds(0.0)


def test_a_change_that_is_the_same_on_every_trace_has_no_interval():
    waits = np.arange(10.0, 20.0)
    for after in (waits, waits + 5.0):
        change = paired_change(waits, after, blocks=30)
        assert change.value == after[0] - waits[0]
        assert "the same on all 10 resampled traces" in change.reason
    # half of every wait: the differences still vary
    assert paired_change(waits, 0.5 * waits, blocks=30).high < 0


def test_traces_without_a_value_are_left_out_of_a_paired_change():
    before = np.array([math.nan, *range(1, 10)])
    change = paired_change(before, before * np.linspace(0.5, 0.6, 10), blocks=30)
    assert change.known
    assert change.method.startswith("paired factor")


def test_the_interval_of_a_wait_has_no_negative_end_and_is_wider_for_few_days():
    values = np.tile([0.0, 1.0, 20.0], 3)
    assert interval_of_resamples(values, 30).low == 0.0
    assert interval_of_resamples(values, 3).high > interval_of_resamples(values, 30).high
    assert not interval_of_resamples(values, 2).known


def coverage(draw, true: float, *, days: int, seeds: int = 10, cases: int = 2000) -> float:
    """Share of traces whose interval holds the true mean of the process that made them."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(cases):
        made = draw(rng, days)
        resampled = made[rng.integers(days, size=(seeds, days))].mean(axis=1)
        hits += interval_of_resamples(resampled, days).holds(true)
    return hits / cases


def test_the_interval_holds_the_truth_as_often_as_it_says_when_days_are_alike():
    for seeds in (8, 20):
        found = coverage(lambda g, n: g.normal(10, 3, n), 10.0, days=40, seeds=seeds)
        assert 0.935 <= found <= 0.97


def test_the_coverage_under_unlike_days_is_what_the_documentation_says():
    """Known to fall short of 95 %: these figures stand in the docstring and in the guide."""
    exponential = [coverage(lambda g, n: g.exponential(1.0, n), 1.0, days=d) for d in (40, 8)]
    lognormal = [coverage(lambda g, n: g.lognormal(0, 1, n), 1.6487, days=d) for d in (40, 8)]
    assert exponential == pytest.approx([0.94, 0.91], abs=0.02)
    assert lognormal == pytest.approx([0.89, 0.86], abs=0.02)


def test_few_days_are_called_rough_and_few_seeds_give_no_interval():
    assert "Only 8 blocks" in interval_remark(8, seeds=10)
    assert interval_remark(75, seeds=10) == ""
    assert "use --seeds 10" in interval_remark(75, seeds=3)
    assert "2 blocks, at least 3 needed" in interval_remark(2, seeds=3)


def test_a_measure_that_never_varies_is_said_to_have_no_interval():
    said = interval_remark(75, 10, [{"w_low": 1.0}, {"w_low": None}], "w")
    assert said.startswith("Without an interval: w that is the same")
    assert interval_remark(75, 10, [{"w_low": 1.0}], "w") == ""


def test_days_in_a_row_stay_together_and_the_last_is_followed_by_the_first():
    workload = trace(days=10)
    drawn = Resampler(workload, run=4)(seed=3)
    day = dict(zip(workload.jobs["job_id"], workload.submit_s // DAY_S, strict=True))
    source = drawn.jobs["job_id"].map(day).groupby(drawn.submit_s // DAY_S).first().to_numpy()
    for first in (0, 4, 8):
        assert (np.diff(source[first : first + 4]) % 10 == 1).all()
    with pytest.raises(ParameterError, match="at least 1 block"):
        Resampler(trace(), run=0)


def test_the_recorded_change_lies_in_an_interval_of_the_factor():
    before = np.geomspace(10.0, 1000.0, 10)
    after = before * np.linspace(0.4, 0.6, 10)
    change = recorded_change((5000.0, 2000.0), (before, after), blocks=30)
    assert change.value == -3000.0
    assert -5000 < change.low < -3000 < change.high < 0
    nothing = recorded_change((0.0, 10.0), (np.zeros(10), np.arange(10.0)), blocks=30)
    assert nothing.value == 10.0
    assert nothing.low < 10 < nothing.high
    assert not recorded_change((1.0, 2.0), (before[:3], after[:3]), blocks=30).known
