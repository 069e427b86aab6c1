"""What the cluster had over time: GPUs, cores and memory, averaged in bins of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from prophase.sim.cluster import PLENTY, Cluster
from prophase.sim.rules.node_availability import Absences
from prophase.sim.signatures import CPU, GPU_TYPE, GPUS, MEMORY, Floats, Ints


def bin_means(
    start_s: Floats,
    end_s: Floats,
    weight: Floats,
    edges: Floats,
    group: Ints | None = None,
    groups: int = 1,
) -> Floats:
    """Return the exact time average, per group and bin, of what intervals add up to.

    An interval counts with its weight from its start to its end. Up to an edge x those that
    started before have lasted x - start, those that ended before x - end: two sums per edge,
    so no sorting and no loop over events.

    Parameters
    ----------
    start_s, end_s, weight : arrays of shape (intervals,)
        Intervals may reach beyond the edges.
    edges : array of shape (bins + 1,)
        Equally spaced.
    group : array of shape (intervals,), optional
        Number of the group that each interval belongs to.

    Returns
    -------
    array of shape (groups, bins)

    Examples
    --------
    >>> bin_means(np.array([0.0, 5.0]), np.array([10.0, 20.0]), np.ones(2), np.r_[0.0, 10.0, 20.0])
    array([[1.5, 1. ]])
    """
    bins = len(edges) - 1
    begin, width = edges[0], (edges[-1] - edges[0]) / bins
    totals = np.zeros((groups, bins + 1))
    for times, sign in ((start_s, 1.0), (end_s, -1.0)):
        since = np.clip(times - begin, 0.0, width * bins)
        # the first edge at or after the time
        place = np.ceil(since / width).astype(np.int64).clip(0, bins)
        if group is not None:
            place += group * (bins + 1)
        cells = groups * (bins + 1)
        load = np.bincount(place, weight, cells).reshape(groups, -1).cumsum(axis=1)
        moment = np.bincount(place, weight * since, cells).reshape(groups, -1).cumsum(axis=1)
        totals += sign * (load * (width * np.arange(bins + 1)) - moment)
    means: Floats = np.diff(totals, axis=1) / width
    return means


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
    def of(cls, cluster: Cluster, absences: Absences | None, edges: Floats) -> Self:
        """Return what was owned between the edges; absent nodes are not."""
        matrix, kinds = cluster.matrix, len(cluster.gpu_types)
        gpus = _owned(absences, edges, matrix[:, GPUS].astype(float), matrix[:, GPU_TYPE], kinds)
        stated: list[Floats | None] = []
        for column, unit in _UNITS.items():
            amount = matrix[:, column]
            known = bool((amount < PLENTY).all())
            stated.append(_owned(absences, edges, amount / unit)[0] if known else None)
        return cls(gpus, *stated)


def _owned(
    away: Absences | None,
    edges: Floats,
    amount: Floats,
    kind: Ints | None = None,
    kinds: int = 1,
) -> Floats:
    group = np.zeros(len(amount), np.int64) if kind is None else kind
    total = np.bincount(group, amount, kinds)[:, None] * np.ones(len(edges) - 1)
    if away is not None:
        total -= bin_means(
            away.from_s, away.to_s, amount[away.node], edges, group[away.node], kinds
        )
    return total
