"""When nodes were not there: lost, closed, or not rented."""

from __future__ import annotations

from dataclasses import dataclass

from prophase.sim.signatures import Floats, Ints


@dataclass(frozen=True)
class Absences:
    """Intervals in which a node did not belong to the cluster; those of a node do not overlap.

    What is absent is neither owned nor idle: utilisation, fragmentation and cost leave it out.
    """

    node: Ints
    from_s: Floats
    to_s: Floats
