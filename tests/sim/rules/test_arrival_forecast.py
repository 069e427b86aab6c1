from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.rules.arrival_forecast import arrivals_ahead
from prophase.sim.rules.node_availability import Autoscaler

DAY_S = 86_400.0
SETTING = {"ahead_s": 600.0, "every_s": 300.0, "margin": 0.0}


def bursts(days: int) -> np.ndarray:
    """Return submissions: every day at nine, one job every 30 seconds for half an hour."""
    return np.concatenate([day * DAY_S + 9 * 3600 + 30.0 * np.arange(60) for day in range(days)])


def expected(submit_s, at_s, **setting):
    times, first, rows = arrivals_ahead(
        submit_s, np.zeros(len(submit_s), np.int64), **(SETTING | setting)
    )
    step = int(np.flatnonzero(times == at_s)[0])
    return int(rows[first[step] : first[step + 1], 1].sum())


def test_a_burst_that_comes_every_day_is_expected_after_two_days_and_a_rate_before():
    submit_s = bursts(5)
    # minutes before the burst of the second day, nothing has come in the last hour
    assert expected(submit_s, DAY_S + 9 * 3600 - 300) == 0
    # 15 minutes from there: 10 of them within the burst, two jobs a minute
    assert expected(submit_s, 4 * DAY_S + 9 * 3600 - 300) == 20
    assert expected(submit_s, 4 * DAY_S + 9 * 3600 - 300, margin=2.0) == 29
    # within the burst of the first day the rate counts: 20 jobs came in 10 minutes
    assert expected(submit_s, 9 * 3600 + 600.0) == 30


def test_a_forecast_does_not_look_into_the_future():
    rng = np.random.default_rng(3)
    submit_s = np.sort(rng.uniform(0, 12 * DAY_S, 3000))
    shape_of = rng.integers(0, 5, len(submit_s))
    whole = arrivals_ahead(submit_s, shape_of, **SETTING)
    part = submit_s < 9 * DAY_S
    cut = arrivals_ahead(submit_s[part], shape_of[part], **SETTING)
    made = len(cut[0])
    assert made > 2500
    assert whole[0][:made].tolist() == cut[0].tolist()
    assert whole[1][: made + 1].tolist() == cut[1].tolist()
    assert whole[2][: cut[1][-1]].tolist() == cut[2].tolist()


def test_many_rare_requests_are_not_all_rounded_to_none():
    submit_s = np.arange(0.0, 7200.0, 10.0)
    times, first, rows = arrivals_ahead(submit_s, np.arange(len(submit_s)), **SETTING)
    assert times[-1] == 6900.0
    # 15 minutes at six a minute
    assert rows[first[-2] : first[-1], 1].sum() == 90


def replay(scaling, days=5):
    submit_s = bursts(days)
    jobs = pd.DataFrame(
        {
            "job_id": np.arange(len(submit_s)).astype(str),
            "submit_s": submit_s,
            "duration_s": 300.0,
            "request_gpus": 1.0,
        }
    )
    return simulate(Workload.from_jobs(jobs), Cluster.parse("10x2"), scaling=scaling)


def test_scaling_ahead_cuts_waits_once_the_pattern_is_known_and_counts_what_it_costs():
    rule = Autoscaler(floor=0, boot_s=600.0, idle_s=300.0)
    late = replay(rule)
    early = replay("floor=0,boot=10min,idle=5min,ahead=on")
    last = late.workload.submit_s > 4 * DAY_S
    assert early.wait_s[last].mean() < 0.5 * late.wait_s[last].mean()
    # on the first day the first job is as late as ever
    assert early.wait_s[0] == late.wait_s[0] == 600.0
    assert early.metrics()["gpu_hours"]["owned"] > late.metrics()["gpu_hours"]["owned"]
    assert (early.run_s == 300.0).all()
    again = replay("floor=0,boot=10min,idle=5min,ahead=on")
    assert early.start_s.tolist() == again.start_s.tolist()


def test_bad_margins_are_refused():
    with pytest.raises(ParameterError, match="margin"):
        Autoscaler(ahead=True, margin=float("nan"))
    with pytest.raises(ParameterError, match="every_s"):
        Autoscaler(every_s=0.0)
