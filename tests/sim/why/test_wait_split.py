from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import reasons

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.attempts import FINISHED, PREEMPTED, Attempts
from prophase.sim.schedule import Schedule
from prophase.sim.why import wait_split as splitting
from prophase.sim.why.causes import CAUSES, NAMES
from prophase.sim.why.wait_split import NO_LIMIT, QuotaLimits, split_waits

CODES = {
    code: f"{cause.name} {resource}".strip() for cause in CAUSES for code, resource in cause.fine
}


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    return reasons


def table(**columns: object) -> pd.DataFrame:
    rows = len(next(value for value in columns.values() if isinstance(value, list)))
    base = {"job_id": [f"j{i}" for i in range(rows)], "submit_s": 0.0, "duration_s": 10.0}
    return pd.DataFrame({**base, **columns})


def seconds(jobs: pd.DataFrame, cluster: Cluster, **policies: object) -> dict[str, float]:
    """Return the seconds of every cause that there is."""
    split = split_waits(simulate(Workload.from_jobs(jobs), cluster, **policies))
    totals = dict(zip(NAMES, split.cause_s.sum(axis=0), strict=True))
    return {name: value for name, value in totals.items() if value}


def nodes(**columns: object) -> Cluster:
    rows = len(next(value for value in columns.values() if isinstance(value, list)))
    base = {"node_id": [f"n{i}" for i in range(rows)]}
    return Cluster.from_nodes(pd.DataFrame({**base, **columns}))


def test_a_job_that_finds_every_gpu_taken_waits_for_capacity():
    jobs = table(request_gpus=[1.0, 1.0])
    assert seconds(jobs, Cluster.parse("1x1")) == {"capacity": 10.0}


def test_a_job_that_finds_only_gpus_of_another_type_free_waits_for_the_type():
    jobs = table(request_gpus=[1.0, 1.0], gpu_type=["V100", "V100"])
    assert seconds(jobs, Cluster.parse("1x1 V100, 1x1 T4")) == {"gpu_type": 10.0}


def test_a_job_whose_gpus_are_free_on_different_nodes_waits_for_fragmentation():
    jobs = table(request_gpus=[1.0, 1.0, 2.0])
    cluster = Cluster.parse("2x2")
    assert seconds(jobs, cluster, place="worst_fit") == {"fragmentation": 10.0}


def test_a_share_that_is_free_only_in_pieces_waits_for_fragmentation():
    jobs = table(request_gpus=[0.6, 0.6, 0.7])
    assert seconds(jobs, Cluster.parse("1x2")) == {"fragmentation": 10.0}


def test_a_gang_of_which_one_instance_would_fit_waits_as_a_gang():
    jobs = table(request_gpus=[1.0, 1.0, 2.0], instances=[1, 1, 2])
    cluster = nodes(gpus=[3.0, 3.0], gpu_type="T4")
    assert seconds(jobs, cluster, place="first_fit", queue="skip") == {"gang": 10.0}


def test_a_job_beside_whose_free_gpu_the_cores_are_taken_waits_for_cpu():
    jobs = table(request_gpus=[0.0, 1.0], request_cpu_cores=[3.0, 2.0])
    split = split_waits(
        simulate(Workload.from_jobs(jobs), nodes(gpus=[1.0], cpu_cores=4.0, gpu_type="T4"))
    )
    assert split.fine_s.sum(axis=0)[splitting.reasons.SHORT_CPU] == 10.0


def test_memory_beside_free_gpus_is_told_from_cpu():
    jobs = table(request_gpus=[0.0, 1.0], request_memory_gib=[3.0, 2.0], request_cpu_cores=1.0)
    cluster = nodes(gpus=[1.0], cpu_cores=4.0, memory_gib=4.0, gpu_type="T4")
    split = split_waits(simulate(Workload.from_jobs(jobs), cluster))
    assert split.fine_s.sum(axis=0)[splitting.reasons.SHORT_MEMORY] == 10.0


def test_what_the_head_of_a_strict_queue_holds_up_is_order_and_blamed_on_it():
    jobs = table(request_gpus=[1.0, 2.0, 1.0], submit_s=[0.0, 1.0, 2.0])
    plan = simulate(Workload.from_jobs(jobs), Cluster.parse("1x2"), queue="strict")
    split = split_waits(plan, short_below_s=60.0)
    assert split.cause_s[2].tolist() == [0, 10, 0, 0, 0, 0, 8]
    assert split.blame_s.tolist() == [[0, 0], [8, 0], [0, 0], [0, 0]]


def test_jobs_without_gpus_wait_for_cores_and_their_pieces():
    jobs = table(request_cpu_cores=[3.0, 3.0, 2.0, 4.0], submit_s=[0.0, 0.0, 1.0, 2.0])
    cluster = nodes(cpu_cores=[4.0, 4.0])
    # one core is free on each node: too few in total for four, in pieces for two
    assert seconds(jobs, cluster) == {"capacity": 8.0, "fragmentation": 9.0}


def test_waits_between_attempts_count_from_the_end_of_the_one_before():
    workload = Workload.from_jobs(table(request_gpus=[1.0, 1.0], duration_s=[10.0, 5.0]))
    attempts = Attempts(
        np.array([0, 1, 0]),
        np.array([0.0, 4.0, 9.0]),
        np.array([4.0, 9.0, 15.0]),
        np.array([PREEMPTED, FINISHED, FINISHED], np.int8),
        np.array([0, 1, 2]),
        np.zeros(3, np.int64),
        np.ones(3, np.int64),
    )
    plan = Schedule(workload, Cluster.parse("1x1"), attempts, "fifo", "best_fit", "skip")
    capacity = split_waits(plan).cause_s[:, NAMES.index("capacity")]
    assert capacity.tolist() == [5.0, 4.0]


def test_a_user_at_the_limit_waits_for_the_quota_even_if_the_cluster_is_empty():
    workload = Workload.from_jobs(table(request_gpus=[1.0, 1.0]))
    first = np.array([0, 1])
    attempts = Attempts.single(
        np.array([0.0, 10.0]), np.array([10.0, 20.0]), first, first, np.ones(2, np.int64)
    )
    plan = Schedule(workload, Cluster.parse("2x1"), attempts, "fifo", "best_fit", "skip")
    most = np.array([[1000, NO_LIMIT, NO_LIMIT, NO_LIMIT]])
    split = split_waits(plan, limits=QuotaLimits(np.zeros((2, 1), np.int64), most))
    assert split.cause_s.sum(axis=0).tolist() == [10, 0, 0, 0, 0, 0, 0]
    assert split.limited
    assert split_waits(plan).cause_s.sum(axis=0)[-1] == 10


def test_idle_and_stranded_gpu_hours_stop_at_the_last_submission():
    jobs = table(
        request_gpus=[0.0, 1.0, 1.0],
        request_cpu_cores=[3.0, 2.0, 2.0],
        duration_s=[3600.0, 60.0, 60.0],
        submit_s=[0.0, 0.0, 7200.0],
    )
    cluster = nodes(gpus=[2.0], cpu_cores=4.0, gpu_type="T4")
    split = split_waits(simulate(Workload.from_jobs(jobs), cluster))
    # two GPUs for two hours, of which one was busy for a minute
    assert split.idle_gpu_h.sum() == pytest.approx(4 - 1 / 60)
    # for the first hour a GPU job waited for cores beside both
    assert split.idle_gpu_h[0, 1].sum() == pytest.approx(2)
    assert split.stranded_gpu_h[0].tolist() == [[2, 0], [2, 0]]


def test_an_absent_node_is_neither_idle_nor_free():
    jobs = table(request_gpus=[1.0, 1.0, 1.0], submit_s=[0.0, 0.0, 100.0])
    plan = simulate(Workload.from_jobs(jobs), Cluster.parse("1x1, 1x1"), queue="skip")
    late = Attempts.single(
        np.array([0.0, 10.0, 100.0]),
        np.array([10.0, 20.0, 110.0]),
        np.arange(3),
        np.zeros(3, np.int64),
        np.ones(3, np.int64),
    )
    away = SimpleNamespace(node=np.array([1]), from_s=np.array([-1.0]), to_s=np.array([200.0]))
    shown = SimpleNamespace(
        workload=plan.workload,
        cluster=plan.cluster,
        attempts=late,
        order="fifo",
        wait_s=np.array([0.0, 10.0, 0.0]),
        absences=away,
    )
    split = split_waits(shown)  # type: ignore[arg-type]
    assert split.cause_s.sum(axis=0)[NAMES.index("capacity")] == 10.0
    assert split.idle_gpu_h.sum() * 3600 == pytest.approx(80)


@st.composite
def cases(draw):
    kinds = ["a", "b"]
    machines = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "cpu": st.integers(4, 12),
                    "memory": st.integers(4, 12),
                    "gpus": st.integers(0, 4),
                    "type": st.sampled_from(kinds),
                }
            ),
            min_size=1,
            max_size=5,
        )
    )
    count = draw(st.integers(1, 20))
    jobs = []
    for _ in range(count):
        gpus = draw(st.integers(0, 2))
        whole = gpus != 1 or draw(st.booleans())
        jobs.append(
            {
                "submit": draw(st.integers(0, 25)),
                "duration": draw(st.integers(0, 12)),
                "cpu": draw(st.integers(0, 5)),
                "memory": draw(st.integers(0, 5)),
                "gpus": gpus,
                "milli": 0 if gpus == 0 else 1000 if whole else draw(st.integers(1, 9)) * 100,
                "instances": draw(st.sampled_from([1, 1, 1, 2, 3])),
                "types": draw(st.sampled_from([[], [], ["a"], ["b"], ["a", "b"]])),
                "user": draw(st.sampled_from("xy")),
            }
        )
    return machines, sorted(jobs, key=lambda job: job["submit"])


@settings(max_examples=100)
@given(
    case=cases(),
    queue=st.sampled_from(["skip", "strict", "easy"]),
    order=st.sampled_from(["fifo", "shortest"]),
    limit=st.sampled_from([{}, {"gpu": 1000}, {"jobs": 1}]),
    keep=st.booleans(),
)
def test_the_sweep_agrees_with_its_slow_twin(oracle: ModuleType, case, queue, order, limit, keep):
    machines, jobs = case
    plan = schedule_of(machines, jobs, queue, order)
    if plan is None:
        return
    jobs = [jobs[int(name)] for name in plan.workload.jobs["job_id"]]
    most = np.full((2, 4), NO_LIMIT)
    most[0, 0], most[0, 3] = limit.get("gpu", NO_LIMIT), limit.get("jobs", NO_LIMIT)
    owners = np.array([["xy".index(job["user"])] for job in jobs])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "_CELLS", 1 << 30 if keep else 0)
        split = split_waits(plan, limits=QuotaLimits(owners, most), short_below_s=1e9)
    tries, attempts = plan.attempts, []
    ranks = sorted(
        range(len(jobs)),
        key=lambda j: (jobs[j]["duration"] if order == "shortest" else 0, jobs[j]["submit"], j),
    )
    for row, job in enumerate(tries.job):
        first = tries.first_instance[row]
        spots = range(first, first + jobs[job]["instances"])
        attempts.append(
            {
                "job": int(job),
                "ready": jobs[job]["submit"],
                "start": tries.start_s[row],
                "end": tries.end_s[row],
                "rank": ranks.index(job),
                "used": [
                    (tries.node[s], [g for g in range(63) if int(tries.gpu_bits[s]) >> g & 1])
                    for s in spots
                ],
            }
        )
    expected, blame = oracle.split(jobs, machines, attempts, {"x": limit})
    for mine, theirs in zip(split.fine_s, expected, strict=True):
        assert {CODES[c]: s for c, s in enumerate(mine) if s} == pytest.approx(theirs)
    np.testing.assert_allclose(split.fine_s.sum(axis=1), plan.wait_s)
    blamed = split.blame_s.sum(axis=1)
    assert {j: s for j, s in enumerate(blamed[:-1]) if s} == pytest.approx(
        {j: s for j, s in blame.items() if j is not None}
    )
    assert blamed[-1] == pytest.approx(blame.get(None, 0.0))


def schedule_of(machines, jobs, queue, order) -> Schedule | None:
    frame = pd.DataFrame(
        {
            "job_id": [str(number) for number in range(len(jobs))],
            "submit_s": [float(job["submit"]) for job in jobs],
            "duration_s": [float(job["duration"]) for job in jobs],
            "request_cpu_cores": [job["cpu"] / 1000 for job in jobs],
            "request_memory_gib": [job["memory"] / 1024 for job in jobs],
            "request_gpus": [job["gpus"] * job["milli"] / 1000 for job in jobs],
            "instances": [job["instances"] for job in jobs],
            "gpu_type": ["|".join(job["types"]) for job in jobs],
        }
    )
    cluster = Cluster.from_nodes(
        pd.DataFrame(
            {
                "node_id": [f"n{number}" for number in range(len(machines))],
                "gpus": [float(node["gpus"]) for node in machines],
                "cpu_cores": [node["cpu"] / 1000 for node in machines],
                "memory_gib": [node["memory"] / 1024 for node in machines],
                "gpu_type": [node["type"] for node in machines],
            }
        )
    )
    most = max(node["gpus"] for node in machines)
    frame = frame[frame["request_gpus"] <= most]
    from prophase.errors import InputError

    try:
        return simulate(
            Workload.from_jobs(frame),
            cluster,
            queue=queue,
            order=order,
            estimate="duration_s",
            leave_out_unfit=True,
        )
    except InputError:
        return None
