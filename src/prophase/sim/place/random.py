"""Random: any node on which the job fits, each as likely; any fitting GPU of it."""

from __future__ import annotations

import numpy as np

from prophase.sim.cluster import Cluster
from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    ASK_MILLI,
    CHOOSE_GPU,
    FREE_SHARE,
    GPUS,
    SCORE,
    Floats,
    Ints,
)

#: every score is a new draw from 0 to 1, whatever the node
PURE, LOTS = False, True
#: a multiplicative generator (Park and Miller), exact in float64; ``facts`` holds its state
_FACTOR, _MODULUS = 48271.0, 2147483647.0


@njit(SCORE, cache=True)
def random(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Draw a number from 0 to 1."""
    facts[0, 0] = (facts[0, 0] * _FACTOR) % _MODULUS
    return facts[0, 0] / _MODULUS


@njit(CHOOSE_GPU, cache=True)
def choose_gpu(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> int:
    """Return a fitting GPU by chance."""
    chosen, highest = -1, -1.0
    for gpu in range(nodes[node, GPUS]):
        if nodes[node, FREE_SHARE + gpu] >= asks[shape, ASK_MILLI]:
            facts[0, 0] = (facts[0, 0] * _FACTOR) % _MODULUS
            if facts[0, 0] > highest:
                chosen, highest = gpu, facts[0, 0]
    return chosen


def prepare(asks: Ints, cluster: Cluster, seed: int) -> Floats:
    """Return the generator's first state."""
    return np.array([[float(seed % int(_MODULUS - 1) + 1)]])
