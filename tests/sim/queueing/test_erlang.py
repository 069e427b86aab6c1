from __future__ import annotations

from fractions import Fraction
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase.errors import ParameterError
from prophase.sim.queueing.erlang import (
    erlang_b,
    erlang_c,
)

loads = st.floats(0.01, 300.0)


def by_definition(load: Fraction, servers: int) -> Fraction:
    """Erlang B as in Cooper, Introduction to Queueing Theory (1981), equation 3.3."""
    terms = [load**n / factorial(n) for n in range(servers + 1)]
    return terms[-1] / sum(terms)


@pytest.mark.parametrize(("load", "servers"), [(1, 1), (2, 3), (10, 10), (12, 15), (90, 100)])
def test_erlang_b_equals_its_definition_in_fractions(load, servers):
    assert erlang_b(load, servers) == pytest.approx(
        float(by_definition(Fraction(load), servers)), rel=1e-12
    )


@pytest.mark.parametrize(
    # Gross and Harris, Fundamentals of Queueing Theory, M/M/3 with load 2: P(wait) = 4/9;
    # Hillier and Lieberman, emergency room, M/M/2 with load 2/3: P(wait) = 1/6
    ("load", "servers", "delayed"),
    [(2.0, 3, 4 / 9), (2 / 3, 2, 1 / 6), (0.7, 1, 0.7)],
)
def test_erlang_c_equals_textbook_values(load, servers, delayed):
    assert erlang_c(load, servers) == pytest.approx(delayed, abs=1e-12)


def test_a_hundred_thousand_servers_follow_the_limit_of_halfin_and_whitt():
    # Halfin and Whitt (1981): P(wait) -> 1 / (1 + beta Phi(beta) / phi(beta)); 0.223361 at beta 1
    servers = 100_000
    load = servers - 1.0 * servers**0.5
    assert erlang_c(load, servers) == pytest.approx(0.223361, abs=2e-3)
    assert 0 < erlang_b(load, servers) < erlang_c(load, servers)


@given(load=loads, servers=st.integers(1, 400))
def test_the_formulas_are_probabilities_and_fall_with_servers(load, servers):
    blocked, fewer = erlang_b(load, servers), erlang_b(load, servers - 1)
    assert 0 <= blocked <= fewer <= 1
    if load < servers:
        assert blocked <= erlang_c(load, servers) <= 1
        assert erlang_c(load, servers + 1) <= erlang_c(load, servers)


@given(load=loads, servers=st.integers(0, 100), fraction=st.floats(0.01, 0.99))
def test_fractions_of_a_server_lie_between_whole_ones(load, servers, fraction):
    low, middle, high = (erlang_b(load, c) for c in (servers + 1, servers + fraction, servers))
    assert low <= middle <= high


def test_the_two_ways_to_a_fraction_of_a_server_agree():
    below, above = erlang_b(499.999999, 510.3), erlang_b(500.000001, 510.3)
    assert below == pytest.approx(above, rel=1e-7)


def test_overload_is_refused_with_the_servers_it_takes():
    with pytest.raises(ParameterError, match="At least 46 servers are needed"):
        erlang_c(45.0, 40)
    with pytest.raises(ParameterError, match="offered_load is -1"):
        erlang_b(-1, 3)
