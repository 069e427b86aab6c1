from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.trace.synth.cluster import make_cluster

KEYS = ["gpu_type", "gpus", "cpu_cores", "memory_gib"]


def counted(nodes: pd.DataFrame) -> pd.Series:
    known = nodes.assign(gpu_type=nodes["gpu_type"].fillna("none"))
    return known.groupby(KEYS).size()


@pytest.mark.parametrize(
    ("like", "nodes", "gpus", "cores", "types"),
    [
        ("pai", 1897, 6742, 156_576, 5),
        ("openb", 1213, 6212, 107_018, 7),
        ("small", 12, 46, 1024, 5),
    ],
)
def test_totals_are_those_of_the_real_clusters(
    like: str, nodes: int, gpus: int, cores: int, types: int
) -> None:
    table = make_cluster(like).nodes
    assert len(table) == nodes
    assert table["gpus"].sum() == gpus
    assert table["cpu_cores"].sum() == cores
    assert table["gpu_type"].nunique() == types


def test_pai_has_the_machines_of_the_trace_owner() -> None:
    per_type = (
        make_cluster("pai")
        .nodes.assign(gpu_type=lambda nodes: nodes["gpu_type"].fillna("CPU"))["gpu_type"]
        .value_counts()
    )
    assert per_type.to_dict() == {
        "P100": 798, "T4": 497, "MISC": 280, "V100M32": 135, "V100": 104, "CPU": 83,
    }  # fmt: skip


@pytest.mark.parametrize("scale", [0.001, 0.01, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("like", ["pai", "openb", "small"])
def test_a_scaled_cluster_keeps_its_types_and_nearly_its_mix(like: str, scale: float) -> None:
    whole, part = make_cluster(like).nodes, make_cluster(like, scale=scale).nodes
    assert set(part["gpu_type"].dropna()) == set(whole["gpu_type"].dropna())
    assert abs(len(part) - scale * len(whole)) <= 7
    if scale >= 0.1 and like != "small":
        per_node = part["gpus"].sum() / len(part)
        assert abs(per_node / (whole["gpus"].sum() / len(whole)) - 1) < 0.05


def test_nodes_without_gpus_have_no_type() -> None:
    nodes = make_cluster("pai").nodes
    assert (nodes["gpu_type"].isna() == (nodes["gpus"] == 0)).all()


def test_types_are_not_in_blocks() -> None:
    types = make_cluster("pai").nodes["gpu_type"].fillna("CPU")
    assert (types != types.shift()).sum() > 800


@pytest.mark.data
def test_pai_nodes_equal_the_real_machine_list(shared_data: Path) -> None:
    spec = shared_data / "pai" / "pai_machine_spec.csv"
    names = ["node_id", "gpu_type", "cpu_cores", "memory_gib", "gpus"]
    real = pd.read_csv(spec, header=None, names=names)
    real["gpu_type"] = real["gpu_type"].where(real["gpus"] > 0)
    assert counted(make_cluster("pai").nodes).to_dict() == counted(real).to_dict()


@pytest.mark.data
def test_openb_nodes_have_the_real_totals_per_type(shared_data: Path) -> None:
    real = pd.read_csv(shared_data / "openb" / "openb_node_list_gpu_node.csv")
    nodes = make_cluster("openb").nodes
    assert nodes["gpus"].sum() == real["gpu"].sum()
    assert nodes["cpu_cores"].sum() == real["cpu_milli"].sum() / 1000
    ours = nodes.groupby("gpu_type")["gpus"].sum().to_dict()
    assert ours == real.groupby("model")["gpu"].sum().to_dict()
