"""A measured peak in words, with its error and how it was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prophase import units

if TYPE_CHECKING:
    from prophase.runs.usage.measurement_order import Ending


def measured_peak(ending: Ending) -> str:
    """Return a peak such as ``peak 617 MiB (within 0.5 MiB, cgroup v1)``."""
    said = f"peak {units.memory(ending.memory_peak_gib)}"
    if ending.memory_peak_error_gib is None:
        return said
    return f"{said} (within {units.memory(ending.memory_peak_error_gib)}, {ending.memory_method})"
