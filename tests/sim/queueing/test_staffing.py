from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from prophase.errors import ParameterError
from prophase.sim.queueing.erlang import erlang_c
from prophase.sim.queueing.mmc import mmc
from prophase.sim.queueing.parsing import parse_service_target
from prophase.sim.queueing.staffing import (
    halfin_whitt_delay,
    least_servers,
    square_root_staffing,
)


@given(beta=st.floats(0.01, 5.0))
def test_the_limit_of_halfin_and_whitt_is_as_published(beta):
    expected = 1 / (1 + beta * norm.cdf(beta) / norm.pdf(beta))
    assert halfin_whitt_delay(beta) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("load", [100.0, 1000.0, 90_000.0])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_square_root_staffing_comes_close_to_erlang_c(load, share):
    plan = square_root_staffing(load, wait_probability=share)
    assert plan.wait_probability_erlang < 1.05 * share
    assert erlang_c(load, plan.servers - 1) > 0.95 * share
    assert plan.wait_probability_erlang == erlang_c(load, plan.servers)


@given(rate=st.floats(0.1, 500.0), limit=st.floats(0.001, 100.0))
def test_the_least_servers_meet_the_target_and_one_less_does_not(rate, limit):
    first = int(rate) + 1
    servers, answer = least_servers(
        lambda c: mmc(rate, 1.0, c), lambda found: found.wait_mean_s < limit, first=first
    )
    assert answer.wait_mean_s < limit
    assert servers == first or mmc(rate, 1.0, servers - 1).wait_mean_s >= limit


def test_a_target_out_of_reach_is_refused():
    with pytest.raises(ParameterError, match="do not meet the target"):
        least_servers(lambda c: c, lambda c: False, first=1)
    with pytest.raises(ParameterError, match="either beta or wait_probability"):
        square_root_staffing(10.0)


@pytest.mark.parametrize(
    ("text", "kind", "limit", "at"),
    [
        ("P(wait > 60 s) < 5%", "tail", 0.05, 60.0),
        ("p(wait>1.5h)<=0.01", "tail", 0.01, 5400.0),
        ("mean wait < 30", "mean", 30.0, 0.0),
        ("p99.9 wait < 1d", "quantile", 86400.0, 0.999),
        ("utilization < 80%", "utilisation", 0.8, 0.0),
        ("blocking < 1%", "blocking", 0.01, 0.0),
    ],
)
def test_targets_are_read_as_people_write_them(text, kind, limit, at):
    target = parse_service_target(text)
    assert (target.kind, target.limit) == (kind, limit)
    assert target.at == pytest.approx(at)
    assert parse_service_target(target.words()) == target


@pytest.mark.parametrize(
    "text", ["fast", "p100 wait < 1s", "mean wait < soon", "P(wait > 1 s) < 0%", "mean wait > 3s"]
)
def test_a_target_that_makes_no_sense_is_refused(text):
    with pytest.raises(ParameterError):
        parse_service_target(text)
