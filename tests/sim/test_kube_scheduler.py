"""Our Kubernetes placements against the real kube-scheduler; 1,000 pods are a benchmark."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from tests.sim.kube_scheduler import (
    STRATEGIES,
    add_nodes,
    compared,
    nodes_of,
    pods_of,
    scheduled,
    site,
)
from tools.kubernetes_referee import KubernetesReferee, KubernetesSite

NODES = nodes_of(8)


@pytest.fixture(scope="module")
def kube(kube_of: Callable[[KubernetesSite], KubernetesReferee]) -> KubernetesReferee:
    found = kube_of(site())
    add_nodes(found, NODES)
    return found


@pytest.mark.parametrize("place", STRATEGIES)
def test_every_decision_of_the_real_scheduler_is_one_of_ours(
    kube: KubernetesReferee, place: str
) -> None:
    pods = pods_of(seed=1, count=90)
    found = compared(NODES, pods, scheduled(kube, pods, place), place)
    assert found.room_differs == ()
    assert found.place_differs == ()
    assert found.agreed == found.bound
    assert 20 < found.bound < found.pods


@pytest.mark.parametrize("place", STRATEGIES)
def test_a_wrong_decision_is_noticed(place: str) -> None:
    nodes = nodes_of(4)
    pods = pods_of(seed=2, count=3)
    pods[["request_cpu_cores", "request_memory_gib", "request_gpus"]] = (8.0, 8.0, 0.0)
    full = dict.fromkeys(pods["job_id"], "n001")
    found = compared(nodes, pods, full, place)
    # spread over all nodes, or packed on the smallest: not all on the second
    assert found.place_differs
    assert compared(nodes, pods, dict.fromkeys(full), place).room_differs == tuple(full)


def test_scores_are_whole_points_as_in_kubernetes() -> None:
    from prophase.sim import Cluster, Workload
    from prophase.sim.stepwise import instants, open_state

    nodes = pd.DataFrame({"node_id": ["a"], "cpu_cores": [3.0], "memory_gib": [7.0], "gpus": [4.0]})
    pods = pods_of(seed=0, count=2)
    pods[["request_cpu_cores", "request_memory_gib", "request_gpus"]] = [[1, 2, 1], [1, 2, 0]]
    for place, points in (("least_allocated", (70, 68)), ("most_allocated", (28, 30))):
        state = open_state(
            Workload.from_jobs(pods), Cluster.from_nodes(nodes),
            place=place, leave_out_unfit=False, seed=0,
        )  # fmt: skip
        next(instants(state))
        # least: (66 + 71 + 75) // 3 and (66 + 71) // 2; most: (33 + 28 + 25) // 3, (33 + 28) // 2
        assert (state.score(0, 0), state.score(1, 0)) == points
