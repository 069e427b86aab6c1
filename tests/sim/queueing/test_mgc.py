from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from prophase.errors import ParameterError
from prophase.sim.queueing.exact_waits import exact_waits
from prophase.sim.queueing.mgc import MGC_METHODS, mdc, mg1, mgc
from prophase.sim.queueing.mmc import mmc


def test_one_server_waits_as_pollaczek_and_khinchine_say():
    # Kleinrock, Queueing Systems I, section 5.6: M/D/1 waits half of M/M/1
    assert mg1(0.9, 1.0, 0.0).wait_mean_s == pytest.approx(4.5, abs=1e-12)
    assert mg1(0.9, 1.0, 1.0).wait_mean_s == pytest.approx(9.0, abs=1e-12)


@pytest.mark.parametrize("method", MGC_METHODS)
@given(load=st.floats(0.05, 0.98), servers=st.integers(1, 100), scv=st.floats(0.0, 50.0))
def test_every_approximation_is_exact_at_its_edges(method, load, servers, scv):
    rate = load * servers
    assert mgc(rate, 1.0, servers, 1.0, method=method).wait_mean_s == pytest.approx(
        mmc(rate, 1.0, servers).wait_mean_s
    )
    assert mgc(load, 1.0, 1, scv, method=method).wait_mean_s == pytest.approx(
        mg1(load, 1.0, scv).wait_mean_s
    )
    one, more = (mgc(rate, 1.0, c, scv, method=method) for c in (servers, servers + 1))
    assert 0 <= more.wait_mean_s <= one.wait_mean_s * (1 + 1e-9)
    assert one.queue_mean_jobs == pytest.approx(rate * one.wait_mean_s)
    wider = mgc(rate, 1.0, servers, scv + 1, method=method)
    assert wider.wait_mean_s >= one.wait_mean_s * (1 - 1e-9)


@pytest.mark.parametrize("method", MGC_METHODS)
def test_heavy_traffic_is_the_limit_of_kingman(method):
    # Kollerstroem (1974): (1 - load) W -> (1 + SCV) / (2 c)
    wait = mgc(19.9999, 1.0, 20, 4.0, method=method).wait_mean_s
    assert (1 - 19.9999 / 20) * wait == pytest.approx(2.5 / 20, rel=1e-2)


def embedded_chain(load: float, servers: int) -> tuple[float, float]:
    """Mean queue and P(wait) of M/D/c by iterating N' = max(N - c, 0) + Poisson."""
    states = 60 * servers + 600
    come = poisson.pmf(np.arange(states), load)
    step = np.zeros((states, states))
    for n in range(states):
        stay = max(n - servers, 0)
        step[n, stay:] = come[: states - stay]
        step[n, -1] += max(0.0, 1 - step[n].sum())
    share = np.linalg.solve(
        np.vstack([(step.T - np.eye(states))[:-1], np.ones(states)]),
        np.append(np.zeros(states - 1), 1.0),
    )
    queue = float(share @ np.maximum(np.arange(states) - servers, 0))
    return queue, float(share[servers:].sum())


@pytest.mark.parametrize(("servers", "used"), [(1, 0.5), (2, 0.9), (5, 0.8), (10, 0.95)])
def test_constant_service_is_exact(servers, used):
    answer = mdc(servers * used, 1.0, servers)
    queue, delayed = embedded_chain(servers * used, servers)
    assert answer.queue_mean_jobs == pytest.approx(queue, abs=1e-6)
    assert answer.wait_probability == pytest.approx(delayed, abs=1e-6)
    assert answer.exact


@settings(max_examples=40)
@given(used=st.floats(0.7, 0.97), servers=st.integers(1, 60))
def test_cosmetatos_is_close_to_the_exact_wait_under_load(used, servers):
    exact = mdc(used * servers, 1.0, servers).wait_mean_s
    quick = mdc(used * servers, 1.0, servers, method="cosmetatos").wait_mean_s
    if exact > 1e-3:
        assert quick == pytest.approx(exact, rel=0.1)


def test_next_to_saturation_the_series_gives_way_and_says_so():
    answer = mdc(1.9999999, 1.0, 2)
    assert answer.method == "cosmetatos"
    assert not answer.exact


@pytest.mark.parametrize("scv", [0.25, 4.0])
def test_approximations_are_near_a_simulation(scv):
    rng = np.random.default_rng(11)
    jobs, servers = 600_000, 20
    submit = np.cumsum(rng.exponential(1 / 17, jobs))
    duration = rng.standard_gamma(1 / scv, jobs) * scv
    wait = exact_waits(submit, duration, servers)[jobs // 10 :].mean()
    for method in ("whitt", "kimura"):
        said = mgc(17.0, 1.0, servers, scv, method=method).wait_mean_s
        assert said == pytest.approx(wait, rel=0.2), method


def test_an_unknown_method_is_refused_with_the_nearest():
    with pytest.raises(ParameterError, match="Did you mean 'whitt'"):
        mgc(1.0, 1.0, 2, 1.0, method="whit")
    with pytest.raises(ParameterError, match="service_scv is -1"):
        mgc(1.0, 1.0, 2, -1.0)
