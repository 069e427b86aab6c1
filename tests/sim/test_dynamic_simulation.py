from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from tests.oracles import scenarios as s

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.attempts import FINISHED
from prophase.sim.rules.backfill import Backfill
from prophase.sim.rules.node_availability import Autoscaler, Failures
from prophase.sim.rules.preemption import Preemption
from prophase.sim.signatures import ASK_CPU, ASK_INSTANCES, ASK_MEMORY, ASK_MILLI

PUSHING = (s.queue, s.preemption, s.any_order)
PLANNING = (s.planning, s.any_order)
OTHERS = (s.ladder, s.quotas, s.outages, s.scaling)


def run(scenario, **more):
    settings = {**scenario.settings, **more}
    return simulate(scenario.workload(), scenario.cluster(), **settings)


def held(schedule):
    """Return one row per attempt and instance: when, where, and what it holds."""
    attempts = schedule.attempts
    rows = []
    for row, job in enumerate(attempts.job):
        ask = (schedule.workload.asks[job]) if attempts.asks is None else attempts.asks[row]
        for place in range(ask[ASK_INSTANCES]):
            where = attempts.first_instance[row] + place
            rows.append(
                {
                    "start": attempts.start_s[row],
                    "end": attempts.end_s[row],
                    "node": int(attempts.node[where]),
                    "gpus": [g for g in range(64) if int(attempts.gpu_bits[where]) >> g & 1],
                    "milli": int(ask[ASK_MILLI]),
                    "cpu": int(ask[ASK_CPU]),
                    "memory": int(ask[ASK_MEMORY]),
                }
            )
    return rows


def laws_hold(schedule, scenario, *, same_speed):
    attempts, workload = schedule.attempts, schedule.workload
    rows = held(schedule)
    assert all(row["node"] >= 0 for row in rows), "a gang runs with all its instances"
    for now in np.unique(attempts.start_s):
        here = [row for row in rows if row["start"] <= now < row["end"]]
        for number, node in enumerate(scenario.nodes):
            mine = [row for row in here if row["node"] == number]
            assert sum(row["cpu"] for row in mine) <= node["cpu"]
            assert sum(row["memory"] for row in mine) <= node["memory"]
            for gpu in range(node["gpus"]):
                assert sum(row["milli"] for row in mine if gpu in row["gpus"]) <= 1000
    waited = 0.0
    for job in range(len(workload)):
        own = np.flatnonzero(attempts.job == job)
        assert list(attempts.outcome[own] == FINISHED) == [False] * (len(own) - 1) + [True]
        begins, ends = attempts.start_s[own], attempts.end_s[own]
        gaps = begins - np.concatenate(([workload.submit_s[job]], ends[:-1]))
        assert (gaps >= 0).all(), "a job runs once at a time, and not before it is submitted"
        waited += gaps.sum()
        if same_speed:
            useful = (ends - begins - attempts.lost_s[own]).sum()
            assert useful == pytest.approx(workload.duration_s[job], abs=1e-6)
    # Little: time-averaged number waiting x time = arrivals x mean wait
    assert waited == pytest.approx(len(workload) * schedule.wait_s.mean(), rel=1e-9, abs=1e-6)
    if schedule.absences is not None:
        gone = schedule.absences
        for node, begin, end in zip(gone.node, gone.from_s, gone.to_s, strict=True):
            assert not [r for r in rows if r["node"] == node and begin <= r["start"] < end]


@settings(max_examples=50)
@given(s.scenarios(*PUSHING, *OTHERS, most_jobs=30))
def test_preemption_with_all_rules_keeps_the_laws(scenario):
    laws_hold(run(scenario), scenario, same_speed=True)


@settings(max_examples=50)
@given(s.scenarios(*PLANNING, *OTHERS, most_jobs=30))
def test_backfilling_with_all_rules_keeps_the_laws(scenario):
    laws_hold(run(scenario), scenario, same_speed=True)


@settings(max_examples=25)
@given(s.scenarios(*PUSHING, *OTHERS, most_jobs=30))
def test_scaling_ahead_with_all_rules_keeps_the_laws(scenario):
    rule = scenario.settings.get("scaling") or Autoscaler(0, None, 2.0, 3.0)
    ahead = replace(rule, ahead=True, every_s=4.0)
    laws_hold(run(scenario, scaling=ahead), scenario, same_speed=True)


@settings(max_examples=40)
@given(s.scenarios(*PUSHING, s.sharing, s.speeds, *OTHERS, most_jobs=30))
def test_sharing_and_speeds_with_all_rules_keep_the_laws(scenario):
    laws_hold(run(scenario), scenario, same_speed=False)


@settings(max_examples=15)
@given(s.scenarios(*PUSHING, s.ladder, s.quotas, most_jobs=20))
def test_failures_keep_the_laws_and_come_alike_for_a_seed(scenario):
    lost = {"failures": Failures(mtbf_s=40.0, mttr_s=5.0), "place": "random"}
    one, again, other = (run(scenario, **lost, seed=seed) for seed in (3, 3, 4))
    laws_hold(one, scenario, same_speed=True)
    for name in ("job", "start_s", "end_s", "outcome", "node", "gpu_bits"):
        assert list(getattr(one.attempts, name)) == list(getattr(again.attempts, name))
    assert len(other.attempts) >= len(scenario.jobs)


def some_jobs(**columns) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    count = 60
    return pd.DataFrame(
        {
            "job_id": [f"j{i:02d}" for i in range(count)],
            "submit_s": np.sort(rng.integers(0, 120, count)).astype(float),
            "duration_s": rng.integers(1, 40, count).astype(float),
            "time_limit_s": rng.integers(30, 80, count).astype(float),
            "request_gpus": rng.choice([0.25, 0.5, 1.0, 2.0], count),
            "request_memory_gib": rng.integers(1, 5, count).astype(float),
            "memory_peak_gib": rng.integers(1, 8, count).astype(float),
            "instances": rng.choice([1.0, 1.0, 2.0], count),
            "user": rng.choice(["ann", "bob", "cyd"], count),
            "task": rng.choice(["x", "y"], count),
            **columns,
        }
    )


CLUSTER = "2x4 A 32c 32g, 1x2 B 16c 16g"
#: settings as text, so that they go through a command line
REPLAYS = [
    {"order": "least_attained", "preempt": "checkpoint=0,min_run=3,every=4", "share": "slowdown=1"},
    {"order": "multifactor", "queue": "conservative", "backfill": "every=7,whole_nodes=on"},
    {"order": "dominant_share", "queue": "easy", "ladder": "on"},
    {"scaling": "floor=1,boot=9,idle=20", "failures": "mtbf=200,mttr=9", "queue": "strict"},
    {"scaling": "floor=0,boot=9,idle=5,ahead=on,every=10"},
]

_SCRIPT = """
import json, sys
import pandas as pd
from prophase.sim import Cluster, Workload, simulate
jobs, cluster, replays = pd.read_json(sys.argv[1], dtype={"job_id": str}), sys.argv[2], sys.argv[3]
for settings in json.loads(replays):
    a = simulate(Workload.from_jobs(jobs), Cluster.parse(cluster), **settings).attempts
    print(json.dumps([x.tolist() for x in (a.job, a.start_s, a.end_s, a.outcome, a.node)]))
"""


def test_the_loop_decides_the_same_without_being_compiled(tmp_path):
    path = tmp_path / "jobs.json"
    some_jobs().to_json(path)
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCRIPT, str(path), CLUSTER, json.dumps(REPLAYS)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    workload = Workload.from_jobs(some_jobs())
    for replay, line in zip(REPLAYS, told.stdout.splitlines(), strict=True):
        attempts = simulate(workload, Cluster.parse(CLUSTER), **replay).attempts
        columns = (attempts.job, attempts.start_s, attempts.end_s, attempts.outcome, attempts.node)
        assert json.loads(line) == [column.tolist() for column in columns], replay
        assert len(attempts) >= 60


def two_jobs(**columns) -> Workload:
    table = {
        "job_id": ["a", "b"],
        "submit_s": [0.0, 0.0],
        "duration_s": [1000.0, 1000.0],
        "time_limit_s": [1000.0, 1000.0],
        "request_gpus": [1.0, 1.0],
        "user": ["ann", "bob"],
    }
    return Workload.from_jobs(pd.DataFrame({**table, **columns}))


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"preempt": "on", "queue": "easy"}, ParameterError, "queue skip or strict, not easy"),
        ({"backfill": "on"}, ParameterError, "easy or conservative, not skip"),
        (
            {"queue": "easy", "backfill": Backfill(depth=3)},
            ParameterError,
            "go with queue conservative",
        ),
        (
            {"queue": "conservative", "order": "dominant_share"},
            ParameterError,
            "dominant_share does not go with queue conservative",
        ),
        (
            {"order": "fair_share", "order_options": {"charge": "gpu"}},
            ParameterError,
            "Did you mean 'gpus'",
        ),
        (
            {"order": "fair_share", "order_options": {"speed": 1}},
            ParameterError,
            "fair_share has no option 'speed'",
        ),
        ({"order": "tiresias", "order_options": {"threshold": 1}}, ParameterError, "threshold"),
        (
            {"order": "fair_share", "half_life_s": "soon"},
            ParameterError,
            "half_life_s: 'soon'",
        ),
        ({"queue": "easy", "noise": -1.0}, ParameterError, "noise = -1"),
        (
            {"calendar": pd.DataFrame({"node_id": ["GPU-0-node-0"], "from_s": [0.0]})},
            InputError,
            "2 jobs never start.*a, b.*away for good",
        ),
        (
            {"failures": Failures(mtbf_s=100.0, mttr_s=0.0)},
            InputError,
            "2 jobs run far longer than nodes last .mtbf 100 s.*a, b.*preempt checkpoint_s",
        ),
        (
            {"order": "least_attained", "preempt": Preemption(checkpoint_s=600, every_s=60)},
            InputError,
            "without getting on.*min_run of preempt above checkpoint",
        ),
    ],
)
def test_rules_that_cannot_be_followed_are_refused(given, error, said):
    with pytest.raises(error, match=said):
        simulate(two_jobs(), Cluster.parse("1x1"), **given)


def test_jobs_that_save_nothing_may_push_each_other_out_while_others_get_on():
    pushed = Preemption(checkpoint_s=600, restart_s=30, min_run_s=660, every_s=60)
    schedule = simulate(two_jobs(), Cluster.parse("1x1"), order="least_attained", preempt=pushed)
    assert (schedule.attempts.outcome == FINISHED).sum() == 2
    assert len(schedule.attempts) > 2


def crowd(count: int) -> Workload:
    """Make jobs of one or more GPUs, some shared, some in gangs, that do not all fit at once."""
    rng = np.random.default_rng(4)
    gpus = rng.choice([0.0, 0.5, 1.0, 2.0, 4.0, 8.0], count)
    jobs = pd.DataFrame(
        {
            "job_id": np.arange(count).astype(str),
            "submit_s": np.cumsum(rng.integers(0, 60, count)).astype(float),
            "duration_s": rng.integers(1, 4000, count).astype(float),
            "request_gpus": gpus,
            "request_cpu_cores": rng.integers(1, 9, count) * np.maximum(gpus, 1.0),
            "instances": rng.choice([1.0, 2.0], count, p=[0.95, 0.05]),
            "gpu_type": rng.choice(["A", "B", ""], count),
        }
    )
    return Workload.from_jobs(jobs)


@pytest.mark.parametrize("cores", [32.0, 256.0])
@pytest.mark.parametrize("order", ["least_attained", "least_attained_gpu"])
def test_running_jobs_kept_in_order_make_way_as_if_all_were_sorted_anew(
    order, cores, monkeypatch: pytest.MonkeyPatch
):
    nodes = pd.DataFrame(
        {"node_id": list("abcdef"), "gpus": 8.0, "cpu_cores": cores, "gpu_type": list("ABABAB")}
    )
    pushed = Preemption(min_run_s=120, every_s=60)
    rules = {"order": order, "preempt": pushed, "leave_out_unfit": True}

    def attempts():
        return simulate(crowd(400), Cluster.from_nodes(nodes), **rules).attempts

    kept = attempts()
    monkeypatch.setattr(
        "prophase.sim.dynamic_simulation._with_steady_order", lambda setting, *_: setting
    )
    anew = attempts()
    assert len(kept) > 500
    np.testing.assert_array_equal(kept.job, anew.job)
    np.testing.assert_array_equal(kept.node, anew.node)
    np.testing.assert_allclose(kept.start_s, anew.start_s)


def test_usage_counts_in_a_trace_that_begins_before_second_0():
    early = {
        "job_id": ["a", "b", "c"],
        "submit_s": [-100.0, -95.0, -94.0],
        "duration_s": [10.0, 10.0, 10.0],
        "request_gpus": [1.0, 1.0, 1.0],
        "user": ["ann", "ann", "bob"],
    }
    workload = Workload.from_jobs(pd.DataFrame(early))
    schedule = simulate(workload, Cluster.parse("1x1"), order="fair_share")
    assert list(schedule.start_s) == [-100.0, -80.0, -90.0]
