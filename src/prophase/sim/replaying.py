"""Replay a workload on a cluster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from prophase.errors import InputError, ParameterError
from prophase.sim.cluster import Cluster
from prophase.sim.loop import run_loop
from prophase.sim.policies import named, order_policies, place_policies
from prophase.sim.schedule import Schedule
from prophase.sim.shapes import distinct_rows
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_FEATURES,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_TYPES,
    CPU,
    FEATURES,
    GPU_TYPE,
    GPUS,
    MEMORY,
    Floats,
    Ints,
)
from prophase.sim.workload import Workload, name_some

#: what a queue does when its first job does not fit
QUEUES = {
    "strict": "the first job that does not fit holds up all behind it",
    "skip": "a job that does not fit is passed over for the next that does",
    "easy": "the first job gets a reservation; later ones start if they do not delay it",
}
_KNOWN_ELSEWHERE = 1 << 62


def simulate(
    workload: Workload,
    cluster: Cluster,
    *,
    order: str | Callable[[Workload], Floats] = "fifo",
    place: str = "best_fit",
    queue: str = "skip",
    estimate: str = "time_limit_s",
    leave_out_unfit: bool = False,
    seed: int = 0,
) -> Schedule:
    """Replay a workload on a cluster and return when and where each job ran.

    Parameters
    ----------
    order : str or function
        Who goes first: a policy's name, a function of the workload, or ``"column:NAME"`` for
        any column of the job table, smallest first (``"column:predicted_duration_s"``).
    place : str
        Which node a job goes to.
    queue : {"skip", "strict", "easy"}
        What happens behind a job that does not fit.
    estimate : str, default="time_limit_s"
        Column with the run times that backfilling plans with; where it is missing, or shorter
        than the run, the true run time is taken.
    leave_out_unfit : bool, default=False
        Leave out, and count, jobs that not even the empty cluster could run. Otherwise they
        are refused before the replay starts.
    seed : int, default=0
        For policies that draw lots.
    """
    if queue not in QUEUES:
        raise ParameterError(f"queue {queue!r} is unknown. Known: {', '.join(QUEUES)}.")
    policy = named(place, place_policies(), "place")
    workload, widened = workload.spread_over(int(cluster.matrix[:, GPUS].max()))
    asks = _with_types(workload, cluster)
    stuck = never_fit(asks, cluster)
    if stuck.any() and not leave_out_unfit:
        ids = workload.jobs.loc[stuck, "job_id"]
        raise InputError(
            f"{int(stuck.sum()):,} of {len(workload):,} jobs fit on no node of this cluster even "
            f"when it is empty: {name_some(ids)}. Add nodes that fit, or leave these jobs out "
            "(--leave-out-unfit)."
        )
    workload, asks = workload.without(stuck, "fit on no node of this cluster"), asks[~stuck]
    rank = np.empty(len(workload), np.int64)
    key = _order_key(order, workload)
    rank[np.lexsort((np.arange(len(workload)), workload.submit_s, key))] = np.arange(len(workload))
    starts = run_loop(
        workload.submit_s,
        workload.duration_s,
        asks,
        rank,
        cluster.matrix,
        policy.score,
        choose_gpu=policy.choose_gpu,
        facts=policy.prepare(asks, cluster, seed) if policy.prepare else None,
        trees=policy.pure,
        fill=policy.fill,
        estimate_s=_estimates(workload, estimate) if queue == "easy" else None,
        strict=queue == "strict",
    )
    name = order if isinstance(order, str) else getattr(order, "__name__", "own")
    notes = [f"{count:,} jobs left out: {reason}" for reason, count in workload.left_out.items()]
    if widened:
        notes.append(f"{widened:,} jobs wider than a node run as gangs over several nodes")
    return Schedule(workload, cluster, starts, name, place, queue, tuple(notes))


def never_fit(asks: Ints, cluster: Cluster) -> NDArray[np.bool_]:
    """Tell which jobs not even the empty cluster could run."""
    shapes, shape_of = distinct_rows(asks)
    room = np.array([_room(shape, cluster.matrix) for shape in shapes])
    stuck: NDArray[np.bool_] = (room < shapes[:, ASK_INSTANCES])[shape_of]
    return stuck


def _room(shape: Ints, nodes: Ints) -> int:
    """Count the instances of a shape that the empty cluster holds."""
    with np.errstate(divide="ignore"):
        held = [
            np.where(need > 0, nodes[:, has] // max(int(need), 1), 1 << 40)
            for need, has in (
                (shape[ASK_CPU], CPU),
                (shape[ASK_MEMORY], MEMORY),
                (shape[ASK_GPUS], GPUS),
            )
        ]
    fitting = np.minimum.reduce(held)
    allowed = (shape[ASK_TYPES] == 0) | (shape[ASK_TYPES] >> nodes[:, GPU_TYPE] & 1 == 1)
    featured = (shape[ASK_FEATURES] & ~nodes[:, FEATURES]) == 0
    return int(np.minimum(fitting, 1 << 30)[allowed & featured].sum())


def _with_types(workload: Workload, cluster: Cluster) -> Ints:
    """Fill in which GPU types and node features each job accepts, as this cluster numbers them."""
    asks = workload.asks.copy()
    for column, target, known in (
        ("gpu_type", ASK_TYPES, cluster.gpu_types),
        ("attr_features", ASK_FEATURES, cluster.features),
    ):
        if column not in workload.jobs:
            continue
        texts = workload.jobs[column].fillna("").astype(str)
        bits = {
            text: sum(
                1 << known.index(word) if word in known else _KNOWN_ELSEWHERE
                for word in set(filter(None, text.split("|")))
            )
            for text in texts.unique()
        }
        asks[:, target] = texts.map(bits).to_numpy(np.int64)
    return asks


def _estimates(workload: Workload, column: str) -> Floats:
    """Return believed run times; a job is never believed shorter than it is."""
    if column not in workload.jobs:
        raise InputError(
            f"backfilling plans with {column}, which the job table lacks. Name another column "
            "with --estimate, such as duration_s for perfect estimates."
        )
    believed = workload.jobs[column].fillna(0.0).to_numpy(np.float64)
    longest: Floats = np.maximum(believed, workload.duration_s)
    return longest


def _order_key(order: str | Callable[[Workload], Floats], workload: Workload) -> Floats:
    if callable(order):
        return np.asarray(order(workload), np.float64)
    if order.startswith("column:"):
        return workload.key(order.removeprefix("column:"))
    policy = named(order, order_policies(), "order")
    return np.asarray(policy(workload), np.float64)
