"""First in, first out."""

from __future__ import annotations

from prophase.sim.signatures import Floats
from prophase.sim.workload import Workload


def fifo(workload: Workload) -> Floats:
    """Rank jobs by submission."""
    return workload.submit_s
