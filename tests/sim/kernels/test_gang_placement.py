"""Room for gangs is never counted too low, so that no gang that fits is refused."""

from __future__ import annotations

import numpy as np
import pytest

from prophase.sim import signatures as s
from prophase.sim.array_groups import held
from prophase.sim.kernels.gang_placement import may_fit
from prophase.sim.kernels.node_resources import fits, most_on, take
from prophase.sim.kernels.score_trees import (
    ROOM,
    ROOM_ROW,
    ROOM_SEEN,
    SCAN,
    TREE,
    TREE_COLUMNS,
    ScoreTrees,
    note_change,
)
from prophase.sim.place.tightest_gpu import tightest_gpu

GPUS = 4


def drawn_nodes(rng: np.random.Generator, count: int) -> s.Ints:
    """Return nodes of which something is used already."""
    nodes = np.zeros((count, s.FREE_SHARE + GPUS), np.int64)
    nodes[:, s.GPUS] = GPUS
    nodes[:, s.FREE_CPU] = rng.integers(0, 40, count)
    nodes[:, s.FREE_MEMORY] = rng.integers(0, 40, count)
    shares = rng.choice([0, 250, 500, 700, 1000], (count, GPUS))
    nodes[:, s.FREE_SHARE :] = shares
    nodes[:, s.FREE_GPU] = shares.sum(axis=1)
    nodes[:, s.FREE_WHOLE] = (shares == 1000).sum(axis=1)
    return nodes


def drawn_gang(rng: np.random.Generator) -> s.Ints:
    asks = np.zeros((1, s.ASK_COLUMNS), np.int64)
    asks[0, s.ASK_CPU], asks[0, s.ASK_MEMORY] = rng.integers(0, 6, 2)
    asks[0, s.ASK_GPUS] = rng.integers(0, 3)
    asks[0, s.ASK_MILLI] = rng.choice([250, 300, 500, 1000])
    asks[0, s.ASK_INSTANCES] = rng.integers(2, 20)
    return asks


def placed_one_by_one(nodes: s.Ints, asks: s.Ints, node: int) -> int:
    nodes, count = nodes.copy(), 0
    while count < asks[0, s.ASK_INSTANCES] and fits(nodes, node, asks, 0, False):
        take(tightest_gpu, nodes, node, asks, 0, np.zeros((1, 1)), False)
        count += 1
    return count


@pytest.mark.parametrize("seed", range(100))
def test_a_node_never_holds_more_than_was_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, asks = drawn_nodes(rng, 1), drawn_gang(rng)
    counted, held = most_on(nodes, 0, asks, 0, False), placed_one_by_one(nodes, asks, 0)
    assert counted >= held
    if asks[0, s.ASK_GPUS] <= 1 or asks[0, s.ASK_MILLI] == 1000:
        assert counted == held


def test_counts_that_are_kept_are_those_counted_anew() -> None:
    rng = np.random.default_rng(0)
    nodes, asks = drawn_nodes(rng, 40), drawn_gang(rng)
    asks[0, s.ASK_INSTANCES] = 200
    kept = np.full((1, TREE_COLUMNS), SCAN, np.int64)
    kept[0, ROOM_ROW] = 0
    trees = ScoreTrees(
        np.empty((1, 128)), kept, np.zeros(128, np.int64), changes=np.zeros(1, np.int64)
    )
    counts, table = [], held(trees)
    for changes in range(100):
        found = may_fit(nodes, asks, 0, False, table)
        anew = sum(most_on(nodes, node, asks, 0, False) for node in range(len(nodes)))
        assert kept[0, ROOM] == anew
        assert found == (anew >= 200)
        assert (kept[0, TREE], kept[0, ROOM_SEEN]) == (SCAN, changes)
        counts.append(anew)
        node = int(rng.integers(len(nodes)))
        nodes[node] = drawn_nodes(rng, 1)[0]
        note_change(table, node)
    assert min(counts) < 200 <= max(counts)
