"""Set up the arrays of the event loop, run it, and hand back when and where jobs ran."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prophase.sim.attempts import Attempts
from prophase.sim.kernels.queue_heaps import HEAD_COLUMNS, NOBODY
from prophase.sim.kernels.request_shapes import shapes_of
from prophase.sim.kernels.score_trees import (
    DRAW,
    QUEUE_FIRST,
    QUEUE_SIZE,
    ROOM,
    ROOM_ROW,
    SCAN,
    TREE,
)
from prophase.sim.place.tightest_gpu import tightest_gpu
from prophase.sim.signatures import ASK_INSTANCES, Floats, Ints

#: scores that trees over nodes may take, 8 bytes each; rarer shapes look at every node. Memory
#: is touched only for shapes that are asked for: 2,500 shapes on 1,650 nodes take 80 MB
_TREE_CELLS = 64_000_000


def run_static_loop(
    submit_s: Floats,
    duration_s: Floats,
    asks: Ints,
    rank: Ints,
    nodes: Ints,
    score: Callable[..., float],
    *,
    choose_gpu: Callable[..., int] = tightest_gpu,
    facts: Floats | None = None,
    trees: bool = True,
    lots: bool = False,
    strict: bool = False,
    pooled: bool = False,
    fill: bool = False,
) -> Attempts:
    """Replay jobs on nodes.

    Parameters
    ----------
    submit_s, duration_s : arrays of shape (jobs,)
        In order of submission.
    asks : array of shape (jobs, ASK_COLUMNS)
        Request of each job, columns as in ``signatures``.
    rank : array of shape (jobs,)
        Place of each job in the order of the queue, 0 first, every place once.
    nodes : array of shape (nodes, FREE_SHARE + GPUs)
        Empty nodes, columns as in ``signatures``; not changed.
    score : compiled function
        Place policy.
    choose_gpu : compiled function
        Picks the GPU of a node for a request of a share of one GPU.
    facts : array, optional
        What the place policy needs beyond nodes and requests.
    trees : bool
        Rate a node again only when it changed; off for policies that are not pure.
    lots : bool
        Take a score for a lot from 0 to 1 and draw nodes until one fits; for random.
    """
    rank = np.ascontiguousarray(rank, np.int64)
    job_of_rank = _inverse(rank)
    # one array of 0, 1, 2 ... serves all: jobs are many, and most come in order and alone
    numbers = rank if job_of_rank is rank else np.arange(len(rank))
    instances = asks[:, ASK_INSTANCES]
    alone = bool((instances == 1).all())
    first = numbers if alone else np.cumsum(instances) - instances
    placed = np.full((int(instances.sum()), 2), -1, np.int64)
    start = np.full(len(rank), np.nan)

    def run() -> None:
        shapes, shape_of = shapes_of(asks)
        jobs_in = [shape_of, rank, job_of_rank]
        matrices = [np.array(nodes, np.int64, order="C"), shapes]
        policy = [score, choose_gpu, np.zeros((1, 1)) if facts is None else _grid(facts)]
        forest = grow_forest(shape_of, shapes, len(nodes), trees, lots)
        results = [first, placed, start]
        from prophase.sim.kernels import static_loop as kernel

        times = [np.ascontiguousarray(values, np.float64) for values in (submit_s, duration_s)]
        rules = [kernel.STRICT if strict else kernel.SKIP, pooled, fill]
        waiting = _waiting_lines(len(rank), len(shapes), len(nodes))
        kernel.static_loop(
            *times, *jobs_in, *matrices, *policy, *rules, *forest, *waiting, *results
        )

    run()
    node, gpu_bits = placed.T
    return Attempts.single(start, start + duration_s, first, node, gpu_bits, numbers)


def rank_by(key: Floats) -> Ints:
    """Return the place of each job in the queue, smallest key first, equals as they come."""
    places = np.arange(len(key))
    if (key[1:] >= key[:-1]).all():
        return places
    rank = np.empty_like(places)
    rank[np.argsort(key, kind="stable")] = places
    return rank


def grow_forest(
    shape_of: Ints, shapes: Ints, machines: int, trees: bool, lots: bool = False
) -> list[Any]:
    """Return what ``best_node`` keeps: scores, trees, the state of each shape, a change log.

    The shapes that ask for most nodes get a tree each, the gangs among them a row that counts
    room, as many as fit into memory.
    """
    kinds = len(shapes)
    per_shape = np.bincount(shape_of, minlength=kinds)
    state = np.full((kinds, 4), -1, np.int64)
    state[:, QUEUE_FIRST] = np.cumsum(per_shape) - per_shape
    state[:, QUEUE_SIZE] = 0
    width = _power_of_two(machines)
    most = _TREE_CELLS // (2 * width) if trees and not lots else 0
    # every instance of a gang asks for a node
    common = np.argsort(-per_shape * shapes[:, ASK_INSTANCES], kind="stable")
    gangs = common[shapes[common, ASK_INSTANCES] > 1][:most]
    kept = min(kinds, most)
    tree_of = np.full((kinds, ROOM + 1), SCAN, np.int64)
    if lots:
        tree_of[:, TREE] = DRAW
    tree_of[common[:kept], TREE] = np.arange(kept)
    tree_of[gangs, ROOM_ROW] = kept + np.arange(len(gangs))
    # not filled: memory of trees that are never asked for stays untouched
    scores = np.empty((max(kept + len(gangs), 1), 2 * width))
    return [scores, tree_of, state, np.zeros(_power_of_two(2 * machines), np.int64)]


def _waiting_lines(jobs: int, kinds: int, machines: int) -> list[Any]:
    """Return the loop's own memory: queue, ends, heads of shapes, freed nodes, a stack."""
    width = _power_of_two(kinds)
    return [
        np.empty(jobs, np.int64),
        np.empty(jobs, np.float64),
        np.empty(jobs, np.int64),
        np.full((2 * width, HEAD_COLUMNS), NOBODY, np.int64),
        np.zeros((4, machines), np.int64),
        np.empty(2 * width.bit_length() + 2, np.int64),
    ]


def _inverse(order: Ints) -> Ints:
    """Return the place of each number in an order; the order itself if everything is in place."""
    if (order[1:] > order[:-1]).all():
        return order
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse


def _grid(values: Floats) -> Floats:
    return np.ascontiguousarray(values, np.float64)


def _power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()
