from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophase.errors import InputError, ParameterError
from prophase.sim.place.first_fit import first_fit
from prophase.sim.queueing.exact_waits import exact_starts, exact_waits
from prophase.sim.signatures import FREE_GPU, FREE_SHARE, FREE_WHOLE, GPUS
from prophase.sim.static_loop import PlaceSettings, run_static_loop

jobs_strategy = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 12), st.integers(1, 4)), min_size=1, max_size=40
)


@settings(max_examples=200)
@given(jobs=jobs_strategy, servers=st.integers(1, 6))
def test_the_kernel_agrees_with_kiefer_and_wolfowitz(queue_oracle, jobs, servers):
    submit = np.cumsum([gap for gap, _, _ in jobs]).astype(float).tolist()
    duration = [float(service) for _, service, _ in jobs]
    expected = queue_oracle.kiefer_wolfowitz(submit, duration, servers)
    assert exact_starts(submit, duration, servers).tolist() == expected


@settings(max_examples=200)
@given(jobs=jobs_strategy, servers=st.integers(4, 9))
def test_gangs_agree_with_their_slow_twin(queue_oracle, jobs, servers):
    submit = np.cumsum([gap for gap, _, _ in jobs]).astype(float).tolist()
    duration = [float(service) for _, service, _ in jobs]
    need = [units for _, _, units in jobs]
    expected = queue_oracle.gangs_in_order(submit, duration, need, servers)
    assert exact_starts(submit, duration, servers, need=need).tolist() == expected


def test_the_kernel_equals_the_heap_recursion_and_the_event_loop():
    rng = np.random.default_rng(5)
    submit, duration = np.cumsum(rng.exponential(1 / 9, 20_000)), rng.exponential(1.0, 20_000)
    free, expected = [0.0] * 10, []
    for arrival, service in zip(submit, duration, strict=True):
        begin = max(arrival, heapq.heappop(free))
        expected.append(begin)
        heapq.heappush(free, begin + service)
    starts = exact_starts(submit, duration, 10)
    assert starts.tolist() == expected
    assert exact_starts(submit, duration, 10, need=np.ones(20_000)).tolist() == expected
    nodes = np.zeros((10, FREE_SHARE + 1), np.int64)
    nodes[:, [GPUS, FREE_WHOLE]] = 1
    nodes[:, [FREE_GPU, FREE_SHARE]] = 1000
    asks = np.tile([0, 0, 1, 1000, 0, 0, 1, 0], (len(submit), 1))
    loop = run_static_loop(
        submit, duration, asks, np.arange(len(submit)), nodes, PlaceSettings(first_fit)
    )
    np.testing.assert_allclose(loop.start_s, starts, rtol=1e-12)


@given(jobs=jobs_strategy, servers=st.integers(1, 6))
def test_one_more_server_never_lengthens_a_wait(jobs, servers):
    submit = np.cumsum([gap for gap, _, _ in jobs])
    duration = [service for _, service, _ in jobs]
    fewer, more = (exact_waits(submit, duration, c) for c in (servers, servers + 1))
    assert (more <= fewer).all()


def test_shares_of_a_server_add_up_exactly():
    starts = exact_starts(np.zeros(11), np.ones(11), 1, need=np.full(11, 0.1))
    assert starts.tolist() == [0.0] * 10 + [1.0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([0.0, 1.0], [1.0, -1.0], 1), "job 1: duration_s is -1"),
        (([0.0, np.nan], [1.0, 1.0], 1), "job 1: submit_s is missing"),
        (([1.0, 0.0], [1.0, 1.0], 1), "Sort the jobs"),
        (([0.0], [1.0, 2.0], 1), "one of each per job"),
        (([0.0], [1.0], 0), "whole number"),
    ],
)
def test_bad_times_are_refused_with_the_job(arguments, said):
    with pytest.raises((InputError, ParameterError), match=said):
        exact_starts(*arguments)


def test_a_gang_larger_than_the_pool_is_refused():
    with pytest.raises(InputError, match="Give at least 9 servers"):
        exact_starts([0.0, 1.0], [1.0, 1.0], 8, need=[1, 9])
    with pytest.raises(InputError, match="need is 0"):
        exact_starts([0.0], [1.0], 8, need=[0])


def test_no_jobs_give_no_starts():
    assert exact_starts([], [], 3).size == 0
