from __future__ import annotations

import pandas as pd
import pytest

from prophase.sim import Cluster

NODES = Cluster.from_nodes(
    pd.DataFrame({"node_id": ["a", "b"], "gpus": [4.0, 8.0], "cpu_cores": [64.0, 32.0]})
)


def test_shares_of_the_largest_node_are_multiplied(rate) -> None:
    job = {"request_gpus": 2.0, "request_cpu_cores": 16.0}
    # node a: all of 64 cores and half of 8 GPUs free; the job asks for a quarter of each
    assert rate("dot_product", NODES, 0, job) == pytest.approx(-(1 * 0.25 + 0.5 * 0.25))
    # node b: half of the cores and all GPUs
    assert rate("dot_product", NODES, 1, job) == pytest.approx(-(0.5 * 0.25 + 1 * 0.25))


def test_what_is_in_use_does_not_count(rate) -> None:
    job = {"request_gpus": 0.5, "request_cpu_cores": 0.0}
    held = [(1, 0b11, {"request_gpus": 2.0, "request_cpu_cores": 0.0})]
    assert rate("dot_product", NODES, 1, job, held) == pytest.approx(-0.75 * 0.0625)


def test_cores_that_nobody_states_weigh_nothing(rate) -> None:
    plain = Cluster.uniform(2, 8)
    job = {"request_gpus": 4.0, "request_cpu_cores": 16.0}
    assert rate("dot_product", plain, 0, job) == pytest.approx(-0.5, abs=1e-6)
