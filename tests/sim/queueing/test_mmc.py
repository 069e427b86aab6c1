from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase.errors import ParameterError
from prophase.sim.queueing.mgc import mg1
from prophase.sim.queueing.mmc import loss, mmc, mmck


@pytest.mark.parametrize(
    ("rate", "mean", "servers", "queue", "wait"),
    [
        # Gross and Harris, Fundamentals of Queueing Theory: lambda 6/h, mu 3/h, c 3
        (6.0, 1 / 3, 3, 8 / 9, 4 / 27),
        # Hillier and Lieberman, Introduction to Operations Research, emergency room:
        # lambda 2/h, mu 3/h, with one and with two doctors
        (2.0, 1 / 3, 1, 4 / 3, 2 / 3),
        (2.0, 1 / 3, 2, 1 / 12, 1 / 24),
        # Kleinrock, Queueing Systems I: M/M/1, load 0.9
        (0.9, 1.0, 1, 8.1, 9.0),
    ],
)
def test_mmc_equals_textbook_values(rate, mean, servers, queue, wait):
    answer = mmc(rate, mean, servers)
    assert answer.queue_mean_jobs == pytest.approx(queue, abs=1e-6)
    assert answer.wait_mean_s == pytest.approx(wait, abs=1e-6)
    assert answer.exact
    assert answer.tail_exact


def test_the_repair_shop_is_as_printed():
    # Bronson, Operations Research (1982), problem 24.6: 300 a year, 2 days each, 3 servers
    shop = mmc(300.0, 2 / 365, 3)
    assert shop.queue_mean_jobs == pytest.approx(0.352, abs=5e-4)
    assert shop.system_mean_jobs == pytest.approx(1.996, abs=5e-4)
    assert shop.wait_mean_s == pytest.approx(0.001175, abs=5e-7)
    # problem 23.14: 30 an hour, 1.5 min each, one server: 4.5 min in a queue of 2.25
    assert mmc(0.5, 1.5, 1).wait_mean_s == pytest.approx(4.5, abs=1e-9)
    assert mmc(0.5, 1.5, 1).queue_mean_jobs == pytest.approx(2.25, abs=1e-9)


def test_the_tail_of_the_wait_is_exponential():
    # P(wait > t) = C exp(-(c mu - lambda) t): Gross and Harris, section 2.3
    assert mmc(2.0, 1 / 3, 1).wait_exceeds(0.5) == pytest.approx(2 / 3 * math.exp(-0.5), abs=1e-12)
    assert mmc(2.0, 1 / 3, 2).wait_exceeds(0.5) == pytest.approx(1 / 6 * math.exp(-2), abs=1e-12)


@pytest.mark.parametrize(("load", "servers", "room"), [(6, 3, 7), (1, 1, 4), (20, 12, 40)])
def test_limited_room_equals_its_definition_in_fractions(load, servers, room):
    weight = [Fraction(1)]
    for n in range(1, room + 1):
        weight.append(weight[-1] * load / min(n, servers))
    share = [one / sum(weight) for one in weight]
    answer = mmck(load, 1.0, servers, room)
    assert answer.blocked_share == pytest.approx(float(share[-1]), abs=1e-12)
    queue = sum(p * max(n - servers, 0) for n, p in enumerate(share))
    assert answer.queue_mean_jobs == pytest.approx(float(queue), abs=1e-12)
    inside = sum(p * n for n, p in enumerate(share))
    assert answer.system_mean_jobs == pytest.approx(float(inside), abs=1e-10)


@given(load=st.floats(0.05, 0.98), servers=st.integers(1, 200), mean=st.floats(0.1, 1000.0))
def test_mmc_keeps_littles_law_and_falls_with_servers(load, servers, mean):
    rate = load * servers / mean
    answer, more = mmc(rate, mean, servers), mmc(rate, mean, servers + 1)
    assert 0 <= answer.wait_probability <= 1
    assert answer.queue_mean_jobs == pytest.approx(rate * answer.wait_mean_s)
    assert answer.system_mean_jobs == pytest.approx(rate * answer.sojourn_mean_s)
    assert more.wait_mean_s <= answer.wait_mean_s
    assert mmc(rate * 1.01, mean, servers).wait_mean_s >= answer.wait_mean_s


@given(share=st.floats(0.01, 0.999))
def test_quantile_and_tail_are_each_others_inverse(share):
    answer = mmc(45.0, 1.0, 50)
    time = answer.wait_quantile_s(share)
    tail = answer.wait_exceeds(time)
    assert tail == pytest.approx(1 - share) if time > 0 else tail <= 1 - share


def test_mean_wait_is_the_area_under_the_tail():
    answer = mmc(18.0, 1.0, 20)
    step = 1e-4
    area = sum(answer.wait_exceeds((k + 0.5) * step) * step for k in range(200_000))
    assert area == pytest.approx(answer.wait_mean_s, rel=1e-6)


def test_one_server_is_pollaczek_khinchine_and_room_without_end_is_mmc():
    assert mmc(0.8, 1.0, 1).wait_mean_s == pytest.approx(mg1(0.8, 1.0).wait_mean_s)
    wide = mmck(8.0, 1.0, 10, 2000)
    assert wide.wait_mean_s == pytest.approx(mmc(8.0, 1.0, 10).wait_mean_s, rel=1e-9)
    assert wide.wait_probability == pytest.approx(mmc(8.0, 1.0, 10).wait_probability, rel=1e-9)


@given(load=st.floats(0.1, 400.0), servers=st.integers(1, 120))
def test_no_room_to_wait_is_erlang_b(load, servers):
    assert mmck(load, 1.0, servers, servers).blocked_share == pytest.approx(
        loss(load, 1.0, servers).blocked_share, rel=1e-9
    )


def test_an_empty_queue_has_no_tail():
    quiet = mmc(1e-3, 1.0, 200)
    assert quiet.wait_mean_s == 0
    assert quiet.wait_exceeds(1.0) == 0
    assert quiet.wait_quantile_s(0.99) == 0
    assert math.isinf(quiet.wait_decay_per_s)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mmc(45.0, 1.0, 45), "At least 46 servers are needed"),
        (lambda: mmc(-1.0, 1.0, 5), "arrivals_per_s is -1.0"),
        (lambda: mmc(1.0, float("nan"), 5), "service_mean_s is nan"),
        (lambda: mmck(1.0, 1.0, 5, 3), "at least 5"),
        (lambda: loss(1.0, 1.0, 2.5), "whole number"),
        (lambda: mmc(1.0, 1.0, 5).wait_quantile_s(95), "share is 95"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_advice(call, said):
    with pytest.raises(ParameterError, match=said):
        call()
