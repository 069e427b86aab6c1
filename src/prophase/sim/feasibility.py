"""Which jobs can run on a cluster at all."""

from __future__ import annotations

from functools import reduce
from operator import or_

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.plural import listed
from prophase.sim.cluster import UNNAMED, Cluster
from prophase.sim.kernels.request_shapes import distinct_rows
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_FEATURES,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    ASK_TYPES,
    CPU,
    FEATURES,
    GPU_TYPE,
    GPUS,
    MEMORY,
    Ints,
)
from prophase.sim.workload import Workload, name_some

_KNOWN_ELSEWHERE = 1 << 62
#: requests count thousandths of a GPU
_WHOLE_GPU = 1000


def never_fit(asks: Ints, cluster: Cluster) -> NDArray[np.bool_]:
    """Tell which jobs not even the empty cluster could run."""
    shapes, shape_of = distinct_rows(asks)
    stuck: NDArray[np.bool_] = (_room(shapes, cluster.matrix) < shapes[:, ASK_INSTANCES])[shape_of]
    return stuck


def _room(shapes: Ints, nodes: Ints) -> Ints:
    """Count the instances of each shape that the empty cluster holds."""
    # a cluster has few kinds of node, however many there are of each
    kinds, nodes_of = np.unique(
        nodes[:, (CPU, MEMORY, GPUS, GPU_TYPE, FEATURES)], axis=0, return_counts=True
    )
    room = np.zeros(len(shapes), np.int64)
    need = [shapes[:, ask] for ask in (ASK_CPU, ASK_MEMORY, ASK_GPUS)]
    types, features = shapes[:, ASK_TYPES], shapes[:, ASK_FEATURES]
    milli = shapes[:, ASK_MILLI]
    shared = (milli > 0) & (milli < _WHOLE_GPU)
    per_gpu = _WHOLE_GPU // np.where(shared, milli, _WHOLE_GPU)
    for (*has, gpu_type, offered), count in zip(kinds.tolist(), nodes_of.tolist(), strict=True):
        held = [
            np.where(need_of > 0, has_of // np.maximum(need_of, 1), 1 << 40)
            for need_of, has_of in zip(need, has, strict=True)
        ]
        # several instances share a GPU
        held[-1] = np.where(shared, has[-1] * per_gpu, held[-1])
        allowed = (types == 0) | (types >> gpu_type & 1 == 1)
        featured = (features & ~offered) == 0
        fitting = np.minimum(np.minimum.reduce(held), 1 << 30)
        room += np.where(allowed & featured, fitting * count, 0)
    return room


def ignores_types(workload: Workload, cluster: Cluster) -> bool:
    """Tell whether jobs ask for GPU types of a cluster that does not name any."""
    if set(cluster.gpu_types) - {"", UNNAMED} or "gpu_type" not in workload.jobs:
        return False
    asked = workload.jobs["gpu_type"].dropna().astype(str)
    return bool(((asked != "") & (asked != UNNAMED)).any())


def with_types(workload: Workload, cluster: Cluster) -> Ints:
    """Fill in which GPU types and node features each job accepts, as this cluster numbers them.

    Where the cluster names no GPU type at all, any will do.
    """
    known_words = (
        ("gpu_type", ASK_TYPES, cluster.gpu_types),
        ("attr_features", ASK_FEATURES, cluster.features),
    )
    untyped = ignores_types(workload, cluster)
    accepted = [
        words
        for words in known_words
        if words[0] in workload.jobs and not (untyped and words[1] == ASK_TYPES)
    ]
    asks = workload.asks.copy(order="K") if accepted else workload.asks
    for column, target, known in accepted:
        codes, texts = pd.factorize(workload.jobs[column])
        bits = [
            reduce(
                or_,
                (
                    1 << known.index(word) if word in known else _KNOWN_ELSEWHERE
                    for word in filter(None, str(text).split("|"))
                ),
                0,
            )
            for text in texts
        ]
        # the last is for jobs that name none: their code is -1
        asks[:, target] = np.array([*bits, 0], np.int64)[codes]
    return asks


def keep_fitting(
    workload: Workload,
    asks: Ints,
    stuck: NDArray[np.bool_],
    why: str,
    cluster: Cluster,
    *,
    leave_out: bool,
) -> tuple[Workload, Ints]:
    """Leave out the jobs that can never run, or refuse the workload and name them."""
    if stuck.any() and not leave_out:
        ids = workload.jobs.loc[stuck, "job_id"]
        raise InputError(
            f"{int(stuck.sum()):,} of {len(workload):,} jobs {why}: {name_some(ids)}."
            f"{_what_lacks(workload, stuck, cluster)} Add what they need, or leave these jobs out "
            "(--leave-out-unfit)."
        )
    return workload.without(stuck, why), asks[~stuck] if stuck.any() else asks


def _what_lacks(workload: Workload, stuck: NDArray[np.bool_], cluster: Cluster) -> str:
    """Name the GPU types and features that jobs ask for and no node has."""
    told = ""
    for column, what, known in (
        ("gpu_type", "GPU type", [name for name in cluster.gpu_types if name]),
        ("attr_features", "feature", list(cluster.features)),
    ):
        if column in workload.jobs:
            texts = workload.jobs.loc[stuck, column].dropna().astype(str).unique()
            asked = {word for text in texts for word in text.split("|") if word}
            strange = sorted(asked - set(known))
            if strange:
                has = listed(known) or "none"
                told += f" They ask for {what} {listed(strange)}; the cluster has {has}."
    return told
