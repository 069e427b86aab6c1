"""Replays follow a Slurm site's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import slurm as oracle

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Schedule, Workload, simulate
from prophase.sim.slurm_conf import find_conf, slurm_settings

NODES = "NodeName=n[1-4] CPUs=4 RealMemory=4096\n"
ONE = "PartitionName=main Nodes=ALL Default=YES\n"
SCHEDULER = (
    "SchedulerParameters=bf_interval=10,bf_resolution=1,batch_sched_delay=0\n"
    "AccountingStorageEnforce=limits,qos\n"
)


def jobs(*rows: dict[str, Any]) -> pd.DataFrame:
    table = pd.DataFrame(list(rows))
    table["job_id"] = [str(number) for number in range(1, len(rows) + 1)]
    usual = {"submit_s": 0.0, "duration_s": 100.0, "request_cpu_cores": 4.0, "instances": 1.0}
    for name, value in usual.items():
        table[name] = table[name].fillna(value) if name in table else value
    if "time_limit_s" not in table:
        table["time_limit_s"] = table["duration_s"]
    return table.assign(source="sacct", request_memory_gib=0.1)


def replay(folder: Path, text: str, table: pd.DataFrame, **more: Any) -> Schedule:
    (folder / "slurm.conf").write_text(SCHEDULER + NODES + text)
    conf = find_conf(folder)
    nodes = pd.DataFrame({"node_id": [f"n{n}" for n in range(1, 5)], "cpu_cores": 4.0})
    nodes["memory_gib"] = 4.0
    given_settings = slurm_settings(conf, folder) | more
    return simulate(Workload.from_jobs(table), Cluster.from_nodes(nodes), **given_settings)


def starts(schedule: Schedule) -> list[float]:
    return [float(one) for one in schedule.start_s]


def nodes_of(schedule: Schedule) -> list[int]:
    return [int(one) for one in schedule.attempts.node]


def test_jobs_run_on_the_nodes_of_their_partition_alone(tmp_path: Path) -> None:
    text = "PartitionName=big Nodes=n[1-3] Default=YES\nPartitionName=small Nodes=n4\n"
    table = jobs(*[{"queue": "small"}] * 2, {"queue": "big"}, {})
    found = replay(tmp_path, text, table)
    assert starts(found) == [0.0, 100.0, 0.0, 0.0]
    assert [node == 3 for node in nodes_of(found)] == [True, False, False, True]


def test_a_job_beyond_its_partitions_time_limit_is_refused(tmp_path: Path) -> None:
    text = "PartitionName=quick Nodes=n1 MaxTime=10 Default=YES\n"
    table = jobs({"time_limit_s": 3600.0}, {"time_limit_s": 600.0})
    with pytest.raises(InputError, match="above their partition's MaxTime: 1"):
        replay(tmp_path, text, table)
    kept = replay(tmp_path, text, table, leave_out_unfit=True)
    assert len(kept.workload) == 1


def test_other_names_of_a_partition_or_of_our_own_rules_are_refused(tmp_path: Path) -> None:
    text = "PartitionName=big Nodes=n[1-3] Default=YES\nPartitionName=small Nodes=n4\n"
    with pytest.raises(InputError, match=r"a partition that slurm\.conf does not have"):
        replay(tmp_path, text, jobs({"queue": "huge"}))
    with pytest.raises(ParameterError, match=r"place=first_fit cannot be combined .*partitions"):
        replay(tmp_path, text, jobs({}), place="first_fit")
    with pytest.raises(InputError, match=r"OverSubscribe=FORCE:2"):
        replay(tmp_path, "PartitionName=all Nodes=ALL OverSubscribe=FORCE:2\n", jobs({}))


def test_a_higher_tier_goes_first_and_does_not_hold_up_other_partitions(tmp_path: Path) -> None:
    text = (
        "PartitionName=low Nodes=n1 PriorityTier=1 Default=YES\n"
        "PartitionName=high Nodes=n1 PriorityTier=5\nPartitionName=other Nodes=n2\n"
    )
    table = jobs({"queue": "low"}, {"queue": "low"}, {"queue": "high"}, {"queue": "other"})
    table["submit_s"] = [0.0, 1.0, 2.0, 3.0]
    assert starts(replay(tmp_path, text, table)) == [0.0, 200.0, 100.0, 3.0]


def test_ends_that_lie_close_together_are_planned_as_one(tmp_path: Path) -> None:
    limits = [100.0, 185.0, 230.0, 100.0, 210.0]
    table = jobs(*({"time_limit_s": limit} for limit in limits))
    table["instances"] = [1.0, 1.0, 1.0, 3.0, 1.0]
    table["submit_s"] = [0.0, 0.0, 0.0, 1.0, 3.0]
    # three nodes are believed free at 185 s; Slurm plans for 230 s, the last end of that window,
    # and the last job, believed to end at 220 s, need not wait
    assert starts(replay(tmp_path, ONE, table)) == [0.0, 0.0, 0.0, 100.0, 10.0]
    linear = SCHEDULER.replace("bf_interval", "bf_window_linear=10,bf_interval")
    assert starts(replay(tmp_path, linear + ONE, table)) == [0.0, 0.0, 0.0, 100.0, 100.0]


def test_a_short_job_is_backfilled_and_a_long_one_waits(tmp_path: Path) -> None:
    table = jobs(
        {"instances": 3.0, "duration_s": 100.0},
        {"instances": 4.0, "duration_s": 50.0},
        {"duration_s": 89.0},
        {"duration_s": 60.0},
    )
    table["submit_s"] = [0.0, 1.0, 2.0, 3.0]
    # the first pass of the clock is at 10 s: 89 s end before the first job, 60 s find no node
    assert starts(replay(tmp_path, ONE, table)) == [0.0, 100.0, 10.0, 150.0]


def qos(folder: Path, *rows: str) -> None:
    head = "Name|Priority|Preempt|PreemptMode|GrpTRES|GrpJobs|MaxTRESPU|MaxJobsPU|MaxWall\n"
    (folder / "qos.txt").write_text(head + "".join(f"{row}\n" for row in rows))


def test_limits_of_a_quality_of_service_hold_jobs_back(tmp_path: Path) -> None:
    qos(tmp_path, "normal|0|||||||", "few|0||||||1|", "small|0|||cpu=4||||")
    table = jobs(*({"attr_qos": name} for name in ("few", "few", "small", "small")))
    table["user"] = "ann"
    assert starts(replay(tmp_path, ONE, table)) == [0.0, 100.0, 0.0, 100.0]
    table["user"] = ["ann", "bob", "ann", "bob"]
    assert starts(replay(tmp_path, ONE, table)) == [0.0, 0.0, 0.0, 100.0]


def test_limits_of_accounts_hold_for_all_users_below(tmp_path: Path) -> None:
    (tmp_path / "assoc.txt").write_text(
        "Account|User|Share|GrpTRES|GrpJobs|MaxJobs\nroot||1|||\nbio||1|cpu=8||\n"
        "bio|ann|1|||1\nbio|bob|1|||\n"
    )
    table = jobs({"user": "ann"}, {"user": "ann"}, {"user": "bob"}, {"user": "bob"})
    table["group"] = "bio"
    assert starts(replay(tmp_path, ONE, table)) == [0.0, 100.0, 0.0, 100.0]


def test_preemption_goes_with_backfilling_and_requeues(tmp_path: Path) -> None:
    qos(tmp_path, "normal|10|||||||", "scavenger|0||requeue|||||", "urgent|100|scavenger||||||")
    text = ONE + "PreemptType=preempt/qos\nPreemptMode=REQUEUE\n"
    table = jobs(*[{"attr_qos": "scavenger"}] * 4, {"attr_qos": "urgent", "submit_s": 30.0})
    found = replay(tmp_path, text, table)
    first = found.attempts
    assert first.start_s[first.job == 4].tolist() == [30.0]
    preempted = first.job[first.outcome == 1]
    assert len(preempted) == 1
    # a requeued job waits 121 s at least, for its credential to expire
    again = first.start_s[(first.job == preempted[0]) & (first.outcome == 0)]
    assert again.tolist() == [151.0]


def test_partitions_of_a_higher_tier_preempt_and_cancel(tmp_path: Path) -> None:
    text = (
        "PartitionName=low Nodes=n1 PriorityTier=1 Default=YES PreemptMode=CANCEL\n"
        "PartitionName=high Nodes=n1 PriorityTier=2\n"
        "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
    )
    table = jobs({"queue": "low"}, {"queue": "high", "submit_s": 20.0})
    found = replay(tmp_path, text, table).attempts
    assert found.start_s.tolist() == [0.0, 20.0]
    assert found.end_s.tolist() == [20.0, 120.0]


def test_dependencies_arrays_begin_times_and_reservations(tmp_path: Path) -> None:
    (tmp_path / "reservations.txt").write_text(
        "ReservationName=mine StartTime=1970-01-01T00:00:00 EndTime=1970-01-01T00:10:00 "
        "Nodes=n1 Users=ann\n"
    )
    table = jobs(
        {"attr_reservation": "mine"},
        {"attr_dependency": "afterok:1"},
        {"attr_begin_s": 30.0},
        *[{"parent_id": "7", "attr_array_throttle": 1.0, "duration_s": 20.0}] * 3,
    )
    found = replay(tmp_path, ONE, table)
    assert starts(found) == [0.0, 100.0, 30.0, 0.0, 20.0, 40.0]
    assert nodes_of(found)[0] == 0
    assert 0 not in nodes_of(found)[1:]


def test_dependencies_and_throttles_are_read_from_the_submit_line(tmp_path: Path) -> None:
    table = jobs(
        {"attr_submit_line": "sbatch -N1 run.sh"},
        {"attr_submit_line": "sbatch --dependency=afterany:1 run.sh"},
        {"attr_submit_line": "sbatch --array=1-2%1 run.sh", "parent_id": "3"},
        {"attr_submit_line": "sbatch --array=1-2%1 run.sh", "parent_id": "3"},
    )
    assert starts(replay(tmp_path, ONE, table)) == [0.0, 100.0, 0.0, 100.0]


def test_light_nodes_are_filled_first_and_features_are_kept(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(SCHEDULER + NODES + ONE)
    nodes = pd.DataFrame({"node_id": ["n1", "n2", "n3"], "cpu_cores": 4.0, "memory_gib": 4.0})
    nodes["attr_weight"], nodes["features"] = [30.0, 10.0, 20.0], ["", "", "fast"]
    table = jobs({}, {"attr_features": "fast"}, {}).assign(duration_s=10.0)
    (tmp_path / "slurm.conf").write_text(
        SCHEDULER + "NodeName=n[1-3] CPUs=4\nPartitionName=all Nodes=ALL\n"
    )
    chosen = slurm_settings(find_conf(tmp_path), tmp_path)
    found = simulate(Workload.from_jobs(table), Cluster.from_nodes(nodes), **chosen)
    assert nodes_of(found) == [1, 2, 0]


def test_included_files_and_node_sets_are_read(tmp_path: Path) -> None:
    (tmp_path / "nodes.conf").write_text(
        "NodeName=a[1-2] CPUs=2 Feature=fast\nNodeName=b1 CPUs=2\n"
    )
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=x\nInclude /etc/slurm/nodes.conf\nNodeSet=quick Feature=fast\n"
        "PartitionName=q Nodes=quick\nPartitionName=all Nodes=ALL Default=YES\n"
    )
    rules = slurm_settings(find_conf(tmp_path), tmp_path)["slurm"]
    assert rules.partitions["q"].nodes == ("a1", "a2")
    assert rules.default_partition == "all"
    (tmp_path / "nodes.conf").unlink()
    with pytest.raises(InputError, match=r"slurm\.conf line 2: includes .*nodes\.conf"):
        find_conf(tmp_path)


def test_what_is_not_followed_is_listed(tmp_path: Path) -> None:
    found = replay(tmp_path, ONE + "Licenses=matlab:4\nJobSubmitPlugins=lua\n", jobs({}))
    assert "not followed: licences" in found.notes
    assert any("job_submit" in note for note in found.notes)


def test_every_setting_that_is_not_followed_is_named(tmp_path: Path) -> None:
    (tmp_path / "qos.txt").write_text("Name|GrpTRES|GrpTRESMins\nnormal|license/x=2|cpu=100\n")
    text = (
        ONE + "PriorityFlags=MAX_TRES,NO_FAIR_TREE\nPreemptParameters=youngest_first\n"
        "TopologyPlugin=topology/block\nMCSPlugin=mcs/none\nNodeName=n9 CPUs=4 State=DOWN\n"
        "PartitionName=slow Nodes=n1 GraceTime=60\n"
    )
    (tmp_path / "slurm.conf").write_text(NODES + text + "SchedulerParameters=bf_one_resv_per_job\n")
    said = " | ".join(slurm_settings(find_conf(tmp_path), tmp_path)["slurm"].left_out)
    for word in ("PriorityFlags=MAX_TRES", "PreemptParameters", "TopologyPlugin=block", "n9"):
        assert word in said
    assert "partition slow: GraceTime=60" in said
    assert "SchedulerParameters: bf_one_resv_per_job" in said
    assert "MCS" not in said
    assert "AccountingStorageEnforce has no limits" not in said
    enforced = NODES + ONE + "AccountingStorageEnforce=safe\n"
    (tmp_path / "slurm.conf").write_text(enforced)
    said = " | ".join(slurm_settings(find_conf(tmp_path), tmp_path)["slurm"].left_out)
    assert "GrpTRESMins of QOS" in said
    assert "GrpTRES of QOS: license/x" in said


def test_limits_hold_nobody_back_where_slurm_does_not_enforce_them(tmp_path: Path) -> None:
    qos(tmp_path, "normal|0||||||1|")
    table = jobs({"user": "ann"}, {"user": "ann"})
    assert starts(replay(tmp_path, ONE, table)) == [0.0, 100.0]
    found = replay(tmp_path, ONE + "AccountingStorageEnforce=associations\n", table)
    assert starts(found) == [0.0, 0.0]
    assert any("AccountingStorageEnforce has no limits" in note for note in found.notes)


FAIR = (
    "PriorityType=priority/multifactor\nPriorityWeightFairshare=1000\nPriorityCalcPeriod=00:01:00\n"
)


@pytest.mark.parametrize("enforced", [True, False])
def test_without_enforced_limits_an_end_between_evaluations_is_not_charged(
    tmp_path: Path, enforced: bool
) -> None:
    # ann's jobs end before priorities are evaluated again, bob's runs on
    table = jobs(
        *[{"user": "ann", "duration_s": 50.0}] * 3,
        {"user": "bob", "duration_s": 500.0},
        {"user": "eve", "submit_s": 55.0, "instances": 3.0, "duration_s": 40.0},
        {"user": "bob", "submit_s": 61.0, "instances": 3.0},
        {"user": "ann", "submit_s": 62.0, "instances": 3.0},
    )
    text = ONE + FAIR + ("" if enforced else "AccountingStorageEnforce=associations\n")
    found = starts(replay(tmp_path, text, table))
    used_less = "bob" if enforced else "ann"
    assert (found[6] < found[5]) == (used_less == "ann")


def test_shares_go_by_the_tree_of_accounts(tmp_path: Path) -> None:
    (tmp_path / "assoc.txt").write_text(
        "Account|User|Par Name|Share\nroot|||1\nphysics||root|90\nbio||root|10\n"
        "lab||physics|1\nlab|ann||1\nbio|bob||1\n"
    )
    (tmp_path / "slurm.conf").write_text(NODES + ONE + FAIR)
    shares = slurm_settings(find_conf(tmp_path), tmp_path)["shares"].set_index(["account", "user"])
    assert shares.loc[("lab", ""), "parent"] == "physics"
    assert shares.loc[("physics", ""), "parent"] == ""
    table = jobs(*[{"user": name} for name in ("ann", "bob") for _ in range(6)])
    found = starts(replay(tmp_path, ONE + FAIR, table))
    assert sum(found[:6]) < sum(found[6:]), "a lab of a large account goes before a small account"


@settings(max_examples=40)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "gap": st.integers(0, 12),
                "duration": st.integers(1, 60),
                "slack": st.integers(0, 60),
                "cores": st.integers(1, 4),
                "nodes": st.integers(1, 3),
                "partition": st.sampled_from(["a", "b"]),
                "key": st.integers(0, 3),
            }
        ),
        min_size=1,
        max_size=18,
    ),
    st.sampled_from([1, 5]),
)
def test_jobs_start_when_and_where_the_slow_twin_starts_them(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[dict[str, Any]], resolution: int
) -> None:
    folder = tmp_path_factory.mktemp("site")
    submit = np.cumsum([one["gap"] for one in drawn]).astype(float)
    table = pd.DataFrame(
        {
            "job_id": [f"{number:03d}" for number in range(len(drawn))],
            "submit_s": submit,
            "duration_s": [float(one["duration"]) for one in drawn],
            "time_limit_s": [float(one["duration"] + one["slack"]) for one in drawn],
            "request_cpu_cores": [float(one["cores"]) for one in drawn],
            "instances": [float(one["nodes"]) for one in drawn],
            "queue": [one["partition"] for one in drawn],
            "rank": [float(one["key"]) for one in drawn],
            "source": "sacct",
        }
    )
    (folder / "slurm.conf").write_text(
        f"SchedulerParameters=bf_interval=10,bf_resolution={resolution},batch_sched_delay=0\n"
        "NodeName=n[1-4] CPUs=4\nPartitionName=a Nodes=ALL Default=YES PriorityTier=1\n"
        "PartitionName=b Nodes=n[2-4] PriorityTier=2\n"
    )
    chosen = slurm_settings(find_conf(folder), folder) | {"order": "column:rank"}
    nodes = pd.DataFrame({"node_id": [f"n{n}" for n in range(1, 5)], "cpu_cores": 4.0})
    found = simulate(Workload.from_jobs(table), Cluster.from_nodes(nodes), **chosen)
    told = oracle.replay(
        [
            {
                "submit": float(submit[number]),
                "duration": one["duration"],
                "limit": one["duration"] + one["slack"],
                "cores": one["cores"],
                "nodes": one["nodes"],
                "partition": one["partition"],
                "key": one["key"],
            }
            for number, one in enumerate(drawn)
        ],
        [4] * 4,
        {"a": [0, 1, 2, 3], "b": [1, 2, 3]},
        every=10,
        depth=500,
        resolution=resolution,
        tiers={"a": 1, "b": 2},
    )
    attempts = found.attempts
    for row, job in enumerate(attempts.job):
        first = attempts.first_instance[row]
        mine = attempts.node[first : first + drawn[job]["nodes"]]
        assert (attempts.start_s[row], sorted(mine)) == (told[job][0], sorted(told[job][1]))
