"""Earliest deadline first; jobs without a deadline come last, by submission."""

from __future__ import annotations

from prophase.errors import InputError
from prophase.sim.signatures import Floats
from prophase.sim.workload import Workload

_COLUMNS = ("deadline_s", "attr_deadline_s")


def earliest_deadline(workload: Workload, *, column: str | None = None) -> Floats:
    """Rank jobs by the column with their deadline, on the trace's clock."""
    found = next((c for c in ([column] if column else _COLUMNS) if c in workload.jobs), None)
    if found is None:
        raise InputError(
            f"order 'earliest_deadline' needs the column {column or ' or '.join(_COLUMNS)}, "
            "which the job table lacks."
        )
    return workload.key(found)
