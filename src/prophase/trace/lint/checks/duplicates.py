"""Rows that are there more than once: repeated ids, copied jobs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from prophase.trace.lint.check_registry import (
    LintFinding,
    LintSubject,
    Severity,
    check,
    numbers,
    sampled,
)

#: columns that say nothing about what a job did
NAMES = ("job_id", "source", "submit_order")
MEASURED = (
    "cpu_mean_cores",
    "cpu_peak_cores",
    "memory_mean_gib",
    "memory_peak_gib",
    "gpu_util_mean_pct",
    "gpu_memory_mean_gib",
    "gpu_memory_peak_gib",
    "read_bytes",
    "write_bytes",
)
_COPY = r"#\d+$"
#: copies beyond this many times what chance explains are not chance
_BEYOND_CHANCE = 10


def base_ids(jobs: pd.DataFrame) -> pd.Series:
    """Return job ids without the #2, #3 an import puts behind repeated ones."""
    return jobs["job_id"].astype("string").str.replace(_COPY, "", regex=True)


@check("repeated-id", "jobs.job_id")
def repeated_id(subject: LintSubject) -> Iterator[LintFinding]:
    """Job ids that name several rows."""
    ids = base_ids(subject.jobs)
    repeats = ids.duplicated().to_numpy() & ids.notna().to_numpy()
    yield from subject.marked(
        "jobs.job_id",
        repeats,
        "warning",
        "{n} rows ({share}) carry the id of another row. Either the same job was written "
        "twice, or the id is not the key: joining anything on it multiplies rows.",
        "Find the columns that really name a row (attempt, step, worker) and add them to the "
        "key; remove true copies.",
    )


@check("repeated-node", "nodes.node_id")
def repeated_node(subject: LintSubject) -> Iterator[LintFinding]:
    """Nodes that are listed twice."""
    nodes = subject.nodes
    again = [c for c in ("node_id", "available_from_s", "available_until_s") if c in nodes]
    repeats = nodes.duplicated(again).to_numpy()
    yield from subject.marked(
        "nodes.node_id",
        repeats,
        "warning",
        "{n} node rows ({share}) repeat a name: the cluster looks larger than it is.",
        "Keep one row per node, or one per period of availability.",
    )


@check("duplicate-jobs", "jobs.job_id")
def duplicate_jobs(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs that equal another in everything but their id."""
    jobs = subject.jobs
    if not any(c in jobs and jobs[c].notna().any() for c in ("submit_s", "start_s", "end_s")):
        return  # without a clock, equal rows are equal kinds of job
    copies = copied_rows(jobs)
    if not copies.any():
        return
    measured = _measured(jobs)
    parts: list[tuple[Severity, np.ndarray, str, str]] = [
        (
            "warning",
            copies & measured,
            "Measured values never repeat to the last digit, so these are copies: they count "
            "twice, and land on both sides of a random split.",
            "Keep one of each, for example with jobs.drop_duplicates over all columns but job_id.",
        ),
        (
            _without_measurements(jobs, copies & ~measured),
            copies & ~measured,
            "Nothing measured tells them apart: arrays and gangs look like this, and so do rows "
            "that were written twice.",
            "Compare with the source's own count of jobs; remove them if they are copies.",
        ),
    ]
    for severity, rows, why, advice in parts:
        if rows.any():
            text = "{n} rows ({share}) equal another row in every column but the id. " + why
            yield from subject.marked("jobs", rows, severity, text, advice)


def copied_rows(jobs: pd.DataFrame) -> np.ndarray:
    """Mark the second and later rows of equal content, whatever their id."""
    content = [name for name in jobs.columns if name not in NAMES]
    clocks = [c for c in ("submit_s", "start_s", "end_s", "duration_s") if c in content]
    if not content or not clocks:
        return np.zeros(len(jobs), dtype=bool)
    # clocks are cheap to compare and leave few candidates for the rest
    known = jobs[clocks].notna().any(axis=1).to_numpy()
    suspects = known & jobs.duplicated(clocks, keep=False).to_numpy()
    marked = np.zeros(len(jobs), dtype=bool)
    marked[suspects] = jobs.loc[suspects, content].duplicated().to_numpy()
    return marked


def _measured(jobs: pd.DataFrame) -> np.ndarray:
    """Mark rows in which at least two quantities were measured above zero."""
    count = np.zeros(len(jobs), dtype=int)
    for name in MEASURED:
        if name in jobs and jobs[name].nunique() > len(jobs) / 20:
            count += numbers(jobs, name) > 0
    return count >= 2


def _without_measurements(jobs: pd.DataFrame, copies: np.ndarray) -> Severity:
    """Warn if there are far more equal rows than rows with these values meet by chance."""
    rows = sampled(jobs)
    columns = [name for name in jobs.columns if name not in NAMES]
    if "parent_id" in jobs and jobs["parent_id"].notna().any():
        return "info"
    bits = sum(_collision_bits(rows[name]) for name in columns if name != "end_s")
    by_chance = len(jobs) ** 2 / 2 * 2.0**-bits
    return "warning" if copies.sum() > _BEYOND_CHANCE * (1 + by_chance) else "info"


def _collision_bits(values: pd.Series) -> float:
    """Return how unlikely two rows are to agree in this column, in bits."""
    shares = values.value_counts(normalize=True, dropna=False).to_numpy()
    return float(-np.log2(np.sum(shares**2)))
