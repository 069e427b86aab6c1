"""Set up the arrays of the static loop, run it, and hand back when and where jobs ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prophase.sim.attempts import Attempts
from prophase.sim.compilation import call
from prophase.sim.kernels.queue_heaps import (
    HEAD_COLUMNS,
    NOBODY,
    QUEUE_COLUMNS,
    QUEUE_FIRST,
    QUEUE_SIZE,
    WaitingJobs,
)
from prophase.sim.kernels.request_shapes import shapes_of
from prophase.sim.kernels.score_trees import (
    DRAW,
    ROOM_ROW,
    SCAN,
    TREE,
    TREE_COLUMNS,
    PlaceRules,
    ScoreTrees,
)
from prophase.sim.place.tightest_gpu import tightest_gpu
from prophase.sim.signatures import ASK_INSTANCES, Floats, Ints

#: scores that trees over nodes may take, 8 bytes each; rarer shapes look at every node. Memory
#: is touched only for shapes that are asked for: 2,500 shapes on 1,650 nodes take 80 MB
_TREE_CELLS = 64_000_000


@dataclass(frozen=True)
class PlaceSettings:
    """How nodes and GPUs are chosen.

    Parameters
    ----------
    score : compiled function
        Place policy: rates a node for a request.
    choose_gpu : compiled function
        Picks the GPU of a node for a request of a share of one GPU.
    facts : array, optional
        What the place policy needs beyond nodes and requests.
    pure : bool
        A score changes only when its node changes, so nodes are rated again only then.
    lots : bool
        Take a score for a lot from 0 to 1 and draw nodes until one fits; for random.
    fill : bool
        A gang packs a node full before the next one is taken.
    pooled : bool
        A fraction may straddle two GPUs of a node.
    """

    score: Callable[..., float]
    choose_gpu: Callable[..., int] = tightest_gpu
    facts: Floats | None = None
    pure: bool = True
    lots: bool = False
    fill: bool = False
    pooled: bool = False

    def rules(self) -> PlaceRules:
        """Return what the loops take beside the functions."""
        facts = np.zeros((1, 1)) if self.facts is None else self.facts
        return PlaceRules(np.array(facts, np.float64, order="C"), self.pooled, self.fill)


def run_static_loop(
    submit_s: Floats,
    duration_s: Floats,
    asks: Ints,
    rank: Ints,
    nodes: Ints,
    place: PlaceSettings,
    *,
    strict: bool = False,
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
    place : PlaceSettings
        How nodes and GPUs are chosen.
    strict : bool
        The first job that does not fit holds up all behind it.
    """
    from prophase.sim.kernels import static_loop as kernel

    rank = np.ascontiguousarray(rank, np.int64)
    job_of_rank = _inverse(rank)
    # one array of 0, 1, 2 ... serves all: jobs are many, and most come in order and alone
    numbers = rank if job_of_rank is rank else np.arange(len(rank))
    instances = asks[:, ASK_INSTANCES]
    alone = bool((instances == 1).all())
    first = numbers if alone else np.cumsum(instances) - instances
    placed = np.full((int(instances.sum()), 2), -1, np.int64)
    starts = kernel.Starts(np.full(len(rank), np.nan), first, placed)

    def run() -> None:
        shapes, shape_of = shapes_of(asks)
        call(
            kernel.static_loop,
            place.score,
            place.choose_gpu,
            place.rules(),
            strict,
            kernel.StaticJobs(
                _read_only(submit_s), _read_only(duration_s), shape_of, rank, job_of_rank
            ),
            np.array(nodes, np.int64, order="C"),
            shapes,
            score_trees(shape_of, shapes, len(nodes), place),
            _waiting_jobs(shape_of, len(shapes)),
            kernel.RunningJobs(
                np.empty(len(rank), np.float64),
                np.empty(len(rank), np.int64),
                np.zeros((4, len(nodes)), np.int64),
            ),
            starts,
            work=len(rank) * len(nodes),
        )

    # what the loop alone needs is freed before the attempts are made
    run()
    node, gpu_bits = placed.T
    start = starts.start_s
    return Attempts.single(start, start + duration_s, first, node, gpu_bits, numbers)


def rank_by(key: Floats) -> Ints:
    """Return the place of each job in the queue, smallest key first, equals as they come."""
    places = np.arange(len(key))
    if (key[1:] >= key[:-1]).all():
        return places
    rank = np.empty_like(places)
    rank[np.argsort(key, kind="stable")] = places
    return rank


def score_trees(shape_of: Ints, shapes: Ints, nodes: int, place: PlaceSettings) -> ScoreTrees:
    """Return empty trees of scores.

    The shapes that ask for most nodes get a tree each, the gangs among them a row that counts
    room, as many as fit into memory.
    """
    kinds = len(shapes)
    per_shape = np.bincount(shape_of, minlength=kinds)
    width = _power_of_two(nodes)
    most = _TREE_CELLS // (2 * width) if place.pure and not place.lots else 0
    # every instance of a gang asks for a node
    common = np.argsort(-per_shape * shapes[:, ASK_INSTANCES], kind="stable")
    gangs = common[shapes[common, ASK_INSTANCES] > 1][:most]
    kept = min(kinds, most)
    of_shape = np.full((kinds, TREE_COLUMNS), SCAN, np.int64)
    if place.lots:
        of_shape[:, TREE] = DRAW
    of_shape[common[:kept], TREE] = np.arange(kept)
    of_shape[gangs, ROOM_ROW] = kept + np.arange(len(gangs))
    # not filled: memory of trees that are never asked for stays untouched
    scores = np.empty((max(kept + len(gangs), 1), 2 * width))
    log = np.zeros(_power_of_two(2 * nodes), np.int64)
    return ScoreTrees(scores, of_shape, log, np.zeros(1, np.int64))


def _waiting_jobs(shape_of: Ints, kinds: int) -> WaitingJobs:
    """Return an empty queue with room for all jobs of each shape."""
    per_shape = np.bincount(shape_of, minlength=kinds)
    shapes = np.full((kinds, QUEUE_COLUMNS), -1, np.int64)
    shapes[:, QUEUE_FIRST] = np.cumsum(per_shape) - per_shape
    shapes[:, QUEUE_SIZE] = 0
    width = _power_of_two(kinds)
    return WaitingJobs(
        np.empty(len(shape_of), np.int64),
        shapes,
        np.full((2 * width, HEAD_COLUMNS), NOBODY, np.int64),
        np.empty(2 * width.bit_length() + 2, np.int64),
    )


def _read_only(times: Floats) -> Floats:
    """Return times as the loop takes them: of the table, which nobody may change."""
    view = np.ascontiguousarray(times, np.float64).view()
    view.flags.writeable = False
    return view


def _inverse(order: Ints) -> Ints:
    """Return the place of each number in an order; the order itself if everything is in place."""
    if (order[1:] > order[:-1]).all():
        return order
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse


def _power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()
