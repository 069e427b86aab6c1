"""Units that cannot be what the column's name says, or that change inside a column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from prophase.trace.describe.column_arrays import combined_codes
from prophase.trace.lint.check_registry import (
    Floats,
    LintFinding,
    LintSubject,
    check,
    numbers,
    sampled,
)

_MEMORY = (
    "request_memory_gib",
    "memory_mean_gib",
    "memory_peak_gib",
    "gpu_memory_mean_gib",
    "gpu_memory_peak_gib",
)
#: hardly any node has more; a typical job never does
_HUGE_MEMORY_GIB = 4096.0
_HUGE_CORES = 1000.0
_PAIRS = (
    ("memory_peak_gib", "request_memory_gib"),
    ("memory_mean_gib", "request_memory_gib"),
    ("cpu_mean_cores", "request_cpu_cores"),
    ("cpu_peak_cores", "request_cpu_cores"),
)
#: mean and peak of the same thing
_MEAN_AND_PEAK = (
    ("memory_mean_gib", "memory_peak_gib"),
    ("cpu_mean_cores", "cpu_peak_cores"),
    ("gpu_memory_mean_gib", "gpu_memory_peak_gib"),
)
_BYTE_FACTORS = {1e3: "1,000 or 1,024", 1e6: "a million or 1,024 x 1,024", 1e9: "1e9 or 1,024^3"}
_MIXABLE: dict[str, dict[float, str]] = {
    **dict.fromkeys((*_MEMORY, "read_bytes", "write_bytes"), _BYTE_FACTORS),
    "duration_s": {1e3: "1,000"},
    "time_limit_s": {1e3: "1,000"},
    "request_cpu_cores": {1e3: "1,000", 1e2: "100"},
    "request_gpus": {1e3: "1,000", 1e2: "100"},
    "cpu_mean_cores": {1e3: "1,000", 1e2: "100"},
}
#: keys whose jobs resemble each other, the finest first
_KINDS = (("group", "task"), ("user", "task"), ("name",), ("workload", "task"), ("queue",), ())
#: half width of the window around a factor, in powers of ten
_WINDOW = 0.2


@check("memory-unit")
def memory_unit(subject: LintSubject) -> Iterator[LintFinding]:
    """Memory of thousands of GiB."""
    one = ("memory_gib",)
    for table, columns in (("jobs", _MEMORY), ("nodes", one), ("usage", one)):
        if not subject.has(table):
            continue
        frame = subject.tables[table]
        limit = _HUGE_MEMORY_GIB * (8 if table == "nodes" else 1)
        for column in columns:
            values = numbers(frame, column)
            huge = values > limit
            if not huge.any():
                continue
            known = values[~np.isnan(values)]
            typical = float(np.median(known))
            yield from subject.marked(
                f"{table}.{column}",
                huge,
                "error" if typical > limit else "warning",
                f"{{n}} rows ({{share}}) show more than {limit:,.0f} GiB, up to "
                f"{known.max():,.0f} (median {typical:,.3g}): bytes, KiB or MiB read as GiB, a sum "
                "over many nodes, or a placeholder for 'all of it'.",
                "Check the unit in the source's documentation; a mapping takes unit = 'MiB' and "
                "the like.",
                of=len(known),
            )


@check("core-unit", "jobs")
def core_unit(subject: LintSubject) -> Iterator[LintFinding]:
    """Cores or GPUs per instance that look like thousandths or percent."""
    for column, huge, typical in (
        ("request_cpu_cores", _HUGE_CORES, 500.0),
        ("cpu_mean_cores", _HUGE_CORES, 500.0),
        ("request_gpus", 1024.0, 20.0),
    ):
        values = numbers(subject.jobs, column)
        known = values[values > 0]
        if len(known) < 10:
            continue
        middle = float(np.median(known))
        many = values > (typical if middle > typical else huge)
        if middle > typical or many.sum() > 0.05 * len(known):
            yield from subject.marked(
                f"jobs.{column}",
                many,
                "warning",
                f"The median is {middle:,.0f} and {{n}} rows ({{share}}) are larger than one node "
                "can be: thousandths (1000 = one) or percent (100 = one), or a sum over nodes.",
                "Divide by 1,000 or 100; if it is a sum, divide by the number of instances.",
                of=len(known),
            )


@check("request-against-use", "jobs")
def request_against_use(subject: LintSubject) -> Iterator[LintFinding]:
    """Requests and use so far apart that one of them is in another unit."""
    for use, request in _PAIRS:
        used, asked = numbers(subject.jobs, use), numbers(subject.jobs, request)
        both = (used > 0) & (asked > 0)
        if both.sum() < 20:
            continue
        ratio = np.divide(used, asked, out=np.ones_like(used), where=both)
        middle = float(np.median(ratio[both]))
        far = middle > 50
        if not far and np.quantile(ratio[both], 0.99) >= 1 / 500:
            continue
        yield from subject.marked(
            f"jobs.{use}",
            both & (ratio > 50 if far else ratio < 1 / 500),
            "error" if far else "warning",
            f"{use} is {middle:,.3g} times {request} in the median, for {{n}} rows ({{share}}) "
            "far outside of what a scheduler allows. A factor near 1,000 or 1,024 is KB, MB or GB "
            "taken for each other; near 100, percent.",
            "Check the units of both columns in the source and convert one of them.",
            of=int(both.sum()),
        )


@check("mean-above-peak", "jobs")
def mean_above_peak(subject: LintSubject) -> Iterator[LintFinding]:
    """Means that are larger than the peak they belong to."""
    for mean, peak in _MEAN_AND_PEAK:
        low, high = numbers(subject.jobs, mean), numbers(subject.jobs, peak)
        both = (low > 0) & (high > 0)
        off = both & (low > 1.01 * high)
        if off.any():
            factor = float(np.median(low[off] / high[off]))
            certain = factor > 50 and off.sum() >= 0.01 * both.sum()
            why = (
                "The two are in different units."
                if certain
                else "One of them is misnamed, or they were measured over different spans."
            )
            yield from subject.marked(
                f"jobs.{mean}",
                off,
                "error" if certain else "warning",
                f"{{n}} jobs ({{share}}) have {mean} above {peak}, typically {factor:,.3g} times. "
                + why,
                "Check what the source calls average and maximum, and their units.",
                of=int(both.sum()),
            )


@check("mixed-units", "jobs")
def mixed_units(subject: LintSubject) -> Iterator[LintFinding]:
    """Columns in which some rows are a round factor away from their like."""
    jobs = sampled(subject.jobs)
    for column, factors in _MIXABLE.items():
        values = numbers(jobs, column)
        if np.sum(values > 0) < 30:
            continue
        found = _first_mixture(jobs, values, column, factors)
        if found is None:
            continue
        rows, factor, against = found
        looked = "" if len(jobs) == len(subject.jobs) else f" (of {len(jobs):,} rows looked at)"
        yield from subject.marked(
            f"jobs.{column}",
            rows,
            "warning",
            f"{{n}} rows ({{share}}){looked} lie a factor of about "
            f"{factors[factor]} away from {against}, with hardly any in between: two units in one "
            "column.",
            "Find what these rows have in common (source, time, queue) and convert them; then "
            "lint again.",
            frame=jobs,
            of=int(np.sum(values > 0)),
        )


def _first_mixture(
    jobs: pd.DataFrame, values: Floats, column: str, factors: dict[float, str]
) -> tuple[np.ndarray, float, str] | None:
    """Return the rows, the factor, and what they were compared with; the clearest view first."""
    for distance, against in _views(jobs, values, column):
        for factor in factors:
            rows = _apart(distance, np.log10(factor), strict=column == "duration_s")
            if rows is not None:
                return rows, factor, against
    return None


def _views(jobs: pd.DataFrame, values: Floats, column: str) -> Iterator[tuple[Floats, str]]:
    """Yield how far each row is, in powers of ten, from what it should resemble."""
    logs = _log(values)
    for name in [other for own, other in (*_PAIRS, *_MEAN_AND_PEAK) if own == column]:
        if name in jobs:
            ratio = logs - _log(numbers(jobs, name))
            yield ratio - _lower_median(ratio, np.zeros(len(jobs), dtype=int)), f"their {name}"
    for keys in _KINDS:
        if all(key in jobs for key in keys):
            alike = np.zeros(len(jobs), dtype=np.int64)
            kinds = combined_codes([jobs[key] for key in keys]) if keys else alike
            like = f"jobs of the same {' and '.join(keys)}" if keys else "the other jobs"
            yield logs - _lower_median(logs, kinds), like
            return  # coarser kinds put honest sizes beside each other


def _apart(distance: Floats, step: float, *, strict: bool) -> np.ndarray | None:
    """Mark rows one step away, if they stand out from those a bit nearer or farther."""
    known = ~np.isnan(distance)
    away = np.abs(np.abs(distance) - step)
    rows = known & (away < _WINDOW)
    near = known & (away >= 0.35) & (away < 0.95)
    home = known & (np.abs(distance) < 0.5)
    count, total = rows.sum(), known.sum()
    if total < 30 or count < max(5, (0.02 if strict else 0.005) * total):
        return None
    stands_out = count >= (20 if strict else 8) * max(near.sum(), 1) / 3
    return known & (away < 0.5) if stands_out and home.sum() >= 0.3 * total else None


def _log(values: Floats) -> Floats:
    return np.log10(values, out=np.full(len(values), np.nan), where=values > 0)


def _lower_median(values: Floats, codes: np.ndarray) -> Floats:
    """Return each row's group median, always one of its values (a mean of two modes is neither).

    Groups of fewer than three rows have none.
    """
    middle = np.full(len(values), np.nan)
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return middle
    order = known[np.lexsort((values[known], codes[known]))]
    starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) != 0])
    sizes = np.diff(np.r_[starts, len(order)])
    medians = np.where(sizes >= 3, values[order[starts + (sizes - 1) // 2]], np.nan)
    middle[order] = np.repeat(medians, sizes)
    return middle
