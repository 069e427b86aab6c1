from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim.cluster import MOST_NODES, Cluster
from prophase.sim.signatures import CPU, GPUS, MEMORY


@pytest.mark.parametrize("text", [f"{MOST_NODES + 1}x8", f"{MOST_NODES}x8, 1x2", f"{10**18}x1"])
def test_a_cluster_larger_than_any_is_refused_before_it_is_built(text):
    with pytest.raises(ParameterError, match=r"more than the 1,000,000 .* nodes x GPUs"):
        Cluster.parse(text)


def test_the_limit_holds_for_identical_nodes_too():
    with pytest.raises(ParameterError, match="more than the 1,000,000"):
        Cluster.uniform(MOST_NODES + 1, 8)


@pytest.mark.parametrize(
    ("text", "place"), [("1x8 V100, ,2x2", 2), (",1x8", 1), ("1x8,", 2), ("", 1)]
)
def test_an_empty_part_is_named_by_its_place(text, place):
    with pytest.raises(ParameterError, match=f"cluster '{text}': part {place} is empty"):
        Cluster.parse(text)


@pytest.mark.parametrize("text", ["1x8 96x", "1x8 V100 96c 512g 3", "1x8 512g 96c", "1x8 -3c"])
def test_what_is_not_understood_is_shown_with_the_form_it_should_have(text):
    with pytest.raises(ParameterError, match="'50x8 V100 96c 512g, 20x2 T4'"):
        Cluster.parse(text)


@pytest.mark.parametrize(
    ("text", "cores", "gib"),
    [
        ("1x8 V100 96c 512g", 96, 512),
        ("1x8 96c 512g", 96, 512),
        ("1 x 8 V100 1.5C 0.5G", 1.5, 0.5),
        ("1x8 V100 512g", None, 512),
        ("1x0 64c", 64, None),
    ],
)
def test_cores_and_memory_of_a_node_can_be_given(text, cores, gib):
    cluster = Cluster.parse(text)
    free = Cluster.uniform(1, 1).matrix[0]
    assert cluster.matrix[0, CPU] == (free[CPU] if cores is None else 1000 * cores)
    assert cluster.matrix[0, MEMORY] == (free[MEMORY] if gib is None else 1024 * gib)


def test_parts_keep_their_own_cores_gpus_and_types():
    cluster = Cluster.parse("2x8 V100 96c, 1x2 T4")
    assert cluster.matrix[:, GPUS].tolist() == [8, 8, 2]
    assert cluster.matrix[:2, CPU].tolist() == [96_000, 96_000]
    assert cluster.matrix[2, CPU] == Cluster.uniform(1, 1).matrix[0, CPU]
    assert cluster.nodes["node_id"].is_unique
    assert cluster.gpu_types == ("T4", "V100")


def test_an_amount_beyond_all_bounds_does_not_limit():
    cluster = Cluster.parse(f"1x1 {10**25}c {10**25}g")
    assert np.array_equal(cluster.matrix, Cluster.uniform(1, 1).matrix)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("gpus", 1.5, "node b has no whole number of gpus"),
        ("gpus", -1.0, "node b has a negative number of gpus"),
        ("gpus", np.inf, "node b has an infinite number .* of gpus"),
        ("cpu_cores", -4.0, "node b has a negative number of cpu_cores"),
        ("memory_gib", np.inf, "node b has an infinite number"),
    ],
)
def test_nodes_that_cannot_be_are_refused_by_name(column, value, said):
    nodes = pd.DataFrame({"node_id": ["a", "b"], "gpus": 2.0, "cpu_cores": 8.0, "memory_gib": 9.0})
    nodes.loc[1, column] = value
    with pytest.raises(InputError, match=said):
        Cluster.from_nodes(nodes)


@pytest.mark.parametrize("text", ["10x8 inf", "10x8 NaN 64c", "4x8 V100, 2x8 null"])
def test_what_stands_for_no_number_is_no_gpu_type(text):
    with pytest.raises(ParameterError, match="is not understood"):
        Cluster.parse(text)
