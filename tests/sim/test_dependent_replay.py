"""Jobs that wait for others: releases, circles, and the bounds that theory gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate, simulate_steps


def tasks(parents: dict[str, str], durations: list[float] | None = None, **more) -> Workload:
    table = pd.DataFrame({"job_id": list(parents), "attr_parents": list(parents.values())})
    table["submit_s"], table["request_gpus"] = 0.0, 1.0
    table["duration_s"] = durations or 10.0
    return Workload.from_jobs(table.assign(**more))


def by_id(schedule, what="start_s") -> dict[str, float]:
    return dict(zip(schedule.workload.jobs["job_id"], getattr(schedule, what), strict=True))


DIAMOND = {"a": "", "b": "a", "c": "a", "d": "b c"}


def test_a_job_starts_when_its_last_parent_has_ended():
    schedule = simulate(tasks(DIAMOND), Cluster.parse("1x8"), depends="attr_parents")
    assert by_id(schedule) == {"a": 0.0, "b": 10.0, "c": 10.0, "d": 20.0}
    assert by_id(schedule, "wait_s") == dict.fromkeys("abcd", 0.0)
    assert "3 jobs waiting for others, 3 deep" in schedule.notes[-1]


def test_waiting_for_parents_does_not_count_as_waiting_for_room():
    schedule = simulate(tasks(DIAMOND), Cluster.parse("1x1"), depends="attr_parents")
    assert by_id(schedule) == {"a": 0.0, "b": 10.0, "c": 20.0, "d": 30.0}
    assert by_id(schedule, "wait_s") == {"a": 0.0, "b": 0.0, "c": 10.0, "d": 0.0}


@pytest.mark.parametrize(
    ("parents", "said"),
    [
        ({"a": "a"}, "in a circle.*: a waits for a. Correct attr_parents"),
        ({"a": "c", "b": "a", "c": "b", "d": "c"}, "a waits for c waits for b waits for a"),
        ({f"t{i:02d}": f"t{(i + 1) % 30:02d}" for i in range(30)}, r"waits for \.\.\. waits for"),
    ],
)
def test_a_circle_is_named(parents, said):
    with pytest.raises(InputError, match=said):
        simulate(tasks(parents), Cluster.parse("1x8"), depends="attr_parents")


def test_a_column_that_is_not_there_a_repeated_id_and_a_switch_are_refused():
    cluster = Cluster.parse("1x8")
    with pytest.raises(InputError, match="no column attr_nothing"):
        simulate(tasks(DIAMOND), cluster, depends="attr_nothing")
    with pytest.raises(InputError, match="job_id same stands for several jobs"):
        simulate(tasks(DIAMOND, job_id="same"), cluster, depends="attr_parents")
    with pytest.raises(ParameterError, match="name the column"):
        simulate(tasks(DIAMOND), cluster, depends=True)
    with pytest.raises(InputError, match="think_s of job b is -"):
        simulate(
            tasks(DIAMOND, think_s=[0.0, -1.0, 0.0, 0.0]), cluster,
            depends="column=attr_parents,think=think_s",
        )  # fmt: skip


def test_parents_that_are_not_in_the_trace_count_as_done():
    schedule = simulate(
        tasks({"a": "gone", "b": "a"}), Cluster.parse("1x1"), depends="attr_parents"
    )
    assert by_id(schedule) == {"a": 0.0, "b": 10.0}
    assert "1 named parent not in the trace" in schedule.notes[-1]


def test_users_think_between_the_end_of_a_job_and_the_next_submission():
    # the trace's own submission of b belongs to another cluster
    made = tasks({"a": "", "b": "a"}, submit_s=[0.0, 500.0], think_s=[np.nan, 30.0])
    both = simulate(made, Cluster.parse("1x1"), depends="column=attr_parents,think=think_s")
    assert by_id(both) == {"a": 0.0, "b": 40.0}
    recorded = simulate(made, Cluster.parse("1x1"), depends="attr_parents")
    assert by_id(recorded) == {"a": 0.0, "b": 500.0}


def test_tasks_of_a_run_without_submissions_are_submitted_when_it_began():
    table = pd.DataFrame({"job_id": ["r/a", "r/b"], "parent_id": "r", "attr_parents": ["", "a"]})
    table["start_s"], table["duration_s"], table["request_gpus"] = [100.0, 900.0], 10.0, 1.0
    for run in (simulate, lambda *given, **more: simulate_steps(*given, starts_all, **more)):
        schedule = run(Workload.from_jobs(table), Cluster.parse("1x1"), depends="attr_parents")
        assert by_id(schedule) == {"r/a": 100.0, "r/b": 110.0}
    bare = Workload.from_jobs(table.drop(columns="start_s"), without_clock=True)
    assert simulate(bare, Cluster.parse("1x1"), depends="attr_parents").start_s.tolist() == [0, 10]


def in_turn(state) -> list[int]:
    ids = state.workload.jobs["job_id"]
    return sorted(state.queue, key=lambda job: (state.release_s[job], ids[job]))


def starts_all(state):
    for job in in_turn(state):
        state.start(job)


def strictly(state):
    for job in in_turn(state):
        if not state.start(job):
            break


def drawn(seed: int, *, zero: int = 0) -> Workload:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 15))
    names = [f"j{i:02d}" for i in range(count)]
    parents = {
        name: " ".join(rng.choice(names[:i], min(i, int(rng.integers(4))), replace=False))
        for i, name in enumerate(names)
    }
    whole = {"submit_s": rng.integers(0, 10, count), "request_gpus": rng.integers(1, 3, count)}
    lengths = rng.integers(zero, 10, count).astype(float).tolist()
    return tasks(parents, lengths, **{name: line.astype(float) for name, line in whole.items()})


@pytest.mark.parametrize("seed", range(12))
def test_rounds_of_the_compiled_loop_end_where_the_loop_in_plain_python_does(seed):
    workload = drawn(seed)
    for cluster in map(Cluster.parse, ("1x2", "2x2")):
        for policy, queue in ((starts_all, "skip"), (strictly, "strict")):
            ours = simulate(workload, cluster, queue=queue, depends="attr_parents")
            twin = simulate_steps(workload, cluster, policy, depends="attr_parents")
            assert by_id(ours) == by_id(twin)
            assert by_id(ours, "wait_s") == by_id(twin, "wait_s")


@pytest.mark.parametrize("seed", range(8))
def test_the_makespan_keeps_grahams_bounds(seed):
    """Graham 1966: at most work / m + (1 - 1/m) x the longest chain, whatever the list."""
    single = Workload.from_jobs(drawn(seed).jobs.assign(submit_s=0.0, request_gpus=1.0))
    longest = simulate(single, Cluster.uniform(1, 60), depends="attr_parents").end_s.max()
    gpus = 1 + seed % 4
    made = simulate(single, Cluster.uniform(1, gpus), depends="attr_parents").end_s.max()
    work = single.duration_s.sum() / gpus
    assert max(longest, work) - 1e-6 <= made <= work + (1 - 1 / gpus) * longest + 1e-6


@pytest.mark.parametrize(
    "rules",
    [
        {"queue": "easy", "estimate": "duration_s"},
        {"queue": "conservative", "estimate": "duration_s"},
        {"order": "shortest_remaining", "preempt": "on"},
        {"order": "fair_share"},
    ],
)
def test_every_rule_of_a_replay_goes_with_dependencies(rules):
    parents = {f"j{i:02d}": f"j{i - 3:02d}" if i >= 3 and i % 2 else "" for i in range(20)}
    length = [float(3 + (7 * i) % 11) for i in range(20)]
    workload = tasks(parents, length, request_gpus=[float(1 + i % 3) for i in range(20)])
    schedule = simulate(workload, Cluster.parse("2x3"), depends="attr_parents", **rules)
    start, end = by_id(schedule), by_id(schedule, "end_s")
    assert all(start[job] >= end[parent] for job, parent in parents.items() if parent)
    assert np.isfinite(schedule.end_s).all()
