"""The columns in which every section shows shares and distributions."""

from __future__ import annotations

from prophase.trace.describe.distribution import Distribution


def percent(share: float) -> float:
    """Return a share as a percentage with one decimal, two below 1 %."""
    return round(100 * share, 1 if abs(share) >= 0.01 else 2)


def jobs_have(number: int) -> str:
    """Return ``1 job has`` or ``5 jobs have``."""
    return f"{number:,} {'job has' if number == 1 else 'jobs have'}"


def quantile_row(values: Distribution) -> dict[str, float | int]:
    """Return the columns in which every distribution is shown."""
    shown = ("p10", "p50", "p90", "p99", "max")
    return {
        "known": values.count,
        "missing": values.missing,
        "mean": values.mean,
        **{name: values.at(name) for name in shown},
    }
