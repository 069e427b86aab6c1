"""Shortest job first, with the true run time: what no real scheduler knows."""

from __future__ import annotations

from prophase.sim.signatures import Floats
from prophase.sim.workload import Workload


def shortest(workload: Workload) -> Floats:
    """Rank jobs by their true run time."""
    return workload.duration_s
