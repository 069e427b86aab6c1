"""Trace, simulation and formulas side by side."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophase.errors import InputError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.queueing.exact_waits import exact_waits
from prophase.sim.queueing.mmc import mmc
from prophase.sim.theory_comparison import beside_theory, schedule_beside_theory


def poisson_jobs(count: int, rate: float, service: float, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "job_id": [str(n) for n in range(count)],
            "submit_s": np.cumsum(rng.exponential(1 / rate, count)),
            "duration_s": rng.exponential(service, count),
            "request_gpus": 1.0,
        }
    )


def view(found, name):
    return next(column for column in found.columns if column.view == name)


def test_a_simulated_mmc_queue_agrees_with_the_pool_and_with_erlang():
    jobs = poisson_jobs(60_000, 0.9, 10.0)
    schedule = simulate(Workload.from_jobs(jobs), Cluster.uniform(10, 1), queue="strict")
    found = schedule_beside_theory(schedule)
    simulated, pool, erlang = (view(found, name) for name in ("simulation", "one_pool", "M/M/c"))
    assert simulated.wait_mean_s == pytest.approx(pool.wait_mean_s, rel=1e-9)
    assert erlang.wait_mean_s == pytest.approx(simulated.wait_mean_s, rel=0.2)
    assert erlang.wait_p99_s == pytest.approx(simulated.wait_p99_s, rel=0.3)
    assert erlang.utilisation == pytest.approx(simulated.utilisation, rel=0.01)
    assert erlang.queue_mean_jobs == pytest.approx(simulated.queue_mean_jobs, rel=0.2)
    assert found.valid
    assert found.verdict[0].startswith("Formulas apply")
    assert "M/M/c" in found.verdict[0]
    assert len(found.verdict) == 1


def test_the_formula_sees_the_rate_and_load_of_the_trace():
    jobs = poisson_jobs(5000, 0.9, 10.0)
    found = beside_theory(jobs, np.zeros(5000), 12)
    rate = 4999 / float(np.ptp(jobs["submit_s"]))
    by_hand = mmc(rate, float(jobs["duration_s"].mean()), 12)
    assert view(found, "M/M/c").wait_mean_s == pytest.approx(by_hand.wait_mean_s)
    assert view(found, "M/M/c").wait_p90_s == pytest.approx(by_hand.wait_quantile_s(0.9))


def test_bursts_are_named_with_their_scv():
    jobs = poisson_jobs(5000, 0.5, 10.0)
    jobs["submit_s"] = np.repeat(jobs["submit_s"].to_numpy()[::50], 50)
    found = beside_theory(jobs, np.zeros(5000), 10)
    assert not found.valid
    assert "Poisson arrivals (gaps between arrivals have SCV" in found.verdict[0]
    assert "served strictly in turn" in found.verdict[1]


def test_true_waits_are_a_column_of_their_own_over_the_jobs_that_have_one():
    jobs = poisson_jobs(1000, 0.5, 10.0)
    jobs["wait_s"] = 100.0
    jobs.loc[0, "wait_s"] = np.nan
    found = beside_theory(jobs, np.full(1000, 300.0), 10)
    true = view(found, "trace")
    assert (true.wait_mean_s, true.wait_p99_s) == (100.0, 100.0)
    assert true.note == "1 job without a recorded wait"
    assert any("3 times as long as the trace did" in line for line in found.verdict)
    alike = beside_theory(jobs, np.full(1000, 110.0), 10)
    assert "within a factor of 1.5 of the trace's" in alike.verdict[-1]


def test_overload_has_no_steady_state_but_exact_waits():
    jobs = poisson_jobs(2000, 2.0, 10.0)
    found = beside_theory(jobs, np.zeros(2000), 10)
    assert view(found, "G/G/c").wait_mean_s is None
    assert "no steady state" in view(found, "G/G/c").note
    assert view(found, "one_pool").wait_mean_s > 100


def test_jobs_that_ask_for_no_gpu_are_left_out_of_every_column():
    jobs = poisson_jobs(1000, 0.5, 10.0)
    jobs.loc[500:, "request_gpus"] = 0.0
    waits = np.where(np.arange(1000) < 500, 7.0, 1e6)
    found = beside_theory(jobs, waits, 10)
    assert found.jobs == 500
    assert view(found, "simulation").wait_mean_s == 7.0
    assert found.left_out == {"asking for no gpus": 500}


def test_cores_are_the_servers_where_no_job_asks_for_gpus():
    jobs = poisson_jobs(500, 0.5, 10.0).drop(columns="request_gpus")
    jobs["request_cpu_cores"] = 1.0
    workload = Workload.from_jobs(jobs)
    schedule = simulate(workload, Cluster.uniform(2, 0, cpu_cores=5.0))
    found = schedule_beside_theory(schedule)
    assert (found.resource, found.servers) == ("cores", 10)
    with pytest.raises(InputError, match="what a server is"):
        schedule_beside_theory(simulate(workload, Cluster.uniform(2, 1)))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**6).map(float),
            st.floats(0.1, 1e5),
            st.sampled_from([0.5, 1.0, 4.0]),
        ),
        min_size=12,
        max_size=40,
    )
)
def test_any_jobs_give_finite_columns_or_a_reason(rows):
    submit, duration, gpus = (np.array(part) for part in zip(*rows, strict=True))
    order = np.argsort(submit)
    jobs = pd.DataFrame(
        {"job_id": "x", "submit_s": submit[order], "duration_s": duration[order]}
    ).assign(request_gpus=gpus[order])
    waits = exact_waits(jobs["submit_s"], jobs["duration_s"], 4, need=jobs["request_gpus"])
    if np.ptp(submit) == 0:
        with pytest.raises(InputError, match="at once"):
            beside_theory(jobs, waits, 4)
        return
    found = beside_theory(jobs, waits, 4)
    simulated, pool = view(found, "simulation"), view(found, "one_pool")
    assert simulated.wait_mean_s == pytest.approx(pool.wait_mean_s)
    assert 0 <= simulated.utilisation <= 1 + 1e-9
    json.dumps(found.to_dict(), allow_nan=False)
