from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.rules.node_availability import Autoscaler
from prophase.sim.rules.speed_and_sharing import Sharing
from prophase.sim.signatures import ASK_GPUS, ASK_INSTANCES, GPUS
from prophase.sim.why.counterfactuals import (
    Counterfactual,
    any_type,
    effects_of_removal,
    no_pieces,
    one_by_one,
    twice_the_nodes,
)


def world(cluster: str, **columns: object) -> Counterfactual:
    rows = len(next(value for value in columns.values() if isinstance(value, list)))
    base = {"job_id": [f"j{i}" for i in range(rows)], "submit_s": 0.0, "duration_s": 10.0}
    workload = Workload.from_jobs(pd.DataFrame({**base, **columns}))
    return Counterfactual(workload, Cluster.parse(cluster), {})


def waits(changed: Counterfactual | str) -> list[float]:
    assert isinstance(changed, Counterfactual)
    return simulate(changed.workload, changed.cluster, **changed.settings).wait_s.tolist()


def test_without_pieces_a_job_takes_gpus_wherever_they_are():
    case = world("2x2", request_gpus=[1.0, 1.0, 2.0])
    spread = Counterfactual(case.workload, case.cluster, {"place": "worst_fit"})
    assert waits(spread) == [0, 0, 10]
    assert waits(no_pieces(spread)) == [0, 0, 0]


def test_merged_nodes_keep_every_gpu_and_never_exceed_what_a_node_can_have():
    case = world("50x8 A, 7x4 B, 3x0 B", request_gpus=[8.0, 1.0])
    merged = no_pieces(case)
    assert isinstance(merged, Counterfactual)
    gpus = merged.cluster.matrix[:, GPUS]
    assert gpus.sum() == 50 * 8 + 7 * 4
    assert gpus.max() <= 63
    assert len(merged.cluster) < 12
    assert merged.workload.asks[:, [ASK_GPUS, ASK_INSTANCES]].tolist() == [[1, 8], [1, 1]]


def test_cores_that_one_node_does_not_state_never_limit_the_merged_one():
    nodes = pd.DataFrame({"node_id": ["a", "b"], "gpus": 1.0, "cpu_cores": [4.0, np.nan]})
    case = world("1x1", request_gpus=[1.0, 1.0], request_cpu_cores=100.0)
    merged = no_pieces(Counterfactual(case.workload, Cluster.from_nodes(nodes), {}))
    assert waits(merged) == [0, 0]


def test_with_any_type_a_job_takes_what_is_free():
    case = world("1x1 V100, 1x1 T4", request_gpus=[1.0, 1.0], gpu_type=["V100", "V100"])
    typed = simulate(case.workload, case.cluster)
    assert typed.wait_s.tolist() == [0, 10]
    # the schedule's workload knows types as numbers already
    assert waits(any_type(Counterfactual(typed.workload, case.cluster, {}))) == [0, 0]


def test_instances_on_their_own_lead_back_to_their_job():
    case = one_by_one(world("1x2", request_gpus=[1.0, 1.0], instances=[1, 3]))
    assert isinstance(case, Counterfactual)
    assert case.job_of is not None
    assert case.job_of.tolist() == [0, 1, 1, 1]
    assert case.workload.jobs["job_id"].is_unique


def test_twice_the_nodes_hold_twice_the_jobs():
    assert waits(twice_the_nodes(world("1x1", request_gpus=[1.0, 1.0]))) == [0, 0]


def test_an_effect_is_the_change_of_all_waiting_and_says_what_was_not_run():
    case = world("1x2", request_gpus=[1.0, 2.0, 1.0], submit_s=[0.0, 1.0, 86402.0])
    settings = {"queue": "strict"}
    schedule = simulate(case.workload, case.cluster, **settings)
    effects = {e.change: e for e in effects_of_removal(schedule, case.cluster, settings)}
    assert effects["every node twice"].change_pct.value == pytest.approx(-100)
    assert effects["no quotas"].skipped == "there are no quotas"
    assert effects["no quotas"].change_pct is None
    # only one day had waits: no interval
    assert not effects["every node twice"].change_pct.known
    assert effects["every node twice"].to_dict()["low_pct"] is None


def test_twice_the_nodes_lift_the_autoscalers_ceiling_too():
    case = world("4x1", request_gpus=[1.0, 1.0])
    scaled = Counterfactual(
        case.workload, case.cluster, {"scaling": Autoscaler(floor=1, ceiling=2)}
    )
    doubled = twice_the_nodes(scaled)
    assert isinstance(doubled, Counterfactual)
    assert doubled.settings["scaling"].ceiling == 4


def test_requests_that_sharing_cut_once_are_not_cut_again():
    case = world("1x2", request_gpus=[1.0, 2.0, 1.0])
    settings = {"share": Sharing(per_gpu=2), "place": "first_fit"}
    schedule = simulate(case.workload, case.cluster, **settings)
    assert schedule.wait_s.tolist() == [0, 10, 0]
    effects = {e.change: e for e in effects_of_removal(schedule, case.cluster, settings)}
    # two whole GPUs stay two whole GPUs: pooled or not, the second job waits for the first
    assert effects["GPUs of all nodes pooled"].change_pct.value == 0
