"""Offered load: what jobs ask for against what there is, and what that means for their waits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.measures.offered_load import offered_loads
from prophase.sim.queueing.assumptions import check_assumptions
from prophase.sim.schedule_result import schedule_result
from prophase.sim.whatif.result import what_if
from prophase.sim.whatif.scenarios import WhatIfQuestion
from prophase.sim.why.explanation import why
from prophase.sim.why.result import why_result


def replay(cluster: str, gpus: float = 1.0, count: int = 101, **columns):
    """Jobs of 1,000 s, one every 100 s: ten run at a time if nobody waits."""
    jobs = pd.DataFrame({"submit_s": 100.0 * np.arange(count), "duration_s": 1000.0})
    jobs["job_id"], jobs["request_gpus"] = [f"j{i:03d}" for i in range(count)], gpus
    return simulate(Workload.from_jobs(jobs.assign(**columns)), Cluster.parse(cluster))


def test_the_load_is_what_would_run_at_once_over_what_there_is():
    (load,) = offered_loads(replay("1x20"))
    assert load.offered == pytest.approx(10.1)
    assert load.share == pytest.approx(0.505)
    assert "overload" not in replay("1x20").metrics()


def test_an_overloaded_cluster_is_told_first_with_backlog_and_what_would_hold():
    schedule = replay("1x4")
    found = schedule.metrics()
    assert found["offered_load_pct"] == {"GPUs": pytest.approx(252.5)}
    assert found["overload"]["needed"] == pytest.approx(10.1)
    # four in each 1,000 s run; what has not started at the last submission waits
    waiting = int((schedule.start_s > 10_000).sum())
    assert found["overload"]["backlog_h"] == pytest.approx(waiting * 1000 / 4 / 3600)
    answer = schedule_result(schedule).answer
    assert answer.startswith("Overloaded: jobs ask for 2.52 times the GPUs there are")
    assert "Only more than 10 GPUs hold this load" in answer
    assert "interval" not in answer
    assert "mean_wait_low_s" not in found
    ended = int((schedule.end_s <= 10_000).sum())
    assert found["overload"]["jobs_ended_per_day"] == pytest.approx(ended * 8.64)
    first = schedule_result(schedule).tables[0]
    assert (first.key, first.rows[0]["value"]) == ("overload", found["overload"]["needed"])


def test_a_burst_has_an_end_and_is_no_overload():
    assert "overload" not in replay("1x1", count=5).metrics()
    jobs = pd.DataFrame({"submit_s": np.linspace(0.0, 1.0, 50), "duration_s": 1000.0})
    jobs["job_id"], jobs["request_gpus"] = jobs.index.astype(str), 1.0
    found = simulate(Workload.from_jobs(jobs), Cluster.parse("1x4")).metrics()
    assert found["offered_load_pct"]["GPUs"] > 1000
    assert "overload" not in found


def test_gpu_types_cores_and_memory_have_loads_of_their_own():
    kinds = np.where(np.arange(101) % 2, "A", "B")
    schedule = replay("2x8 A 8c 64g, 1x2 B 8c 64g", gpu_type=kinds, request_cpu_cores=1.0)
    loads = {load.resource: load.share for load in offered_loads(schedule)}
    assert loads == {
        "GPUs": pytest.approx(10.1 / 18),
        "A GPUs": pytest.approx(5.0 / 16),
        "B GPUs": pytest.approx(5.1 / 2),
        "cores": pytest.approx(10.1 / 24),
    }
    assert schedule.metrics()["overload"]["resource"] == "B GPUs"


def test_every_overloaded_resource_is_told_and_not_only_the_worst():
    kinds = np.where(np.arange(101) % 2, "A", "B")
    schedule = replay("1x4 A 64c, 1x2 B 64c", gpu_type=kinds, request_cpu_cores=1.0)
    found = schedule.metrics()["overload"]
    assert [found["resource"], *(one["resource"] for one in found["also"])] == ["B GPUs", "A GPUs"]
    assert "So it is with the A GPUs (1.25 times, 5 of 4)" in found["said"]
    assert "Only more than 5 B GPUs and 5 A GPUs hold this load" in found["said"]


def test_why_and_what_if_lead_with_an_overload():
    schedule = replay("1x4")
    told = why_result(why(schedule.workload, schedule.cluster, remove=False))
    assert told.answer.startswith("Overloaded: ")
    question = WhatIfQuestion(policies=["shortest"])
    found = what_if(schedule.workload, schedule.cluster, question, {"order": "fifo"}, seeds=0)
    assert found.tables[0].key == told.tables[0].key == "overload"


def test_a_mean_load_beyond_the_servers_is_not_below_them():
    rng = np.random.default_rng(0)
    submit, duration = np.sort(rng.uniform(0, 1e5, 18_000)), rng.exponential(1000.0, 18_000)
    checked, mean, _ = check_assumptions(submit, duration, np.ones(18_000), 120)
    assert mean > 150
    (load,) = [one for one in checked if one.name == "load below the servers"]
    assert not load.holds


def test_a_cluster_that_limits_nothing_says_so():
    schedule = replay("128x0", gpus=0.0, request_cpu_cores=4.0)
    (note,) = [note for note in schedule.notes if "does not limit cores" in note]
    assert "no job waits" in note
    assert "'128x0 16c 64g'" in note
    assert not [n for n in replay("4x0 16c", gpus=0.0, request_cpu_cores=4.0).notes if "limit" in n]


def test_the_page_tells_offered_from_peak_load():
    shown = schedule_result(replay("4x0 16c", gpus=0.0, request_cpu_cores=4.0))
    (numbers,) = [one for one in shown.sections if one.title == "Numbers"]
    (load,) = [one for one in numbers.blocks if getattr(one, "key", "") == "Load"]
    names = [row["measure"] for row in load.rows]
    assert names == ["offered_load_pct.cores", "peak_load_pct.cores"]
