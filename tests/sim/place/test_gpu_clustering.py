from __future__ import annotations

import pytest

from prophase.sim import Cluster

NODES = Cluster.parse("1x40, 1x8")
ONE, TWO, SHARE = {"request_gpus": 1.0}, {"request_gpus": 2.0}, {"request_gpus": 0.5}


def test_company_counts_first_and_fullness_second(rate) -> None:
    two_held, mixed = [(1, 0b11, TWO)], [(1, 0b11, TWO), (1, 0b100, ONE)]
    # on top: 1 - free GPUs / 40, the largest node
    assert rate("gpu_clustering", NODES, 1, TWO, two_held) == pytest.approx(3 + 1 - 6 / 40)
    assert rate("gpu_clustering", NODES, 1, TWO, mixed) == pytest.approx(2 + 1 - 5 / 40)
    assert rate("gpu_clustering", NODES, 1, TWO) == pytest.approx(1 + 1 - 8 / 40)
    assert rate("gpu_clustering", NODES, 1, SHARE, two_held) == pytest.approx(1 - 6 / 40)


def test_forty_jobs_of_one_gpu_are_still_of_one_kind(rate) -> None:
    held = [(0, 1 << gpu, ONE) for gpu in range(39)]
    assert rate("gpu_clustering", NODES, 0, ONE, held) == pytest.approx(3 + 1 - 1 / 40)
    assert rate("gpu_clustering", NODES, 0, SHARE, held) == pytest.approx(1 - 1 / 40)


def test_shares_of_any_size_are_of_one_kind(rate) -> None:
    held = [(1, 0b1, {"request_gpus": 0.2})]
    assert rate("gpu_clustering", NODES, 1, SHARE, held) == pytest.approx(3 + 1 - 7.8 / 40)


def test_a_job_without_a_gpu_rates_all_nodes_alike(rate) -> None:
    job = {"request_gpus": 0.0, "request_cpu_cores": 2.0}
    assert rate("gpu_clustering", NODES, 0, job) == rate("gpu_clustering", NODES, 1, job) == 0
