"""What the cluster had: GPUs, cores and memory over time, where the nodes state them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from prophase.sim.cluster import PLENTY
from prophase.sim.measures.binning import bin_means
from prophase.sim.signatures import CPU, GPU_TYPE, GPUS, MEMORY, Floats, Ints

if TYPE_CHECKING:
    from prophase.sim.schedule import Schedule

#: node matrix column -> its unit in cores or GiB
_UNITS = {CPU: 1000, MEMORY: 1024}


@dataclass(frozen=True)
class Capacity:
    """Owned amounts per bin of time, of shape (bins,), GPUs per type; None: not stated."""

    #: (types, bins)
    gpus: Floats
    cores: Floats | None
    memory_gib: Floats | None

    @classmethod
    def of(cls, schedule: Schedule, edges: Floats) -> Self:
        """Return what was owned between the edges; absent nodes are not."""
        matrix, kinds = schedule.cluster.matrix, len(schedule.cluster.gpu_types)
        gpus = _owned(schedule, edges, matrix[:, GPUS].astype(float), matrix[:, GPU_TYPE], kinds)
        stated: list[Floats | None] = []
        for column, unit in _UNITS.items():
            amount = matrix[:, column]
            known = bool((amount < PLENTY).all())
            stated.append(_owned(schedule, edges, amount / unit)[0] if known else None)
        return cls(gpus, *stated)


def _owned(
    schedule: Schedule, edges: Floats, amount: Floats, kind: Ints | None = None, kinds: int = 1
) -> Floats:
    group = np.zeros(len(amount), np.int64) if kind is None else kind
    total = np.bincount(group, amount, kinds)[:, None] * np.ones(len(edges) - 1)
    away = schedule.absences
    if away is not None:
        total -= bin_means(
            away.from_s, away.to_s, amount[away.node], edges, group[away.node], kinds
        )
    return total
