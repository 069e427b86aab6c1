"""Clusters of several GPU types, taken apart into pools."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.queueing.questions import QueueQuestion, answer_question
from prophase.sim.queueing.typed_pools import typed_pools
from prophase.sim.theory_comparison import schedule_beside_theory
from prophase.trace.trace_tables import Trace


def typed_jobs(gpus=(1,), count: int = 1500, seed: int = 1) -> Workload:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"submit_s": np.sort(rng.uniform(0, 3e5, count))})
    table["duration_s"] = rng.exponential(1500.0, count)
    table["request_gpus"] = rng.choice(np.array(gpus, float), count)
    table["gpu_type"] = rng.choice(["A", "B"], count, p=[0.7, 0.3])
    return Workload.from_jobs(table.assign(job_id=table.index.astype(str)))


@pytest.mark.parametrize("queue", ["skip", "strict"])
def test_jobs_of_one_gpu_wait_in_pools_as_they_do_in_the_replay(queue):
    workload, cluster = typed_jobs(), Cluster.parse("3x2 A, 2x1 B")
    found = typed_pools(workload, cluster, queue=queue)
    assert found.valid
    assert found.wait_s == pytest.approx(simulate(workload, cluster, queue=queue).wait_s)
    assert [pool.strict_limit for pool in found.pools] == pytest.approx([1.0, 1.0], abs=0.01)


def test_gangs_wait_about_as_long_in_pools_and_less_than_twice_as_long():
    workload, cluster = typed_jobs((1, 1, 2, 4)), Cluster.parse("2x8 A, 1x8 B")
    replay = simulate(workload, cluster).wait_s.mean()
    found = typed_pools(workload, cluster)
    assert found.valid
    assert 0.8 * replay < found.wait_s.mean() < 2 * replay
    assert found.pools[0].strict_limit < 1
    strict = typed_pools(workload, cluster, queue="strict")
    assert "lower bound" in strict.verdict()
    assert strict.wait_s.mean() <= simulate(workload, cluster, queue="strict").wait_s.mean()


def test_what_breaks_the_pools_is_named():
    workload = typed_jobs((8,))
    found = typed_pools(workload, Cluster.parse("2x8 A 4c, 1x8 B"), order="shortest")
    assert not found.valid
    assert "ordered by shortest" in found.verdict()
    assert "takes more than half a node" in found.verdict()
    cores = Workload.from_jobs(workload.jobs.assign(request_cpu_cores=64.0))
    short = typed_pools(cores, Cluster.parse("2x8 A 4c, 1x8 B"))
    assert "cores of A nodes run short" in short.verdict()
    free = Workload.from_jobs(workload.jobs.assign(gpu_type="A|B"))
    assert (
        "may run on several GPU types" in typed_pools(free, Cluster.parse("2x8 A, 1x8 B")).verdict()
    )
    small = typed_pools(workload, Cluster.parse("2x8 A, 1x4 B"))
    assert len(small.rows) == (workload.jobs["gpu_type"] == "A").sum()
    assert "left out: no GPU type that they accept has as many GPUs as they ask for" in (
        small.verdict()
    )
    with pytest.raises(InputError, match=r"no pools\. Give more nodes of one type"):
        typed_pools(workload, Cluster.parse("1x4 A, 1x4 B"))
    with pytest.raises(InputError, match="no pools"):
        typed_pools(
            Workload.from_jobs(workload.jobs.assign(request_gpus=0.0)), Cluster.parse("1x1")
        )


def test_the_replay_is_shown_beside_its_pools_and_the_command_says_the_same():
    workload = typed_jobs()
    beside = schedule_beside_theory(simulate(workload, Cluster.parse("3x2 A, 2x1 B")))
    views = {one.view: one.wait_mean_s for one in beside.columns}
    assert views["pools"] == pytest.approx(views["simulation"])
    assert "is within a factor of 1.5" in beside.verdict[-1]
    trace = Trace({"jobs": workload.jobs}, "csv", "")
    asked = QueueQuestion("pools", cluster="3x2 A, 2x1 B")
    told = answer_question(asked, lambda: trace).values
    assert told is not None
    assert told["wait_mean_s"] == pytest.approx(views["pools"])
    with pytest.raises(ParameterError, match="queue 'eesy' is unknown"):
        answer_question(QueueQuestion("pools", cluster="3x2 A", queue="eesy"), lambda: trace)
