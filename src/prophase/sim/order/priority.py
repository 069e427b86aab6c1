"""Highest priority first; waiting earns priority, so that nobody waits for ever."""

from __future__ import annotations

from prophase.errors import InputError, ParameterError
from prophase.sim.signatures import Floats
from prophase.sim.workload import Workload

_HOUR_S = 3600.0


def priority(workload: Workload, *, per_hour: float = 0.0) -> Floats:
    """Rank jobs by priority, raised by ``per_hour`` for every hour of waiting.

    All waiting jobs age alike, so who is ahead of whom never changes: the key can be worked
    out at submission.
    """
    if not per_hour >= 0:
        raise ParameterError(f"per_hour={per_hour}: give 0 or more.")
    if "priority" not in workload.jobs or not workload.jobs["priority"].notna().any():
        raise InputError("order 'priority' needs the column priority, which the job table lacks.")
    known = workload.jobs["priority"].fillna(0.0).to_numpy(float)
    key: Floats = workload.submit_s * (per_hour / _HOUR_S) - known
    return key
