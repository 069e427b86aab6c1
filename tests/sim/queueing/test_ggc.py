from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase.errors import ParameterError
from prophase.sim.queueing.exact_waits import exact_waits
from prophase.sim.queueing.ggc import GGC_METHODS, ggc
from prophase.sim.queueing.mgc import mg1, mgc
from prophase.sim.queueing.mmc import mmc

scvs = st.floats(0.0, 20.0)


@given(used=st.floats(0.05, 0.98), servers=st.integers(1, 100))
def test_exponential_gaps_and_service_give_mmc(used, servers):
    for method in ("whitt", "allen-cunneen"):
        answer = ggc(used * servers, 1.0, servers, arrival_scv=1, service_scv=1, method=method)
        assert answer.wait_mean_s == pytest.approx(mmc(used * servers, 1.0, servers).wait_mean_s)
        assert answer.wait_probability == pytest.approx(
            mmc(used * servers, 1.0, servers).wait_probability
        )


@given(used=st.floats(0.05, 0.98), servers=st.integers(2, 100), scv=scvs)
def test_poisson_arrivals_give_mgc(used, servers, scv):
    general = ggc(used * servers, 1.0, servers, arrival_scv=1, service_scv=scv)
    assert general.wait_mean_s == pytest.approx(mgc(used * servers, 1.0, servers, scv).wait_mean_s)
    one = ggc(used, 1.0, 1, arrival_scv=1, service_scv=scv)
    assert one.wait_mean_s == pytest.approx(mg1(used, 1.0, scv).wait_mean_s)


@given(used=st.floats(0.05, 0.98), servers=st.integers(1, 100), ca2=scvs, cs2=scvs)
def test_the_bound_is_above_the_exact_cases_and_probabilities_stay_in_range(
    used, servers, ca2, cs2
):
    rate = used * servers
    answer = ggc(rate, 1.0, servers, arrival_scv=ca2, service_scv=cs2)
    assert 0 <= answer.wait_probability <= 1
    assert answer.wait_mean_s >= 0
    bound = ggc(rate, 1.0, servers, arrival_scv=1, service_scv=1, method="kingman")
    assert bound.wait_mean_s >= mmc(rate, 1.0, servers).wait_mean_s


def test_kingmans_bound_is_exact_for_one_server_in_heavy_traffic():
    # Kingman (1962): for M/G/1 the bound exceeds the wait by (1 - load**2) / (2 lambda (1 - load))
    bound = ggc(0.9, 1.0, 1, arrival_scv=1, service_scv=4, method="kingman").wait_mean_s
    exact = mg1(0.9, 1.0, 4.0).wait_mean_s
    assert bound - exact == pytest.approx((1 - 0.81) / (2 * 0.9 * 0.1), abs=1e-9)


def test_d_m_1_is_within_two_percent_of_its_root():
    # D/M/1 exactly: W = sigma / (mu (1 - sigma)) with sigma = exp(-(1 - sigma) / load)
    sigma = 0.5
    for _ in range(200):
        sigma = np.exp(-(1 - sigma) / 0.8)
    exact = sigma / (1 - sigma)
    said = ggc(0.8, 1.0, 1, arrival_scv=0, service_scv=1).wait_mean_s
    assert said == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(("ca2", "cs2"), [(0.25, 1.0), (0.25, 0.25), (3.0, 1.0)])
def test_whitt_is_near_a_simulation_with_renewal_arrivals(ca2, cs2):
    rng = np.random.default_rng(2)
    jobs, servers = 600_000, 10
    submit = np.cumsum(rng.standard_gamma(1 / ca2, jobs) * ca2 / 8.5)
    duration = rng.standard_gamma(1 / cs2, jobs) * cs2
    waits = exact_waits(submit, duration, servers)[jobs // 10 :]
    said = ggc(8.5, 1.0, servers, arrival_scv=ca2, service_scv=cs2)
    assert said.wait_mean_s == pytest.approx(waits.mean(), rel=0.25)
    assert said.wait_probability == pytest.approx((waits > 0).mean(), abs=0.08)


def test_constant_gaps_and_service_never_wait():
    answer = ggc(9.0, 1.0, 10, arrival_scv=0, service_scv=0)
    assert (answer.wait_mean_s, answer.wait_probability) == (0, 0)


def test_unknown_methods_are_refused_and_all_known_ones_answer():
    for method in GGC_METHODS:
        assert ggc(9.0, 1.0, 10, arrival_scv=2, service_scv=2, method=method).valid
    with pytest.raises(ParameterError, match="Known: whitt"):
        ggc(9.0, 1.0, 10, arrival_scv=2, service_scv=2, method="guess")
