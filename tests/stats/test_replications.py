from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.signal import lfilter

from prophase.errors import ParameterError
from prophase.sim.queueing.exact_waits import exact_waits
from prophase.sim.queueing.mmc import mmc
from prophase.stats import batch_means, from_replications, mser5

TRIES = 300


def autoregressive(rng, size, memory):
    """x' = memory x + noise, started in its stationary law; its mean is 0."""
    noise = rng.normal(size=size)
    noise[0] /= np.sqrt(1 - memory**2)
    return lfilter([1.0], [1.0, -memory], noise)


def coverage(intervals, truth):
    return np.mean([one.holds(truth) for one in intervals])


def test_replications_hold_the_mean_in_95_of_100_cases():
    rng = np.random.default_rng(0)
    found = [from_replications(rng.normal(3.0, 2.0, 10)) for _ in range(1000)]
    assert coverage(found, 3.0) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("memory", [0.0, 0.9, -0.5])
def test_batch_means_hold_the_mean_of_dependent_values(memory):
    rng = np.random.default_rng(1)
    found = [batch_means(autoregressive(rng, 20_000, memory)) for _ in range(TRIES)]
    assert coverage(found, 0.0) == pytest.approx(0.95, abs=0.035)


def test_the_usual_standard_error_would_be_far_too_small():
    rng = np.random.default_rng(2)
    runs = [autoregressive(rng, 20_000, 0.9) for _ in range(100)]
    naive = [abs(run.mean()) <= 1.96 * run.std() / np.sqrt(run.size) for run in runs]
    assert np.mean(naive) < 0.6


def test_batch_means_hold_the_mean_wait_of_a_queue():
    rng = np.random.default_rng(3)
    truth = mmc(3.5, 1.0, 5).wait_mean_s
    found = []
    for _ in range(TRIES):
        submit = np.cumsum(rng.exponential(1 / 3.5, 60_000))
        waits = exact_waits(submit, rng.exponential(1.0, 60_000), 5)
        found.append(batch_means(waits, warm_up=None))
    assert coverage(found, truth) >= 0.9


def test_mser_cuts_a_start_up_and_little_else():
    rng = np.random.default_rng(4)
    cuts, spared = [], []
    for _ in range(50):
        steady = autoregressive(rng, 5_000, 0.5)
        started = steady + 20 * np.exp(-np.arange(5_000) / 100)
        cuts.append(mser5(started))
        spared.append(mser5(steady))
    assert 200 < np.median(cuts) < 900
    assert np.median(spared) < 500


def test_cutting_the_start_up_removes_its_bias_and_keeps_the_coverage():
    rng = np.random.default_rng(5)
    decay = 30 * np.exp(-np.arange(10_000) / 200)
    runs = [autoregressive(rng, 10_000, 0.5) + decay for _ in range(200)]
    whole = [batch_means(run) for run in runs]
    cut = [batch_means(run, warm_up=None) for run in runs]
    assert np.mean([one.value for one in whole]) > 0.5
    assert abs(np.mean([one.value for one in cut])) < 0.02
    assert np.mean([one.half_width for one in cut]) < 0.1 * np.mean(
        [one.half_width for one in whole]
    )
    assert coverage(cut, 0.0) >= 0.88


@settings(deadline=None)
@given(
    values=st.lists(st.floats(-1e3, 1e3), min_size=10, max_size=300),
    shift=st.floats(-1e3, 1e3),
)
def test_mser_cuts_whole_fives_and_at_most_half(values, shift):
    cut = mser5(values)
    assert cut % 5 == 0
    assert cut <= len(values) / 2
    interval = batch_means(np.resize(values, 60), batches=5)
    moved = batch_means(np.resize(values, 60) + shift, batches=5)
    assert moved.value == pytest.approx(interval.value + shift, abs=1e-6)
    assert moved.half_width == pytest.approx(interval.half_width, abs=1e-6)


def test_common_random_numbers_sharpen_a_comparison():
    rng = np.random.default_rng(6)
    one, two, other = [], [], []
    for _ in range(20):
        submit = np.cumsum(rng.exponential(1 / 9, 5_000))
        duration = rng.exponential(1.0, 5_000)
        one.append(exact_waits(submit, duration, 10).mean())
        two.append(exact_waits(submit, duration, 11).mean())
        fresh = np.cumsum(rng.exponential(1 / 9, 5_000))
        other.append(exact_waits(fresh, rng.exponential(1.0, 5_000), 11).mean())
    paired, unpaired = (from_replications(np.subtract(after, one)) for after in (two, other))
    assert paired.high < 0
    assert paired.half_width < unpaired.half_width


def test_paired_differences_hold_the_true_one():
    rng = np.random.default_rng(7)
    found = []
    for _ in range(500):
        common = rng.normal(0, 10, 12)
        before, after = common + rng.normal(0, 1, 12), common + rng.normal(0.5, 1, 12)
        found.append(from_replications(after - before))
    assert coverage(found, 0.5) == pytest.approx(0.95, abs=0.03)


def test_replications_give_the_t_interval():
    values = np.array([3.0, 5.0, 4.0, 9.0])
    found = from_replications(values)
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high))


def test_batches_leave_out_what_fills_none_at_the_start():
    found = batch_means(np.append([1e6], np.tile([1.0, 2.0, 3.0], 20)), batches=10)
    assert (found.value, found.n, found.blocks) == (2.0, 60, 10)
    assert found.method == "batch means after a warm-up of 1"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mser5([1.0]), "too few"),
        (lambda: batch_means(np.ones(100), batches=1), "at least 2"),
        (lambda: batch_means(np.ones(100), warm_up=90), "after the warm-up"),
        (lambda: from_replications([1.0, np.nan]), "missing or infinite"),
        (lambda: from_replications([1.0, 2.0], level=95), "level is 95"),
    ],
)
def test_what_has_no_interval_is_refused(call, said):
    with pytest.raises(ParameterError, match=said):
        call()
