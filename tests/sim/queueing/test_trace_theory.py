from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim.queueing.trace_theory import customers_of, trace_theory


def broken(theory) -> list[str]:
    return [one.name for one in theory.assumptions if not one.holds]


def test_a_trace_that_is_mmc_meets_every_assumption_and_its_formula_is_near():
    rng = np.random.default_rng(8)
    jobs = 100_000
    theory = trace_theory(np.cumsum(rng.exponential(1 / 45, jobs)), rng.exponential(1.0, jobs), 50)
    assert broken(theory) == []
    assert theory.valid
    erlang = theory.rows[1]
    assert erlang.ratio == pytest.approx(1.0, abs=0.2)
    assert "Erlang C" in theory.verdict


def test_bursts_long_tails_and_gangs_are_each_named():
    rng = np.random.default_rng(9)
    jobs = 20_000
    steady, sizes = np.cumsum(rng.exponential(1.0, jobs)), rng.exponential(20.0, jobs)
    bursts = np.sort(np.repeat(steady[::50], 50))
    assert "Poisson arrivals" in broken(trace_theory(bursts, sizes, 100))
    heavy = rng.lognormal(0.0, 2.0, jobs)
    assert "exponential service" in broken(trace_theory(steady, heavy, 100))
    need = rng.choice([1, 8], jobs)
    assert "one server each" in broken(trace_theory(steady, sizes, 400, need=need))


def test_a_day_pattern_is_named_and_its_overload_explained_by_the_fluid():
    rng = np.random.default_rng(10)
    times = np.arange(0, 10 * 86400.0, 60.0)
    rate = 0.5 * (1 + 0.9 * np.sin(2 * np.pi * times / 86400))
    counts = rng.poisson(rate * 60)
    submit = np.sort(np.repeat(times, counts) + rng.uniform(0, 60, counts.sum()))
    theory = trace_theory(submit, rng.exponential(600.0, submit.size), 400)
    assert "steady rate" in broken(theory)
    assert "load below the servers" in broken(theory)
    exact, erlang, fluid = theory.rows[0], theory.rows[1], theory.rows[-1]
    assert erlang.wait_mean_s < 0.01 * exact.wait_mean_s
    assert fluid.ratio == pytest.approx(1.0, abs=0.25)
    assert theory.wait_mean.low < exact.wait_mean_s < theory.wait_mean.high


def test_more_load_than_servers_leaves_no_steady_state():
    rng = np.random.default_rng(1)
    submit = np.cumsum(rng.exponential(0.1, 2000))
    theory = trace_theory(submit, rng.exponential(1.0, 2000), 8)
    assert theory.utilisation > 1
    assert theory.rows[1].wait_mean_s is None
    assert "no steady state" in theory.rows[1].note
    assert theory.rows[0].wait_mean_s > 0


def test_jobs_without_times_or_requests_are_left_out_and_counted():
    table = pd.DataFrame(
        {
            "job_id": ["a", "b", "c", "d"],
            "submit_s": [0.0, 1.0, np.nan, 2.0],
            "duration_s": [5.0, 6.0, 7.0, 8.0],
            "request_gpus": [1.0, 0.5, 1.0, np.nan],
            "instances": [2.0, np.nan, 1.0, 1.0],
        }
    )
    found = customers_of(table, 4)
    assert found.need.tolist() == [2.0, 0.5]
    assert found.left_out == {"without submit time or duration": 1, "asking for no gpus": 1}
    with pytest.raises(InputError, match=r"1 jobs need more than 1 gpus .* e.g. a"):
        customers_of(table, 1)
    with pytest.raises(InputError, match="--resource jobs"):
        customers_of(table, 4, "cores")
    with pytest.raises(ParameterError, match="Did you mean 'gpus'"):
        customers_of(table, 4, "gpu")
    with pytest.raises(InputError, match="no duration_s"):
        customers_of(table.drop(columns="duration_s"), 4)


def test_traces_without_a_rate_are_refused():
    with pytest.raises(InputError, match="at once"):
        trace_theory(np.zeros(20), np.ones(20), 2)
    with pytest.raises(InputError, match="too few"):
        trace_theory([0.0, 1.0], [1.0, 1.0], 2)
    with pytest.raises(InputError, match="every duration is 0"):
        trace_theory(np.arange(20.0), np.zeros(20), 2)


@pytest.mark.data
def test_philly_breaks_every_assumption_as_measured(shared_data: Path):
    jobs = pd.read_csv(shared_data / "pai_sim" / "philly20k.csv.gz")
    theory = trace_theory(jobs["submit_time"], jobs["duration"], 600, need=jobs["num_gpu"])
    assert theory.arrival_scv == pytest.approx(365, abs=1)
    assert theory.service_scv == pytest.approx(56, abs=1)
    assert theory.load_mean == pytest.approx(324, abs=5)
    assert theory.load_peak == 1082
    assert len(broken(theory)) == 5
    assert not theory.valid
    # stationary formulas say that nobody waits; strictly in order, jobs wait for more than a day
    assert theory.rows[1].wait_mean_s < 1
    assert theory.rows[0].wait_mean_s > 86400
