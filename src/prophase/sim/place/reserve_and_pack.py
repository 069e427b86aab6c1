"""Reserving and packing: high-end GPUs are kept for jobs that need them, the rest packs elsewhere.

Source of the rule: Weng et al., "MLaaS in the Wild", NSDI 2022, section 6. A job needs high-end
GPUs if it accepts no other type, if its column ``attr_high_end`` says so, or if one instance
asks for many GPUs. Such jobs go to high-end nodes first; all others only when nothing else
fits. Within either group the best fit wins; with one kind of node it is plain best fit.

High-end is the type that comes last in ``RANKING`` among those of the cluster, or whatever the
node column ``attr_high_end`` says. ``facts`` holds a row per node: 1 if it is high-end, and in
row 0 the high-end types as bits.
"""

from __future__ import annotations

import re

import numpy as np

from prophase.errors import InputError
from prophase.sim.cluster import Cluster
from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_HIGH_END,
    ASK_MILLI,
    ASK_TYPES,
    CPU,
    FREE_CPU,
    FREE_GPU,
    GPU_TYPE,
    GPUS,
    SCORE,
    Floats,
    Ints,
)

#: data-centre GPUs from weak to strong at training; variants (V100M32, A100-SXM4-80GB) rank alike
RANKING = (
    *("M40", "K80", "M60", "P4", "T4", "P40", "A2", "L4", "A10", "A16", "A40", "P100", "A30"),
    *("L20", "L40", "L40S", "V100", "MI100", "A800", "A100", "MI250", "H20", "H800", "H100"),
    *("H200", "MI300X", "B100", "B200", "GB200"),
)
#: GPUs of one instance from which on a job is taken to need the fast links of high-end nodes
MANY_GPUS = 8
#: more than any node has milli-GPUs
_STEP = 131072.0


@njit(SCORE, cache=True)
def reserve_and_pack(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate nodes by best fit, after whether they are for such jobs."""
    gpu_left = nodes[node, FREE_GPU] - asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    cpu_left = nodes[node, FREE_CPU] - asks[shape, ASK_CPU]
    fit = -float(gpu_left) - cpu_left / (nodes[node, CPU] + 1.0)
    accepted, reserved = asks[shape, ASK_TYPES], int(facts[0, 1])
    needs = (
        asks[shape, ASK_HIGH_END] > 0
        or asks[shape, ASK_GPUS] >= MANY_GPUS
        or (accepted != 0 and accepted & ~reserved == 0)
    )
    return fit + _STEP if needs == (facts[node, 0] > 0) else fit


def prepare(asks: Ints, cluster: Cluster, seed: int) -> Floats:
    """Return which nodes are high-end."""
    facts = np.zeros((len(cluster), 2))
    if "attr_high_end" in cluster.nodes:
        facts[:, 0] = _said(cluster)
    else:
        ranks = np.array([rank(kind) for kind in cluster.gpu_types])[cluster.matrix[:, GPU_TYPE]]
        facts[:, 0] = (ranks >= 0) & (ranks == ranks.max()) & (cluster.matrix[:, GPUS] > 0)
    high = set(cluster.matrix[facts[:, 0] > 0, GPU_TYPE].tolist())
    other = set(cluster.matrix[facts[:, 0] == 0, GPU_TYPE].tolist())
    facts[0, 1] = float(sum(1 << kind for kind in high - other))
    return facts


def rank(kind: str) -> int:
    """Return the place of a GPU type in the ranking, or -1 if it is unknown.

    Examples
    --------
    >>> rank("Tesla V100-SXM2-32GB") == rank("V100M16") > rank("T4") > rank("MISC")
    True
    """
    found = [
        (len(name), place)
        for word in re.split(r"[^A-Z0-9]+", kind.upper())
        for place, name in enumerate(RANKING)
        if re.fullmatch(rf"{name}(\D.*)?", word)
    ]
    return max(found)[1] if found else -1


def _said(cluster: Cluster) -> Floats:
    try:
        said = cluster.nodes["attr_high_end"].astype(float).fillna(0.0).to_numpy()
    except (TypeError, ValueError) as cause:
        raise InputError(
            "the node column attr_high_end is neither true nor false everywhere. Write 1 for "
            "nodes with high-end GPUs and 0 for others."
        ) from cause
    return np.asarray(said > 0, np.float64)
