"""When nodes were not there: lost, closed, or not rented."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prophase.sim.signatures import Floats, Ints


@dataclass(frozen=True)
class Absences:
    """Intervals in which a node did not belong to the cluster; those of a node do not overlap.

    What is absent is neither owned nor idle: utilisation, fragmentation and cost leave it out.
    """

    node: Ints
    from_s: Floats
    to_s: Floats


def find_absences(
    nodes: int, end_s: float, *, elastic_from: int, changes: list[tuple[float, int, int]]
) -> Absences | None:
    """Collect the intervals in which something kept a node away.

    Parameters
    ----------
    elastic_from : int
        Nodes from this one on begin switched off.
    changes : list of (time, node, 1 or -1)
        One more, or one less, reason for a node to be away.
    """
    away = [int(node >= elastic_from) for node in range(nodes)]
    since = [-math.inf] * nodes
    found: list[tuple[int, float, float]] = []
    for time, node, step in sorted(changes, key=lambda change: change[0]):
        before, away[node] = away[node], away[node] + step
        if before == 0 and away[node] == 1:
            since[node] = time
        elif before == 1 and away[node] == 0 and time > since[node]:
            found.append((node, since[node], time))
    found += [(node, since[node], math.inf) for node in range(nodes) if away[node] > 0]
    found = [(node, begin, min(end, end_s)) for node, begin, end in found if begin < end_s]
    if not found:
        return None
    table = np.array(found, np.float64)
    return Absences(table[:, 0].astype(np.int64), table[:, 1], table[:, 2])
