from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.oracles import openb as twin

from prophase.errors import InputError, ParameterError
from prophase.papers.openb.protocol import (
    LAST_ARRIVAL_PCT,
    POLICIES,
    arrival_order,
    place_pods,
    pod_classes,
    simulate_openb,
)
from prophase.trace import open_trace

PUBLISHED = {
    "random": "01-Random",
    "dot_product": "02-DotProd",
    "gpu_clustering": "03-GpuClustering",
    "gpu_packing": "04-GpuPacking",
    "best_fit": "05-BestFit",
    "fgd": "06-FGD",
}
MEASURES = ("allocation_pct", "fragmentation_ratio_pct", "fragmentation_amount_pct")


def small_world():
    pods = pd.DataFrame(
        {
            "job_id": ["a", "b", "c"],
            "request_cpu_cores": [4.0, 4.0, 4.0],
            "request_memory_gib": [1.0, 1.0, 1.0],
            "attr_num_gpu": [1, 1, 2],
            "attr_gpu_milli": [500, 1000, 1000],
        }
    )
    nodes = pd.DataFrame(
        {
            "node_id": ["x", "y"],
            "cpu_cores": [16.0, 16.0],
            "memory_gib": [64.0, 64.0],
            "gpus": [2, 2],
            "gpu_type": ["T4", "T4"],
        }
    )
    return pods, nodes


def test_a_pod_that_fits_nowhere_is_dropped_but_counts_as_arrived():
    pods, nodes = small_world()
    arrivals = np.array([2, 2, 0])
    result = simulate_openb(pods, nodes, arrivals=arrivals, node_rank=np.array([0, 1]))
    assert (result.placed, result.dropped) == (2, 1)
    assert result.allocation_pct[100] == 100.0


def test_equal_scores_go_to_the_node_of_smallest_rank():
    pods, nodes = small_world()
    first = simulate_openb(
        pods, nodes, arrivals=np.array([1]), node_rank=np.array([1, 0]), place="best_fit"
    )
    assert first.placed == 1


def test_fragmentation_descent_keeps_a_whole_gpu_for_those_who_need_it():
    pods, nodes = small_world()
    arrivals = np.array([0, 0, 2])
    fgd = simulate_openb(pods, nodes, arrivals=arrivals, node_rank=np.array([0, 1]), place="fgd")
    assert fgd.dropped == 0


def test_unknown_policies_and_foreign_ranks_are_refused():
    pods, nodes = small_world()
    with pytest.raises(ParameterError, match="Did you mean 'best_fit'"):
        simulate_openb(pods, nodes, arrivals=np.array([0]), node_rank=np.arange(2), place="bestfit")
    with pytest.raises(InputError, match="ranks are for 9 nodes"):
        simulate_openb(pods, nodes, arrivals=np.array([0]), node_rank=np.arange(9))


def pod_list(seed: int) -> pd.DataFrame:
    """Return pods like those of the trace, with counts that no list has."""
    rng = np.random.default_rng(seed)
    kinds = [
        *((int(rng.integers(1, 16)) * 500, int(rng.integers(1, 20)) * 50, 1) for _ in range(7)),
        *((int(rng.integers(2, 33)) * 1000, 1000, int(n)) for n in rng.choice([1, 2, 4, 8], 6)),
        *((int(rng.integers(1, 33)) * 1000, 0, 0) for _ in range(2)),
    ]
    weights = rng.dirichlet(np.full(len(kinds), 0.6))
    chosen = [kinds[k] for k in rng.choice(len(kinds), int(rng.integers(50, 400)), p=weights)]
    specs = rng.choice(["", "", "", "A|B", "B", "B|A|B", "Z", "Z|A"], len(chosen))
    cpu, milli, num = np.array(chosen).T
    return pd.DataFrame(
        {
            "request_cpu_cores": cpu / 1000,
            "request_memory_gib": rng.choice([1.0, 4.0, 32.0], len(chosen)),
            "attr_num_gpu": num,
            "attr_gpu_milli": milli,
            "attr_gpu_spec": np.where(num > 0, specs, ""),
            "gpu_type": np.where(num > 0, specs, ""),
        }
    )


def node_list() -> pd.DataFrame:
    gpus = [8, 8, 4, 4, 2, 2, 2, 1]
    return pd.DataFrame(
        {
            "node_id": [f"n{i}" for i in range(len(gpus))],
            "cpu_cores": [64.0, 128.0, 32.0, 64.0, 16.0, 32.0, 96.0, 16.0],
            "memory_gib": 256.0,
            "gpus": gpus,
            "gpu_type": ["A", "B", "A", "B", "C", "A", "B", "C"],
        }
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("place", [p for p in POLICIES if p != "random"])
def test_any_pod_list_is_placed_as_in_the_slow_twin(place: str, seed: int):
    pods, nodes, rng = pod_list(seed), node_list(), np.random.default_rng(seed)
    arrivals, rank = rng.integers(0, len(pods), 160), rng.permutation(len(nodes))
    assert_as_in_the_twin(pods, nodes, arrivals, rank, place)


def varied(pods: pd.DataFrame, kind: str, rng: np.random.Generator) -> pd.DataFrame:
    """Draw a list from the published one with more pods of a kind than it has."""
    gpus, milli = pods["attr_num_gpu"], pods["attr_gpu_milli"]
    more = {
        "shared": pods[(gpus == 1) & (milli < 1000)],
        "several": pods[gpus > 1],
        "no GPU": pods[gpus == 0],
        "typed": pods,
    }[kind]
    parts = [pods.sample(800, random_state=rng), more.sample(160, replace=True, random_state=rng)]
    drawn = pd.concat(parts, ignore_index=True).drop(columns="attr_row")
    specs = pd.Series("", drawn.index)
    if kind == "typed":
        some = rng.choice(["", "", "T4", "G2|T4", "T4|G2", "P100|V100M16|V100M16"], len(drawn))
        specs = specs.where(drawn["attr_num_gpu"] == 0, some)
    columns = "request_cpu_cores request_memory_gib attr_num_gpu attr_gpu_milli".split()
    return drawn[columns].assign(attr_gpu_spec=specs, gpu_type=specs)


@pytest.mark.data
@pytest.mark.parametrize("kind", ["shared", "several", "no GPU", "typed"])
def test_variations_of_the_published_list_fill_the_whole_cluster_as_in_the_slow_twin(openb, kind):
    published, nodes, _, _ = openb
    rng = np.random.default_rng(7)
    pods = varied(published, kind, rng)
    # every twelfth node, so that they are full before the twin has taken minutes
    nodes = nodes.iloc[::12].reset_index(drop=True)
    arrivals, rank = rng.permutation(len(pods)), rng.permutation(len(nodes))
    assert_as_in_the_twin(pods, nodes, arrivals, rank, "fgd")


def assert_as_in_the_twin(pods, nodes, arrivals, rank, place: str) -> None:
    result = simulate_openb(pods, nodes, arrivals=arrivals, node_rank=rank, place=place)
    columns = (
        "request_cpu_cores request_memory_gib attr_num_gpu attr_gpu_milli attr_gpu_spec".split()
    )
    asked = [
        twin.Pod(round(1000 * cpu), int(milli), int(num), spec, round(1024 * memory))
        for cpu, memory, num, milli, spec in pods[columns].itertuples(index=False)
    ]
    ranked = nodes.iloc[np.argsort(rank)]
    empty = [
        twin.Node(
            n.gpu_type, round(1000 * n.cpu_cores), round(1024 * n.memory_gib), (1000,) * int(n.gpus)
        )
        for n in ranked.itertuples()
    ]
    rows = twin.replay(empty, asked, arrivals.tolist(), place)
    starts = place_pods(pods, nodes, arrivals=arrivals, node_rank=rank, place=place, seed=0).starts
    assert starts.node.tolist() == [row["node"] for row in rows]
    gpus = [sum(1 << gpu for gpu in row["gpus"]) for row in rows]
    placed = starts.node >= 0
    assert starts.gpu_bits[placed].tolist() == np.array(gpus)[placed].tolist()
    capacity = 1000.0 * nodes["gpus"].sum()
    arrived = np.cumsum([asked[row].num * asked[row].milli for row in arrivals])
    amount = pd.Series([100 * row["fragmented"] / capacity for row in rows])
    theirs = amount.groupby(np.round(100 * arrived / capacity).astype(int)).mean()
    theirs = theirs[theirs.index <= LAST_ARRIVAL_PCT]
    ours = result.fragmentation_amount_pct[theirs.index]
    assert ours == pytest.approx(theirs.to_numpy(), abs=1e-9)


def test_an_arrival_order_of_another_list_is_not_taken(tmp_path: Path):
    names = [f"{one}_42_{part}" for one in ("a", "b") for part in ("order", "noderank")]
    np.savez(tmp_path / "orders.npz", **{name: np.arange(3) for name in names})
    order, _ = arrival_order(tmp_path / "orders.npz", tmp_path / "openb_pod_list_b.csv", 42)
    assert order.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match=r"none of them for pods\.csv"):
        arrival_order(tmp_path / "orders.npz", tmp_path / "pods.csv", 42)


def test_shares_of_classes_are_rounded_as_in_the_published_runs():
    # 95 of 99 pods are covered: 30 / 99 / (95 / 99) is not 30 / 95
    counts = {1.0: 35, 2.0: 30, 3.0: 30, 4.0: 4}
    cores = [cpu for cpu, count in counts.items() for _ in range(count)]
    pods = pd.DataFrame({"request_cpu_cores": cores, "request_memory_gib": 1.0})
    pods["attr_num_gpu"], pods["attr_gpu_milli"] = 1, 1000
    shares = pod_classes(pods, ["A"])[:, 4]
    assert shares.tolist() == [count / 99 / (95 / 99) for count in (35, 30, 30)]


@pytest.fixture(scope="module")
def openb(shared_data: Path):
    folder = shared_data / "openb"
    pods = open_trace(folder / "openb_pod_list_default.csv", source="openb").jobs
    nodes = open_trace(folder / "openb_node_list_gpu_node.csv", source="openb").nodes
    return (
        pods.sort_values("attr_row").reset_index(drop=True),
        nodes.sort_values("node_id").reset_index(drop=True),
        np.load(folder / "arrival_orders.npz"),
        pd.read_csv(folder / "published_default_seeds42_44.csv"),
    )


def curves(openb, place: str, seed: int):
    pods, nodes, orders, published = openb
    result = simulate_openb(
        pods,
        nodes,
        arrivals=orders[f"default_{seed}_order"].astype(np.int64),
        node_rank=orders[f"default_{seed}_noderank"].astype(np.int64),
        place=place,
        seed=seed,
    )
    chosen = published[(published["policy"] == PUBLISHED[place]) & (published["seed"] == seed)]
    theirs = chosen.set_index("measure").drop(columns=["policy", "seed"]).astype(float)
    return result, theirs


@pytest.mark.data
@pytest.mark.parametrize("seed", [42, 43, 44])
@pytest.mark.parametrize("place", [p for p in POLICIES if p != "random"])
def test_the_published_curves_come_out_at_every_point(openb, place: str, seed: int):
    result, theirs = curves(openb, place, seed)
    for measure in MEASURES:
        ours = getattr(result, measure)
        # published with two decimals: shares of classes that are rounded otherwise show
        assert np.nanmax(np.abs(ours - theirs.loc[measure].to_numpy())) < 0.00501, measure


@pytest.mark.data
def test_random_placement_agrees_in_the_mean(openb):
    for measure, within in (("allocation_pct", 0.4), ("fragmentation_amount_pct", 0.4)):
        both = [curves(openb, "random", seed) for seed in (42, 43, 44)]
        ours = np.mean([getattr(result, measure) for result, _ in both], axis=0)
        theirs = np.mean([theirs.loc[measure] for _, theirs in both], axis=0)
        assert np.nanmax(np.abs(ours - theirs)) < within, measure


@pytest.mark.data
@pytest.mark.parametrize(("name", "classes"), [("default", 35), ("gpuspec20", 102)])
def test_the_number_of_typical_classes_is_the_published_one(shared_data, name, classes):
    folder = shared_data / "openb"
    pods = open_trace(folder / f"openb_pod_list_{name}.csv", source="openb").jobs
    nodes = open_trace(folder / "openb_node_list_gpu_node.csv", source="openb").nodes
    assert len(pod_classes(pods, sorted(set(nodes["gpu_type"].dropna())))) == classes
