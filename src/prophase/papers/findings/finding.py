"""A finding: numbers of this trace beside published ones, each defined in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prophase import units
from prophase.trace.describe.column_arrays import Floats, has_values, numbers
from prophase.trace.trace_tables import Trace


@dataclass(frozen=True)
class PublishedFigure:
    """One number of a finding."""

    #: its definition in words
    what: str
    #: "%", "s", "GPUs" and so on; empty for plain counts
    unit: str
    #: the number for this trace
    here: float | None
    #: the published number, or the two ends of a range; empty if none was
    published: tuple[float, ...] = ()
    #: why there is no number here
    reason: str = ""
    #: word before the published number, such as "over" or "up to"
    bound: str = ""

    @property
    def here_words(self) -> str:
        if self.here is not None:
            return _words(self.here, self.unit)
        # some reasons are the way to get the number, not its lack
        return (
            self.reason if self.reason.startswith("needs: ") else f"not computable: {self.reason}"
        )

    @property
    def published_words(self) -> str:
        if not self.published:
            return "-"
        ends = [_words(end, self.unit) for end in self.published]
        return " ".join(filter(None, [self.bound, " to ".join(ends)]))


@dataclass(frozen=True)
class PublishedFinding:
    """A published finding with its figures."""

    key: str
    title: str
    figures: tuple[PublishedFigure, ...]
    #: what to keep in mind when comparing
    note: str = ""


@dataclass(frozen=True)
class FigureDefinition:
    """A number to compute: its definition, what it needs, how, and what was published.

    ``columns`` of the job table must hold values; a word with a dot names a column of another
    table, such as ``nodes.gpus``.
    """

    what: str
    unit: str
    columns: tuple[str, ...]
    compute: Callable[[Trace], float | None]
    published: tuple[float, ...] = ()
    bound: str = ""
    #: said if the columns are there but no row can be used
    nothing: str = "no job has all the values it needs"

    def of(self, trace: Trace) -> PublishedFigure:
        """Compute the number, or say what is missing."""
        reason = missing(trace, *self.columns)
        value = None
        if not reason:
            value = self.compute(trace)
            if value is None or not math.isfinite(value):
                value, reason = None, self.nothing
        return PublishedFigure(self.what, self.unit, value, self.published, reason, self.bound)


def missing(trace: Trace, *columns: str) -> str:
    """Say which tables or columns are missing or empty; an empty text if none is.

    Alternatives are joined by |: the first one that is there will be used.

    Examples
    --------
    >>> import pandas as pd
    >>> trace = Trace({"jobs": pd.DataFrame({"job_id": ["a"], "wait_s": [1.0]})}, "csv", "")
    >>> missing(trace, "wait_s", "request_gpus|gpu_type", "nodes.gpus")
    'column request_gpus or gpu_type missing; table nodes missing'
    """
    reasons: dict[str, None] = {}
    for choice in columns:
        named = [_place(column) for column in choice.split("|")]
        table = named[0][0]
        frame = trace.tables.get(table)
        if frame is None or not len(frame):
            reasons[f"table {table} {'missing' if frame is None else 'empty'}"] = None
        elif not any(has_values(frame, column) for _, column in named):
            words = " or ".join(column for _, column in named)
            reasons[f"column {words} missing"] = None
    return "; ".join(reasons)


def published_only(
    what: str, unit: str, published: tuple[float, ...], reason: str
) -> PublishedFigure:
    """Return a figure that no trace of jobs can give."""
    return PublishedFigure(what, unit, None, published, reason)


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float | None:
    """Return the smallest value that at least this share of the weight does not exceed.

    Examples
    --------
    >>> weighted_quantile(np.array([1.0, 5.0]), np.array([9.0, 1.0]), 0.5)
    1.0
    """
    known = ~np.isnan(values) & (weights > 0)
    if not known.any():
        return None
    order = np.argsort(values[known], kind="stable")
    total = np.cumsum(weights[known][order])
    place = int(np.searchsorted(total, share * total[-1] * (1 - 1e-12)))
    return float(values[known][order][min(place, len(order) - 1)])


def weighted_share(mask: np.ndarray, known: np.ndarray, weights: Floats) -> float | None:
    """Return the percentage of the weight of known rows for which the mask holds."""
    total = float(weights[known].sum())
    return 100 * float(weights[known & mask].sum()) / total if total > 0 else None


def column(trace: Trace, name: str) -> Floats:
    """Return a column of the job table as floats."""
    return numbers(trace.jobs, name)


def _place(name: str) -> tuple[str, str]:
    table, dot, column = name.partition(".")
    return (table, column) if dot else ("jobs", name)


def _words(value: float, unit: str) -> str:
    said = f"{units.number(value)} {unit}".rstrip()
    return f"{said} ({units.duration(value)})" if unit == "s" and value >= 60 else said
