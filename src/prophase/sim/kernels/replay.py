"""The event loop: completions, then arrivals, then one pass over the queue.

Waiting jobs are kept in one heap per *shape* (distinct request). Within a pass resources
only shrink, so when one job of a shape does not fit, none of that shape does: a pass costs
the number of shapes, not of waiting jobs, and decides exactly as a walk over the whole
sorted queue would. The best node for a shape is the root of a tournament tree over nodes;
only nodes that changed since the shape was last asked for are rated again.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from prophase.sim.signatures import (
    ASK_CPU,
    ASK_FEATURES,
    ASK_GPUS,
    ASK_HELD,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    ASK_TYPES,
    CHOOSE_GPU,
    FEATURES,
    FLOAT_GRID,
    FLOAT_LINE,
    FREE_CPU,
    FREE_GPU,
    FREE_MEMORY,
    FREE_SHARE,
    FREE_WHOLE,
    GPU_TYPE,
    GPUS,
    HELD,
    INT_GRID,
    INT_LINE,
    SCORE,
    Floats,
    Ints,
)

STRICT, SKIP = 0, 1
#: columns of the shape state: its queue (where it begins, how long it is), the release count
#: at which it was last found not to fit, and how much of the change log its tree has seen
QUEUE_FIRST, QUEUE_SIZE, BLOCKED_AT, SEEN = range(4)
#: columns of the placement matrix, one row per instance: its node and its GPUs as a bit set
ON_NODE, ON_GPUS = range(2)
_SCORE_FUNCTION = types.FunctionType(SCORE)
_CHOICE_FUNCTION = types.FunctionType(CHOOSE_GPU)
_I = types.int64
_FLAG = types.boolean


@njit(_FLAG(INT_GRID, _I, INT_GRID, _I, _FLAG), cache=True)
def fits(nodes: Ints, node: int, asks: Ints, shape: int, pooled: bool) -> bool:
    """Tell whether one instance of the shape can start on the node now."""
    if (
        nodes[node, FREE_CPU] < asks[shape, ASK_CPU]
        or nodes[node, FREE_MEMORY] < asks[shape, ASK_MEMORY]
    ):
        return False
    if asks[shape, ASK_FEATURES] & ~nodes[node, FEATURES]:
        return False
    gpus, milli = asks[shape, ASK_GPUS], asks[shape, ASK_MILLI]
    if gpus == 0:
        return (
            asks[shape, ASK_TYPES] == 0
            or (asks[shape, ASK_TYPES] >> nodes[node, GPU_TYPE]) & 1 == 1
        )
    if asks[shape, ASK_TYPES] != 0 and (asks[shape, ASK_TYPES] >> nodes[node, GPU_TYPE]) & 1 == 0:
        return False
    if nodes[node, FREE_GPU] < gpus * milli:
        return False
    if pooled:
        return True
    if nodes[node, FREE_WHOLE] >= gpus:
        return True
    if milli == 1000:
        return False
    enough = 0
    for gpu in range(nodes[node, GPUS]):
        if nodes[node, FREE_SHARE + gpu] >= milli:
            enough += 1
    return enough >= gpus


@njit(_I(INT_GRID, _I, _I, _I), cache=True)
def _tightest(nodes: Ints, node: int, gpus: int, milli: int) -> int:
    """Return the GPUs with the least free share that is enough, lowest index first."""
    bits = 0
    if milli == 1000:
        gpu = 0
        while gpus > 0:
            if nodes[node, FREE_SHARE + gpu] == 1000:
                bits |= 1 << gpu
                gpus -= 1
            gpu += 1
        return bits
    for _ in range(gpus):
        chosen, least = -1, 1 << 30
        for gpu in range(nodes[node, GPUS]):
            free = nodes[node, FREE_SHARE + gpu]
            if free >= milli and free < least and not (bits >> gpu) & 1:
                chosen, least = gpu, free
        bits |= 1 << chosen
    return bits


@njit(_I(_CHOICE_FUNCTION, INT_GRID, _I, INT_GRID, _I, FLOAT_GRID, _FLAG), cache=True)
def take(choose_gpu, nodes, node, asks, shape, facts, pooled):
    """Occupy one instance's resources; return the GPUs chosen as a bit set.

    A share of one GPU goes where the policy says, shares of several to the tightest GPUs,
    whole GPUs to those of lowest index.
    """
    gpus, milli = asks[shape, ASK_GPUS], asks[shape, ASK_MILLI]
    bits = 0
    if not pooled and gpus > 0:
        if milli < 1000 and gpus == 1:
            bits = 1 << choose_gpu(nodes, node, asks, shape, facts)
        else:
            bits = _tightest(nodes, node, gpus, milli)
        for gpu in range(nodes[node, GPUS]):
            if (bits >> gpu) & 1:
                if nodes[node, FREE_SHARE + gpu] == 1000:
                    nodes[node, FREE_WHOLE] -= 1
                nodes[node, FREE_SHARE + gpu] -= milli
    nodes[node, FREE_CPU] -= asks[shape, ASK_CPU]
    nodes[node, FREE_MEMORY] -= asks[shape, ASK_MEMORY]
    nodes[node, FREE_GPU] -= gpus * milli
    nodes[node, HELD] += asks[shape, ASK_HELD]
    return bits


@njit(types.void(INT_GRID, _I, INT_GRID, _I, _I), cache=True)
def give_back(nodes: Ints, node: int, asks: Ints, shape: int, bits: int) -> None:
    """Free what ``take`` occupied."""
    nodes[node, FREE_CPU] += asks[shape, ASK_CPU]
    nodes[node, FREE_MEMORY] += asks[shape, ASK_MEMORY]
    milli = asks[shape, ASK_MILLI]
    nodes[node, FREE_GPU] += asks[shape, ASK_GPUS] * milli
    nodes[node, HELD] -= asks[shape, ASK_HELD]
    gpu = 0
    while bits:
        if bits & 1:
            nodes[node, FREE_SHARE + gpu] += milli
            if nodes[node, FREE_SHARE + gpu] == 1000:
                nodes[node, FREE_WHOLE] += 1
        bits >>= 1
        gpu += 1


@njit(
    types.void(
        _SCORE_FUNCTION, INT_GRID, INT_GRID, _I, _I, FLOAT_GRID, _FLAG, FLOAT_GRID, INT_GRID
    ),
    cache=True,
)
def _rate(score, nodes, asks, shape, node, facts, pooled, scores, winners):
    """Rate one node for a shape again and let the better one of each pair rise to the root."""
    mine = (
        score(nodes, node, asks, shape, facts)
        if fits(nodes, node, asks, shape, pooled)
        else -np.inf
    )
    if mine == scores[shape, node]:
        return
    scores[shape, node] = mine
    place = (winners.shape[1] // 2 + node) // 2
    while place >= 1:
        before = winners[shape, place]
        left, right = winners[shape, 2 * place], winners[shape, 2 * place + 1]
        better = right >= 0 and scores[shape, right] > scores[shape, left]
        winner = right if better else left
        winners[shape, place] = winner
        if winner == before and winner != node:
            # further up nobody has met this node, and nobody will now
            return
        place //= 2


@njit(
    types.void(_SCORE_FUNCTION, INT_GRID, INT_GRID, _I, FLOAT_GRID, _FLAG, FLOAT_GRID, INT_GRID),
    cache=True,
)
def _rate_all(score, nodes, asks, shape, facts, pooled, scores, winners):
    """Rate every node for a shape and build its tree from the leaves."""
    width = winners.shape[1] // 2
    for node in range(nodes.shape[0]):
        fit = fits(nodes, node, asks, shape, pooled)
        scores[shape, node] = score(nodes, node, asks, shape, facts) if fit else -np.inf
        winners[shape, width + node] = node
    for place in range(width - 1, 0, -1):
        left, right = winners[shape, 2 * place], winners[shape, 2 * place + 1]
        better = right >= 0 and scores[shape, right] > scores[shape, left]
        winners[shape, place] = right if better else left


@njit(
    _I(
        _SCORE_FUNCTION,
        INT_GRID,
        INT_GRID,
        _I,
        FLOAT_GRID,
        _FLAG,
        FLOAT_GRID,
        INT_GRID,
        INT_GRID,
        INT_LINE,
        _I,
    ),
    cache=True,
)
def best_node(score, nodes, asks, shape, facts, pooled, scores, winners, shapes, log, changes):
    """Return the node with the highest score on which the shape fits, or -1."""
    count = nodes.shape[0]
    if winners.shape[1] == 1:
        # too many shapes to keep a tree for each: look at every node
        chosen, highest = -1, -np.inf
        for node in range(count):
            if fits(nodes, node, asks, shape, pooled):
                mine = score(nodes, node, asks, shape, facts)
                if chosen < 0 or mine > highest:
                    chosen, highest = node, mine
        return chosen
    seen = shapes[shape, SEEN]
    if seen < 0 or (changes - seen) * 4 > count:
        _rate_all(score, nodes, asks, shape, facts, pooled, scores, winners)
    else:
        for change in range(seen, changes):
            node = log[change % log.size]
            _rate(score, nodes, asks, shape, node, facts, pooled, scores, winners)
    shapes[shape, SEEN] = changes
    root = winners[shape, 1]
    return root if scores[shape, root] > -np.inf else -1


@njit(types.void(INT_LINE, INT_GRID, _I, _I), cache=True)
def _enqueue(queue: Ints, shapes: Ints, shape: int, rank: int) -> None:
    """Add a job to the heap of its shape."""
    first, place = shapes[shape, QUEUE_FIRST], shapes[shape, QUEUE_SIZE]
    shapes[shape, QUEUE_SIZE] += 1
    while place > 0 and queue[first + (place - 1) // 2] > rank:
        queue[first + place] = queue[first + (place - 1) // 2]
        place = (place - 1) // 2
    queue[first + place] = rank


@njit(types.void(INT_LINE, INT_GRID, _I), cache=True)
def _dequeue(queue: Ints, shapes: Ints, shape: int) -> None:
    """Remove the first job from the heap of a shape."""
    first, size = shapes[shape, QUEUE_FIRST], shapes[shape, QUEUE_SIZE] - 1
    shapes[shape, QUEUE_SIZE] = size
    last = queue[first + size]
    place, child = 0, 1
    while child < size:
        if child + 1 < size and queue[first + child + 1] < queue[first + child]:
            child += 1
        if queue[first + child] >= last:
            break
        queue[first + place] = queue[first + child]
        place, child = child, 2 * child + 1
    queue[first + place] = last


@njit(_I(FLOAT_LINE, INT_LINE, _I, types.float64, _I), cache=True)
def _push_end(times: Floats, jobs: Ints, size: int, time: float, job: int) -> int:
    """Add a completion to the heap ordered by (time, job); return its new size."""
    place = size
    while place > 0:
        parent = (place - 1) // 2
        if times[parent] < time or (times[parent] == time and jobs[parent] < job):
            break
        times[place], jobs[place] = times[parent], jobs[parent]
        place = parent
    times[place], jobs[place] = time, job
    return size + 1


@njit(_I(FLOAT_LINE, INT_LINE, _I), cache=True)
def _pop_end(times: Floats, jobs: Ints, size: int) -> int:
    """Remove the earliest completion; return the heap's new size."""
    size -= 1
    time, job = times[size], jobs[size]
    place, child = 0, 1
    while child < size:
        if child + 1 < size and (
            times[child + 1] < times[child]
            or (times[child + 1] == times[child] and jobs[child + 1] < jobs[child])
        ):
            child += 1
        if time < times[child] or (time == times[child] and job < jobs[child]):
            break
        times[place], jobs[place] = times[child], jobs[child]
        place, child = child, 2 * child + 1
    times[place], jobs[place] = time, job
    return size


@njit(
    types.void(
        FLOAT_LINE,
        FLOAT_LINE,
        INT_LINE,
        INT_LINE,
        INT_LINE,
        INT_GRID,
        INT_GRID,
        _SCORE_FUNCTION,
        _CHOICE_FUNCTION,
        FLOAT_GRID,
        _I,
        _FLAG,
        _FLAG,
        FLOAT_GRID,
        INT_GRID,
        INT_GRID,
        INT_LINE,
        INT_LINE,
        INT_LINE,
        INT_GRID,
        FLOAT_LINE,
    ),
    cache=True,
)
def replay(
    submit,
    duration,
    shape_of,
    rank_of,
    job_of_rank,
    nodes,
    asks,
    score,
    choose_gpu,
    facts,
    discipline,
    pooled,
    fill,
    scores,
    winners,
    shapes,
    log,
    queue,
    first_instance,
    placed,
    start,
):
    """Fill ``start`` and ``placed`` for jobs given in order of submission.

    ``rank_of`` is the order of the queue: the smallest rank starts first. A gang starts with
    all its instances or not at all; ``fill`` packs a node full before the next one is taken.
    ``pooled`` lets a fraction straddle two GPUs of a node.
    """
    count = submit.size
    end_times, end_jobs = np.empty(count, np.float64), np.empty(count, np.int64)
    running = arrived = releases = changes = 0
    while arrived < count or running > 0:
        now = end_times[0] if running > 0 else np.inf
        if arrived < count and submit[arrived] < now:
            now = submit[arrived]
        if now == np.inf:
            # only jobs that never end are left
            break

        while running > 0 and end_times[0] <= now:
            job = end_jobs[0]
            running = _pop_end(end_times, end_jobs, running)
            shape = shape_of[job]
            for row in range(first_instance[job], first_instance[job] + asks[shape, ASK_INSTANCES]):
                give_back(nodes, placed[row, ON_NODE], asks, shape, placed[row, ON_GPUS])
                log[changes % log.size] = placed[row, ON_NODE]
                changes += 1
            releases += 1

        while arrived < count and submit[arrived] <= now:
            _enqueue(queue, shapes, shape_of[arrived], rank_of[arrived])
            arrived += 1

        while True:
            # the waiting job of smallest rank whose shape may still fit
            chosen, smallest = -1, count
            for shape in range(asks.shape[0]):
                if shapes[shape, QUEUE_SIZE] > 0:
                    rank = queue[shapes[shape, QUEUE_FIRST]]
                    open_ = discipline == STRICT or shapes[shape, BLOCKED_AT] != releases
                    if open_ and rank < smallest:
                        chosen, smallest = shape, rank
            if chosen < 0 or shapes[chosen, BLOCKED_AT] == releases:
                break
            job = job_of_rank[smallest]
            first, wanted, done, node = first_instance[job], asks[chosen, ASK_INSTANCES], 0, -1
            while done < wanted:
                if not (fill and node >= 0 and fits(nodes, node, asks, chosen, pooled)):
                    node = best_node(
                        score,
                        nodes,
                        asks,
                        chosen,
                        facts,
                        pooled,
                        scores,
                        winners,
                        shapes,
                        log,
                        changes,
                    )
                if node < 0:
                    break
                placed[first + done, ON_NODE] = node
                placed[first + done, ON_GPUS] = take(
                    choose_gpu, nodes, node, asks, chosen, facts, pooled
                )
                log[changes % log.size] = node
                changes += 1
                done += 1
            if done == wanted:
                _dequeue(queue, shapes, chosen)
                start[job] = now
                running = _push_end(end_times, end_jobs, running, now + duration[job], job)
                continue
            for row in range(first, first + done):
                give_back(nodes, placed[row, ON_NODE], asks, chosen, placed[row, ON_GPUS])
                log[changes % log.size] = placed[row, ON_NODE]
                changes += 1
                placed[row, ON_NODE] = -1
            shapes[chosen, BLOCKED_AT] = releases
            if discipline == STRICT:
                break
