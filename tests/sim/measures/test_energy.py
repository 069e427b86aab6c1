"""Energy and CO2 by hand; a job that may wait takes the cleanest hour of all there are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.measures.energy import Power
from prophase.sim.rules.carbon import CarbonSeries, Deferral

HOUR = 3600.0
WATTS = pd.DataFrame({"gpu_type": ["*", "A"], "idle_w": [1000.0, 200.0], "busy_w": [5000.0, 600.0]})
DAY = pd.DataFrame({"time_s": [0.0, HOUR, 2 * HOUR], "g_per_kwh": [400.0, 100.0, 250.0]})


def jobs(**columns) -> Workload:
    count = max(len(values) for values in columns.values() if isinstance(values, list))
    table = pd.DataFrame({"job_id": [f"j{i}" for i in range(count)], "submit_s": 0.0})
    table["duration_s"], table["request_gpus"] = HOUR, 1.0
    return Workload.from_jobs(table.assign(**columns))


def test_a_job_takes_its_share_of_a_busy_node_and_the_rest_idles():
    schedule = simulate(jobs(request_gpus=[4.0, 8.0]), Cluster.parse("2x8"))
    found, per_job = schedule.energy(WATTS)
    # half a node at 5 kW, a whole one; half a node idles at 1 kW
    assert per_job["energy_kwh"].tolist() == [2.5, 5.0]
    assert (found["jobs_kwh"], found["idle_kwh"], found["kwh"]) == (7.5, 0.5, 8.0)
    assert "co2_kg" not in found


def test_types_of_nodes_differ_and_cores_count_where_there_are_no_gpus():
    made = jobs(request_gpus=[2.0, 0.0], request_cpu_cores=[0.0, 8.0], gpu_type=["A", ""])
    found, per_job = simulate(made, Cluster.parse("1x2 A 4c, 1x0 B 16c")).energy(WATTS)
    assert per_job["energy_kwh"].tolist() == pytest.approx([0.6, 2.5])
    assert found["idle_kwh"] == pytest.approx(0.5)


def test_the_building_counts_and_absent_nodes_take_nothing():
    schedule = simulate(jobs(request_gpus=[8.0]), Cluster.parse("2x8"), scaling="floor=1")
    found, _ = schedule.energy(Power(WATTS, pue=1.5))
    assert found["kwh"] == pytest.approx(7.5)


def test_co2_follows_the_hours_in_which_a_job_runs_and_the_series_repeats():
    made = jobs(submit_s=[1800.0, 3 * HOUR], request_gpus=8.0)
    found, per_job = simulate(made, Cluster.parse("1x8")).energy(WATTS, DAY)
    # half an hour at 400 and half at 100; then the first hour of the series again
    assert per_job["co2_kg"].tolist() == pytest.approx([5 * 0.25, 5 * 0.4])
    # idle from 1.5 h to 3 h: half an hour at 100, one at 250
    assert found["idle_co2_kg"] == pytest.approx(0.05 + 0.25)
    assert found["co2_kg"] == pytest.approx(1.25 + 2.0 + 0.3)


@pytest.mark.parametrize("seed", range(6))
def test_no_start_within_the_slack_emits_less(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"time_s": np.arange(7) * 60.0, "g_per_kwh": rng.integers(1, 9, 7) * 50})
    submit, run = rng.integers(0, 500, 5) * 1.0, rng.integers(1, 300, 5) * 1.0
    made = jobs(submit_s=submit.tolist(), duration_s=run.tolist())
    series, rule = CarbonSeries.of(table), Deferral(table, slack_s=400.0)
    for begin, start, length in zip(
        made.submit_s, rule.release(made), made.duration_s, strict=True
    ):
        tried = np.arange(begin, begin + 400.5, 0.5)
        emitted = series.integral(tried, tried + length)
        assert begin <= start <= begin + 400
        chosen = series.integral(np.array([start]), np.array([start + length]))[0]
        assert chosen == pytest.approx(emitted.min())


def test_jobs_that_may_wait_do_and_their_wait_counts_from_the_submission():
    made = jobs(request_gpus=[8.0, 8.0], attr_deferrable=["true", "false"])
    rule = Deferral(DAY, slack_s=3 * HOUR, only="attr_deferrable")
    plain = simulate(made, Cluster.parse("2x8"))
    later = simulate(made, Cluster.parse("2x8"), defer=rule)
    assert later.start_s.tolist() == [HOUR, 0.0]
    assert later.wait_s.tolist() == [HOUR, 0.0]
    assert later.workload.submit_s.tolist() == [0.0, 0.0]
    assert later.workload.jobs.columns.tolist() == made.jobs.columns.tolist()
    saved = plain.energy(WATTS, DAY)[1]["co2_kg"] - later.energy(WATTS, DAY)[1]["co2_kg"]
    assert saved.tolist() == pytest.approx([5 * 0.3, 0.0])
    assert "1 job held back for a cleaner hour, for 1 h" in later.notes[-1]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"time_s": [0, 1]}, r"needs the columns time_s and g_per_kwh\. It has: time_s"),
        ({"time_s": [0, 0], "g_per_kwh": [1, 1]}, "row 2 does not come after"),
        ({"time_s": [0, 1], "g_per_kwh": [1, -1]}, "g_per_kwh of row 2 is -1"),
        ({"time_s": [0, 1], "g_per_kwh": [1, "x"]}, "g_per_kwh of row 2 is 'x'"),
        ({"time_s": [0], "g_per_kwh": [1]}, "at least two rows"),
    ],
)
def test_a_series_that_cannot_be_is_refused(table, said):
    with pytest.raises(InputError, match=said):
        CarbonSeries.of(pd.DataFrame(table))


def test_power_that_cannot_be_is_refused():
    schedule = simulate(jobs(request_gpus=[1.0]), Cluster.parse("1x8 V100"))
    with pytest.raises(InputError, match="no row of 'V100', nor of"):
        schedule.energy(WATTS[1:])
    with pytest.raises(InputError, match="a busy node of type A takes less"):
        schedule.energy(WATTS.assign(busy_w=[5000.0, 100.0]))
    with pytest.raises(InputError, match="lacks busy_w"):
        schedule.energy(WATTS.drop(columns="busy_w"))
    bare = simulate(jobs(request_gpus=[0.0]), Cluster.parse("1x0, 1x1"))
    with pytest.raises(InputError, match="neither GPUs nor cores"):
        bare.energy(WATTS)


def test_a_job_that_waits_for_others_is_not_held_back():
    with pytest.raises(ParameterError, match="defer= cannot be combined with depends="):
        simulate(
            jobs(attr_parents=["", "j0"]), Cluster.parse("1x1"), depends="attr_parents",
            defer=Deferral(DAY),
        )  # fmt: skip
