"""Set up the arrays of the event loop, run it, and hand back when and where jobs ran."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prophase.sim.attempts import Attempts
from prophase.sim.kernels import replay as kernel
from prophase.sim.kernels.backfill import replay_easy
from prophase.sim.kernels.trees import QUEUE_FIRST, QUEUE_SIZE
from prophase.sim.place.tightest_gpu import tightest_gpu
from prophase.sim.shapes import distinct_rows
from prophase.sim.signatures import ASK_INSTANCES, Floats, Ints

#: trees over nodes are kept while shapes x nodes stays below this; beyond, nodes are scanned
_TREE_CELLS = 20_000_000


def run_loop(
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
    estimate_s: Floats | None = None,
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
    estimate_s : array, optional
        Run times as the scheduler believes them; given, later jobs backfill around a
        reservation for the first one (EASY).
    trees : bool
        Rate a node again only when it changed; off for policies that are not pure.
    """
    shapes, shape_of = distinct_rows(asks)
    jobs, kinds, machines = len(submit_s), len(shapes), len(nodes)
    instances = asks[:, ASK_INSTANCES]
    first = np.cumsum(instances) - instances
    placed = np.full((int(instances.sum()), 2), -1, np.int64)
    start = np.full(jobs, np.nan)
    job_of_rank = np.empty(jobs, np.int64)
    job_of_rank[rank] = np.arange(jobs)
    # copies: pandas hands out read-only arrays, which are another type to the compiler
    times = [np.array(submit_s, np.float64), np.array(duration_s, np.float64)]
    jobs_in = [shape_of, np.ascontiguousarray(rank, np.int64), job_of_rank]
    matrices = [np.array(nodes, np.int64, order="C"), np.ascontiguousarray(shapes, np.int64)]
    facts = np.zeros((1, 1)) if facts is None else np.ascontiguousarray(facts, np.float64)
    forest = grow_forest(shape_of, kinds, machines, trees)
    results = [first.astype(np.int64), placed, start]
    policy = [score, choose_gpu, facts]
    if estimate_s is not None:
        believed = np.array(estimate_s, np.float64)
        replay_easy(*times, believed, *jobs_in, *matrices, *policy, fill, *forest, *results)
    else:
        rules = [kernel.STRICT if strict else kernel.SKIP, pooled, fill]
        queue = np.zeros(jobs, np.int64)
        kernel.replay(*times, *jobs_in, *matrices, *policy, *rules, *forest, queue, *results)
    node, gpu_bits = np.ascontiguousarray(placed.T)
    return Attempts.single(start, start + times[1], first, node, gpu_bits)


def grow_forest(shape_of: Ints, kinds: int, machines: int, trees: bool) -> list[Any]:
    """Return what ``best_node`` keeps: scores, winners, the state of each shape, a change log."""
    per_shape = np.bincount(shape_of, minlength=kinds)
    state = np.full((kinds, 4), -1, np.int64)
    state[:, QUEUE_FIRST] = np.cumsum(per_shape) - per_shape
    state[:, QUEUE_SIZE] = 0
    width = 1 << max(0, machines - 1).bit_length()
    trees = trees and kinds * width * 2 <= _TREE_CELLS
    kept = kinds if trees else 1
    return [
        np.full((kept, machines), -np.inf),
        np.full((kept, 2 * width if trees else 1), -1, np.int64),
        state,
        np.zeros(2 * machines, np.int64),
    ]
