from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster
from prophase.sim.cluster_variants import cluster_named, remove_nodes, scaled

MIXED = Cluster.parse("6x8 V100, 3x2 T4, 1x4 P100")


def kinds(cluster: Cluster) -> dict[str, int]:
    return cluster.nodes["gpu_type"].value_counts().to_dict()


def test_the_same_number_of_nodes_is_the_same_cluster():
    assert scaled(MIXED, len(MIXED)) is MIXED
    assert kinds(scaled(MIXED, 20)) == {"V100": 12, "T4": 6, "P100": 2}


@settings(max_examples=25)
@given(st.integers(1, 60))
def test_a_larger_cluster_holds_every_smaller_one(nodes):
    small, large = kinds(scaled(MIXED, nodes)), kinds(scaled(MIXED, nodes + 1))
    assert len(scaled(MIXED, nodes)) == nodes
    assert all(large.get(kind, 0) >= count for kind, count in small.items())


def test_copies_of_nodes_have_names_of_their_own():
    assert scaled(MIXED, 35).nodes["node_id"].is_unique


def test_clusters_are_named_by_size_kind_or_share_of_the_own_nodes():
    assert cluster_named("2x8 V100 + 1x2 T4").gpus == 18
    assert len(cluster_named("own * 0.5", MIXED)) == 5
    assert cluster_named("own", MIXED) is MIXED
    with pytest.raises(InputError, match="no node table"):
        cluster_named("own")
    with pytest.raises(ParameterError, match="at least one node"):
        cluster_named("own*0.01", MIXED)
    with pytest.raises(ParameterError, match="not understood"):
        cluster_named("many")
    assert np.array_equal(scaled(MIXED, 10).matrix, MIXED.matrix)


def test_more_nodes_than_there_are_cannot_be_removed():
    with pytest.raises(
        ParameterError, match=r"has 3 such nodes, not 99\. It has: 6x8 V100, 3x2 T4"
    ):
        remove_nodes(MIXED, "99x2")
    with pytest.raises(ParameterError, match=r"Did you mean 'V100'\?"):
        remove_nodes(MIXED, "2x8 V10")
