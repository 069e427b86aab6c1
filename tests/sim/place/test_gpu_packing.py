from __future__ import annotations

import pytest

from prophase.sim import Cluster

NODES = Cluster.parse("1x4, 1x9")
SHARE = {"request_gpus": 0.4}


def test_gpus_in_use_come_before_idle_ones_and_those_before_idle_nodes(rate) -> None:
    begun = [(0, 0b0001, {"request_gpus": 0.3})]
    full = [(0, 0b0001, {"request_gpus": 1.0})]
    # 700 milli are free on the GPU in use; the largest node has 9 GPUs
    assert rate("gpu_packing", NODES, 0, SHARE, begun) == pytest.approx(3 - 700 / 10_000)
    assert rate("gpu_packing", NODES, 0, SHARE, full) == pytest.approx(2 - 1 / 10)
    assert rate("gpu_packing", NODES, 0, SHARE) == pytest.approx(1 - 4 / 10)
    assert rate("gpu_packing", NODES, 1, SHARE) == pytest.approx(1 - 9 / 10)


def test_the_tighter_fit_on_a_gpu_in_use_wins(rate) -> None:
    loose = [(0, 0b0001, {"request_gpus": 0.1})]
    both = [*loose, (0, 0b0010, {"request_gpus": 0.6})]
    assert rate("gpu_packing", NODES, 0, SHARE, both) == pytest.approx(3 - 400 / 10_000)
    assert rate("gpu_packing", NODES, 0, SHARE, both) > rate("gpu_packing", NODES, 0, SHARE, loose)


def test_fewer_idle_gpus_are_begun_if_possible(rate) -> None:
    wide, held = {"request_gpus": 3.0}, [(0, 0b0001, {"request_gpus": 1.0})]
    assert rate("gpu_packing", NODES, 0, wide, held) == pytest.approx(2 - 3 / 10)


def test_a_job_without_a_gpu_rates_all_nodes_alike(rate) -> None:
    job = {"request_gpus": 0.0, "request_cpu_cores": 2.0}
    assert rate("gpu_packing", NODES, 0, job) == rate("gpu_packing", NODES, 1, job)
