"""The causes of waiting, in words, in the order in which they are asked about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prophase.sim.kernels import wait_causes as reasons
from prophase.sim.signatures import Floats


@dataclass(frozen=True)
class Cause:
    """One cause; ``fine`` lists what the sweep tells apart: its code and the resource."""

    name: str
    words: str
    fine: tuple[tuple[int, str], ...]


CAUSES = (
    Cause("quota", "a limit of its user or queue is used up", ((reasons.QUOTA, ""),)),
    Cause(
        "capacity",
        "the whole cluster has too little free",
        (
            (reasons.CAPACITY_GPU, "gpu"),
            (reasons.CAPACITY_CPU, "cpu"),
            (reasons.CAPACITY_MEMORY, "memory"),
        ),
    ),
    Cause(
        "gpu_type",
        "enough is free, but not of an allowed GPU type or node feature",
        ((reasons.GPU_TYPES, ""),),
    ),
    Cause(
        "gang",
        "one instance would fit, all together do not, though the sum of what is free is enough",
        ((reasons.GANG, ""),),
    ),
    Cause(
        "cpu_memory",
        "GPUs are free, the CPU or memory beside them is not",
        ((reasons.SHORT_CPU, "cpu"), (reasons.SHORT_MEMORY, "memory")),
    ),
    Cause(
        "fragmentation",
        "enough is free, but in pieces: no single node or GPU has it",
        ((reasons.FRAGMENTATION, ""),),
    ),
    Cause(
        "order",
        "it would fit, but the queue holds it up: a job ahead, a reservation",
        ((reasons.ORDER, ""),),
    ),
)
NAMES = tuple(cause.name for cause in CAUSES)
WORDS = {cause.name: cause.words for cause in CAUSES}
#: what people read beside a bar
LABELS = {name: name.replace("_", " ") for name in NAMES} | {
    "gpu_type": "GPU type",
    "cpu_memory": "CPU, memory",
}


def by_cause(fine: Floats) -> Floats:
    """Add up the last axis of what the sweep tells apart to the causes above."""
    columns = [fine[..., [code for code, _ in cause.fine]].sum(axis=-1) for cause in CAUSES]
    return np.stack(columns, axis=-1)


def whole_percent(parts: Floats, digits: int = 1) -> Floats:
    """Return parts as rounded percent that add up to exactly 100.

    What rounding down leaves goes to the largest remainders.

    Examples
    --------
    >>> whole_percent(np.array([1.0, 1.0, 1.0]))
    array([33.4, 33.3, 33.3])
    """
    unit = 10**digits
    total = float(parts.sum())
    if total <= 0:
        return np.zeros(len(parts))
    exact = parts / total * 100 * unit
    floor = np.floor(exact)
    missing = round(100 * unit - float(floor.sum()))
    floor[np.argsort(floor - exact, kind="stable")[:missing]] += 1
    shares: Floats = floor / unit
    return shares
