"""Elastic jobs, cohorts of quotas and topology: worked out by hand, and against compiled loops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.attempts import OUT_OF_MEMORY, PREEMPTED, RESIZED
from prophase.sim.measures.time_use import time_by_use
from prophase.sim.rules.demand import PhasedDemand
from prophase.sim.signatures import ASK_MEMORY


def jobs(count: int, **columns) -> Workload:
    table = pd.DataFrame({"job_id": [f"j{i:02d}" for i in range(count)], "submit_s": 0.0})
    table["duration_s"], table["request_gpus"] = 100.0, 1.0
    return Workload.from_jobs(table.assign(**columns))


def drawn(seed: int, count: int = 12) -> Workload:
    rng = np.random.default_rng(seed)
    whole = {
        "submit_s": np.sort(rng.integers(0, 20, count)),
        "duration_s": rng.integers(1, 12, count),
        "instances": rng.integers(1, 4, count),
    }
    queue = rng.choice(["p", "q", "r"], count)
    return jobs(count, queue=queue, **{name: line.astype(float) for name, line in whole.items()})


NODE = Cluster.parse("1x8")


# --- elastic jobs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "end"),
    [
        ("max=4", 25.0),
        # Amdahl: a tenth stays serial
        ("max=8,serial=0.1", 100 * (0.1 + 0.9 / 8)),
        ("max=8,serial=1", 100.0),
    ],
)
def test_a_job_alone_is_as_fast_as_the_curve_says(rule, end):
    assert simulate(jobs(1), NODE, elastic=rule).end_s == pytest.approx([end])


def test_the_run_time_of_the_trace_holds_for_the_gpus_that_a_job_asks_for():
    schedule = simulate(jobs(1, request_gpus=4.0), Cluster.parse("1x2"), elastic="max=4")
    assert schedule.end_s.tolist() == [200.0]
    # Amdahl, serial 0.2: 1 / (0.2 + 0.8 / 2) against 1 / (0.2 + 0.8 / 4)
    slower = simulate(jobs(1, request_gpus=4.0), Cluster.parse("1x2"), elastic="max=4,serial=0.2")
    assert slower.end_s == pytest.approx([100 * 0.6 / 0.4])


def test_with_linear_speed_up_no_gpu_idles_and_no_work_is_lost():
    workload = jobs(5, duration_s=[10.0, 20.0, 30.0, 40.0, 60.0])
    schedule = simulate(workload, NODE, elastic="max=8")
    assert schedule.end_s.max() == pytest.approx(160 / 8)
    held = schedule.occupancy
    assert held.gpus @ held.length_s == pytest.approx(160)


def test_a_newcomer_takes_workers_back_and_changes_cost_a_restart():
    schedule = simulate(jobs(2, submit_s=[0.0, 10.0]), NODE, elastic="max=8,restart=5s")
    # 10 s x 8 workers, 5 s restart, 20 left with 7; then 92.14 left with 8 after another restart
    first = 10 + 5 + 20 / 7
    assert schedule.end_s == pytest.approx([first, first + 5 + (100 - (first - 10)) / 8])
    assert schedule.wait_s == pytest.approx([0.0, 0.0])
    attempts = schedule.attempts
    assert attempts.outcome.tolist().count(RESIZED) == 2
    assert attempts.lost_s.sum() == 10.0
    assert schedule.occupancy.gpus @ time_by_use(schedule)["restarting"] == pytest.approx(5 * 15)


def test_free_workers_wait_for_the_next_change_that_a_job_may_make():
    schedule = simulate(
        jobs(2, duration_s=[10.0, 100.0]), Cluster.parse("1x2"), elastic="every=30s"
    )
    # alone from 10 s on, but resized at 30 s at the earliest
    assert schedule.end_s.tolist() == [10.0, 30.0 + 70 / 2]


def test_measured_speed_ups_are_interpolated_by_kind(tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text("kind,workers,speedup\nx,1,1\nx,4,2.5\n*,1,1\n*,8,8\n")
    made = jobs(2, task=["x", "other"], submit_s=[0.0, 1000.0])
    schedule = simulate(made, NODE, elastic=f"table={path},max=8")
    assert schedule.end_s == pytest.approx([100 / 2.5, 1000 + 100 / 8])
    path.write_text("kind,workers,speedup\nx,1,1\n")
    with pytest.raises(InputError, match="no row of kind 'other'"):
        simulate(made, NODE, elastic=f"table={path}")


@pytest.mark.parametrize("queue", ["skip", "strict"])
@pytest.mark.parametrize("seed", range(4))
def test_jobs_that_cannot_change_run_as_in_the_compiled_loop(seed, queue):
    workload = drawn(seed)
    asked = workload.jobs["instances"]
    fixed = Workload.from_jobs(workload.jobs.assign(attr_min_workers=asked, attr_max_workers=asked))
    elastic = simulate(fixed, Cluster.parse("1x4"), queue=queue, elastic="on")
    rigid = simulate(workload, Cluster.parse("1x4"), queue=queue)
    assert elastic.start_s.tolist() == rigid.start_s.tolist()
    assert "step by step in plain Python" in elastic.notes[-1]


# --- cohorts --------------------------------------------------------------------------------


TEAMS = pd.DataFrame({"queue": ["p", "q"], "cohort": "all", "gpus": [4.0, 4.0]})


def test_a_queue_borrows_what_others_leave_and_gives_it_back():
    # p takes all eight; then q wants its own four
    made = jobs(3, queue=["p", "p", "q"], request_gpus=4.0, submit_s=[0.0, 10.0, 20.0])
    schedule = simulate(made, NODE, cohorts=TEAMS)
    assert schedule.start_s.tolist() == [0.0, 10.0, 20.0]
    # the youngest job of p was stopped, and ran from the beginning once the first had ended
    assert schedule.end_s.tolist() == [100.0, 200.0, 120.0]
    assert schedule.attempts.outcome.tolist().count(PREEMPTED) == 1


def test_nobody_reclaims_for_a_job_beyond_its_own_quota_nor_where_that_is_off():
    wide = jobs(2, queue=["p", "q"], request_gpus=[6.0, 6.0], submit_s=[0.0, 10.0])
    assert simulate(wide, NODE, cohorts=TEAMS).start_s.tolist() == [0.0, 100.0]
    within = jobs(2, queue=["p", "q"], request_gpus=[6.0, 4.0], submit_s=[0.0, 10.0])
    assert simulate(within, NODE, cohorts=TEAMS).start_s.tolist() == [0.0, 10.0]
    patient = TEAMS.assign(reclaim=["true", "false"])
    assert simulate(within, NODE, cohorts=patient).start_s.tolist() == [0.0, 100.0]


def test_borrowing_has_a_limit_and_a_queue_without_a_cohort_lends_nothing():
    made = jobs(3, queue="p", request_gpus=2.0, submit_s=[0.0, 1.0, 2.0])
    assert simulate(made, NODE, cohorts=TEAMS.assign(borrow=0)).start_s.tolist() == [0, 1, 100]
    alone = TEAMS.drop(columns="cohort")
    assert simulate(made, NODE, cohorts=alone).start_s.tolist() == [0, 1, 100]
    assert simulate(made, NODE, cohorts=TEAMS.assign(borrow=2)).start_s.tolist() == [0, 1, 2]


def test_only_as_many_jobs_are_stopped_as_are_needed():
    # seven small jobs of p, three beyond its quota; q needs four GPUs, of which one is free
    made = jobs(8, queue=["p"] * 7 + ["q"], request_gpus=[1.0] * 7 + [4.0],
                submit_s=[float(i) for i in range(8)])  # fmt: skip
    schedule = simulate(made, NODE, cohorts=TEAMS)
    stopped = schedule.attempts.job[schedule.attempts.outcome == PREEMPTED]
    assert sorted(stopped.tolist()) == [4, 5, 6]
    assert schedule.start_s[7] == 7.0


@pytest.mark.parametrize("queue", ["skip", "strict"])
@pytest.mark.parametrize("seed", range(4))
def test_quotas_hold_at_every_instant(seed, queue):
    table = pd.DataFrame(
        {"queue": ["p", "q", "r"], "cohort": ["a", "a", "b"], "gpus": [2.0, 2.0, 3.0]}
    ).assign(borrow=[1.0, np.nan, 0.0])
    schedule = simulate(drawn(seed), NODE, cohorts=table, queue=queue)
    held, names = schedule.occupancy, schedule.workload.jobs["queue"].to_numpy()
    for now in np.unique(held.start_s):
        running = (held.start_s <= now) & (held.end_s > now)
        used = {name: float(held.gpus[running & (names[held.job] == name)].sum()) for name in "pqr"}
        assert used["p"] <= 3
        assert used["p"] + used["q"] <= 4
        assert used["r"] <= 3
    assert np.isfinite(schedule.end_s).all()


def test_one_queue_with_the_whole_cluster_is_the_plain_replay():
    for queue in ("skip", "strict"):
        workload = drawn(5)
        table = pd.DataFrame({"queue": ["p", "q", "r"], "gpus": 100.0})
        lent = simulate(workload, NODE, cohorts=table)
        assert lent.start_s.tolist() == simulate(workload, NODE).start_s.tolist(), queue


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"queue": ["p"]}, "needs the columns queue .* and gpus. It has: queue"),
        ({"queue": ["p"], "gpus": [4]}, "jobs of queue 'q' have no row"),
        ({"queue": ["p", "p"], "gpus": [4, 4]}, "queue p stands twice"),
        ({"queue": ["p", "q"], "gpus": [4, None]}, "gpus of row 2 is empty"),
        ({"queue": ["p", "q"], "gpus": [4, -1]}, "gpus of row 2 is -1"),
        ({"queue": ["p", "q"], "gpus": [4, 1], "reclaim": ["maybe", ""]}, "reclaim is 'maybe'"),
        ({"queue": ["p", "q"], "gpus": [4, 4], "lend": [-1, 0]}, "lend of row 1 is -1"),
        ({"user": ["p"], "gpus": [4]}, "the job table has no column user"),
        ({"queue": ["p", "q"], "gpus": [4, 1]}, "ask for more GPUs than their queue may ever hold"),
    ],
)
def test_a_table_of_cohorts_that_cannot_hold_is_refused(table, said):
    made = jobs(2, queue=["p", "q"], request_gpus=2.0)
    with pytest.raises(InputError, match=said):
        simulate(made, NODE, cohorts=pd.DataFrame(table))


def test_of_borrowed_jobs_the_lowest_priority_goes_first_then_the_youngest():
    made = jobs(4, queue=["p", "p", "p", "q"], request_gpus=[4.0, 2.0, 2.0, 2.0],
                submit_s=[0.0, 1.0, 2.0, 3.0], priority=[5.0, 1.0, 3.0, 0.0])  # fmt: skip
    schedule = simulate(made, NODE, cohorts=TEAMS)
    assert schedule.attempts.job[schedule.attempts.outcome == PREEMPTED].tolist() == [1]
    # with one priority it is the youngest
    level = Workload.from_jobs(made.jobs.assign(priority=1.0))
    schedule = simulate(level, NODE, cohorts=TEAMS)
    assert schedule.attempts.job[schedule.attempts.outcome == PREEMPTED].tolist() == [2]
    # who only reclaims from lower priorities waits for the first job that ends
    meek = simulate(level, NODE, cohorts=TEAMS.assign(reclaim="lower"))
    assert meek.start_s[3] == 100.0


def test_a_queue_lends_no_more_than_it_says():
    made = jobs(3, queue="p", request_gpus=2.0, submit_s=[0.0, 1.0, 2.0])
    assert simulate(made, NODE, cohorts=TEAMS.assign(lend=[4, 2])).start_s.tolist() == [0, 1, 2]
    assert simulate(made, NODE, cohorts=TEAMS.assign(lend=[4, 0])).start_s.tolist() == [0, 1, 100]
    # a quota that is not lent stays free for its owner
    both = jobs(3, queue=["p", "p", "q"], request_gpus=4.0, submit_s=[0.0, 1.0, 2.0])
    assert simulate(both, NODE, cohorts=TEAMS.assign(lend=0)).start_s.tolist() == [0, 100, 2]


def test_a_job_stops_lower_priorities_of_its_own_queue_where_it_may():
    made = jobs(2, queue="p", request_gpus=4.0, submit_s=[0.0, 10.0], priority=[0.0, 9.0])
    table = pd.DataFrame({"queue": ["p"], "gpus": [4.0]})
    assert simulate(made, NODE, cohorts=table).start_s.tolist() == [0.0, 100.0]
    pushed = simulate(made, NODE, cohorts=table.assign(within="lower"))
    assert pushed.start_s.tolist() == [0.0, 10.0]
    assert pushed.end_s.tolist() == [210.0, 110.0]
    backwards = Workload.from_jobs(made.jobs.assign(priority=[9.0, 0.0]))
    waits = simulate(backwards, NODE, cohorts=table.assign(within="lower"))
    assert waits.start_s.tolist() == [0.0, 100.0]


# --- reservations ---------------------------------------------------------------------------


TWO = Cluster.from_nodes(pd.DataFrame({"node_id": ["a", "b"], "gpus": 1.0}))
KEPT = pd.DataFrame({"from_s": [50.0], "to_s": [300.0], "node_id": ["b"], "user": ["ada"]})


def test_reserved_nodes_are_open_to_their_owner_and_to_whoever_ends_before():
    made = jobs(4, user=["bob", "bob", "ada", "bob"], duration_s=[100.0, 40.0, 10.0, 10.0],
                submit_s=[0.0, 0.0, 60.0, 60.0])  # fmt: skip
    schedule = simulate(made, TWO, reservations=KEPT)
    # the second ends at 40 s, before the reservation; then b is for ada alone
    assert schedule.start_s.tolist() == [0.0, 0.0, 60.0, 100.0]
    assert schedule.attempts.node[schedule.attempts.job == 2].tolist() == [1]


def test_whoever_would_run_into_a_reservation_waits_for_its_end():
    made = jobs(2, user="bob", duration_s=[1000.0, 60.0])
    schedule = simulate(made, TWO, reservations=KEPT)
    assert schedule.start_s.tolist() == [0.0, 300.0]
    # a scheduler knows the time limit, not the run time
    limited = Workload.from_jobs(made.jobs.assign(duration_s=[1000.0, 10.0], time_limit_s=60.0))
    assert simulate(limited, TWO, reservations=KEPT).start_s.tolist() == [0.0, 300.0]


def test_a_reservation_for_somebody_without_jobs_is_told() -> None:
    made = jobs(2, user=["bob", "ada"])
    strange = pd.DataFrame({"from_s": [0.0, 9.0], "to_s": [5.0, 20.0], "nodes": [1, 1],
                            "user": ["eve", "ada"]})  # fmt: skip
    notes = simulate(made, TWO, reservations=strange).notes
    assert "reservation 1: for somebody who submits no job here; the nodes stay empty" in notes


@pytest.mark.parametrize("queue", ["skip", "strict"])
@pytest.mark.parametrize("seed", range(3))
def test_reservations_for_everybody_change_nothing(seed, queue):
    workload = Workload.from_jobs(drawn(seed).jobs.assign(user="ada"))
    kept = KEPT.drop(columns="node_id").assign(nodes=1)
    reserved = simulate(workload, Cluster.parse("2x4"), queue=queue, reservations=kept)
    assert reserved.start_s.tolist() == simulate(
        workload, Cluster.parse("2x4"), queue=queue
    ).start_s.tolist()  # fmt: skip


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"from_s": [0], "to_s": [9], "nodes": [1]}, "user, group or queue. It has: from_s"),
        ({"from_s": [9], "to_s": [9], "nodes": [1], "user": ["x"]}, "is no time span"),
        ({"from_s": [0], "to_s": [9], "nodes": [3], "user": ["x"]}, "of row 1 is 3.* up to 2"),
        ({"from_s": [0], "to_s": [9], "node_id": ["z"], "user": ["x"]}, "no node 'z'"),
        ({"from_s": [0], "to_s": [9], "nodes": [1], "group": ["x"]}, "no column group"),
    ],
)
def test_a_reservation_that_cannot_be_kept_is_refused(table, said):
    with pytest.raises(InputError, match=said):
        simulate(jobs(1, user="bob"), TWO, reservations=pd.DataFrame(table))


# --- topology -------------------------------------------------------------------------------


RACKS = Cluster.from_nodes(
    pd.DataFrame({"node_id": list("abcd"), "gpus": 2.0, "rack": ["x", "x", "y", "y"]})
)


def test_a_job_is_packed_on_a_node_then_in_a_rack_and_pays_for_what_it_spans():
    made = jobs(3, instances=[2.0, 4.0, 2.0], submit_s=[0.0, 0.0, 1.0])
    schedule = simulate(made, RACKS, topology="nodes=1.1,domains=1.5")
    # two on one node; four fill the other rack; the last takes the node that is left
    assert schedule.run_s == pytest.approx([100.0, 110.0, 100.0])
    wide = simulate(jobs(1, instances=6.0), RACKS, topology="nodes=1.1,domains=1.5")
    assert wide.run_s == pytest.approx([150.0])


def test_placements_that_spread_pay_more():
    made = jobs(1, instances=2.0)
    spread = simulate(made, RACKS, place="worst_fit", topology="nodes=1.1,domains=1.5,pack=off")
    packed = simulate(made, RACKS, place="worst_fit", topology="nodes=1.1,domains=1.5")
    assert spread.run_s[0] > packed.run_s[0] == 100.0


@pytest.mark.parametrize("seed", range(3))
def test_a_topology_that_costs_nothing_changes_nothing(seed):
    plain = simulate(drawn(seed), RACKS)
    same = simulate(drawn(seed), RACKS, topology="pack=off")
    assert same.start_s.tolist() == plain.start_s.tolist()


def test_a_node_list_without_racks_and_a_far_that_is_nearer_are_refused():
    with pytest.raises(InputError, match=r"no column rack .*\(column=NAME\)"):
        simulate(jobs(1), NODE, topology="nodes=1.1,domains=1.2")
    with pytest.raises(ParameterError, match=r"domains = 1\.1"):
        simulate(jobs(1), RACKS, topology="nodes=1.2,domains=1.1")


# --- what goes together ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"queue": "easy", "estimate": "duration_s"},
            "queue=easy cannot be combined with elastic=",
        ),
        ({"preempt": "on"}, "preempt= cannot be combined with elastic="),
        ({"cohorts": TEAMS}, "cohorts= cannot be combined with elastic="),
        ({"order": "fair_share"}, "order=fair_share, whose keys move with time"),
    ],
)
def test_what_the_loop_would_not_follow_is_refused(more, said):
    with pytest.raises(ParameterError, match=said):
        simulate(jobs(1, queue="p"), NODE, elastic="max=4", **more)


def test_elastic_jobs_may_wait_for_others():
    made = jobs(2, attr_parents=["", "j00"])
    schedule = simulate(made, NODE, elastic="max=4", depends="attr_parents")
    assert schedule.end_s.tolist() == [25.0, 50.0]


# --- what phases need ------------------------------------------------------------------------


def phases(*rows: tuple, ahead: int = 0) -> PhasedDemand:
    table = pd.DataFrame(rows, columns=["job_id", "after_s", "memory_gib", "used_memory_gib"])
    return PhasedDemand(table, ahead)


TEN_GIB = Cluster.parse("1x0 4c 10g")


def held(count: int, **columns) -> Workload:
    return jobs(count, request_gpus=0.0, request_cpu_cores=1.0, request_memory_gib=8.0, **columns)


def test_two_jobs_share_a_node_while_their_phases_let_them():
    by_request = simulate(held(2), TEN_GIB)
    assert by_request.end_s.tolist() == [100.0, 200.0]
    rows = [(job, after, gib, gib) for job in ("j00", "j01") for after, gib in ((0, 8), (40, 2))]
    schedule = simulate(held(2), TEN_GIB, demand=phases(*rows))
    assert schedule.start_s.tolist() == [0.0, 40.0]
    assert schedule.end_s.tolist() == [100.0, 140.0]
    assert schedule.attempts.outcome.tolist().count(RESIZED) == 2
    memory = schedule.attempts.asks[:, ASK_MEMORY] / 1024
    assert memory.tolist() == [8.0, 2.0, 8.0, 2.0]


def test_who_finds_no_room_for_its_next_phase_begins_again_with_the_largest():
    rows = [(job, after, gib, gib) for job in ("j00", "j01") for after, gib in ((0, 2), (40, 6))]
    schedule = simulate(held(2), TEN_GIB, demand=phases(*rows))
    assert schedule.end_s.tolist() == [100.0, 200.0]
    attempts = schedule.attempts
    assert attempts.outcome.tolist().count(OUT_OF_MEMORY) == 1
    assert attempts.lost_s.sum() == 40.0
    assert "1 job found no room for the next phase, 0 jobs took more" in " ".join(schedule.notes)
    # room for the phase to come is held from the start: nobody is killed, one waits
    careful = simulate(held(2), TEN_GIB, demand=phases(*rows, ahead=1))
    assert careful.end_s.tolist() == [100.0, 200.0]
    assert careful.attempts.lost_s.sum() == 0.0


def test_who_takes_more_memory_than_its_phase_holds_is_killed():
    told = phases(("j00", 0, 2, 2), ("j00", 40, 3, 5), ("j00", 60, 7, 7))
    schedule = simulate(held(1), TEN_GIB, demand=told)
    assert schedule.end_s.tolist() == [140.0]
    assert "1 job took more memory than the phase holds" in " ".join(schedule.notes)


@pytest.mark.parametrize("seed", range(6))
def test_phases_that_never_change_are_the_request(seed):
    workload = drawn(seed)
    names = workload.jobs["job_id"]
    table = pd.DataFrame({"job_id": names, "after_s": 0.0, "cpu_cores": 1.0})
    both = [
        simulate(Workload.from_jobs(workload.jobs.assign(request_cpu_cores=cores)), NODE, **rule)
        for cores, rule in ((1.0, {}), (64.0, {"demand": PhasedDemand(table)}))
    ]
    assert both[0].end_s.tolist() == both[1].end_s.tolist()


@pytest.mark.parametrize("seed", range(8))
def test_no_node_ever_holds_more_than_it_has(seed):
    rng = np.random.default_rng(seed)
    count = 30
    workload = held(
        count, submit_s=np.sort(rng.uniform(0, 300, count)), duration_s=rng.uniform(20, 90, count)
    )
    rows = [
        (
            name,
            float(after),
            float(gib := rng.uniform(0.5, 9.0)),
            float(gib * rng.uniform(0.8, 1.1)),
        )
        for name in workload.jobs["job_id"]
        for after in (0, 10, 30, 50)
    ]
    schedule = simulate(workload, TEN_GIB, demand=phases(*rows))
    attempts, gib = schedule.attempts, schedule.attempts.asks[:, ASK_MEMORY] / 1024
    for at in np.unique(attempts.start_s):
        running = (attempts.start_s <= at) & (at < attempts.end_s)
        assert gib[running].sum() <= 10.0
    finished = attempts.end_s - attempts.start_s - attempts.lost_s
    worked = np.bincount(attempts.job, finished, count)
    assert worked == pytest.approx(schedule.workload.duration_s)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"job_id": ["j00"], "memory_gib": [1.0]}, "lacks after_s"),
        ({"job_id": ["j00"], "after_s": [0.0]}, "cpu_cores or memory_gib"),
        (
            {"job_id": ["j00"], "after_s": [0.0], "memory_gib": [-1.0]},
            "memory_gib of job j00 is -1",
        ),
        ({"job_id": ["x"], "after_s": [0.0], "memory_gib": [1.0]}, "names no job of this trace"),
        ({"job_id": ["j00"] * 2, "after_s": [5.0] * 2, "memory_gib": [1.0] * 2}, "at one time"),
    ],
)
def test_a_table_of_phases_that_is_wrong_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        simulate(held(1), TEN_GIB, demand=PhasedDemand(pd.DataFrame(table)))


def test_phases_do_not_go_with_elastic_jobs():
    with pytest.raises(ParameterError, match="elastic= cannot be combined with demand="):
        simulate(jobs(1), NODE, elastic="on", demand=phases(("j00", 0, 1, 1)))
