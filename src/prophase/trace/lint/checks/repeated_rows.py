"""Rows that are there more than once: repeated ids, copied jobs, joins on a key that repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase import units
from prophase.errors import FanOutError
from prophase.trace.column_table import distinct_in, in_file
from prophase.trace.describe.column_arrays import combined_codes, has_values
from prophase.trace.lint.check_registry import (
    LintFinding,
    LintSubject,
    Severity,
    check,
    numbers,
    sampled,
)
from prophase.trace.lint.raw_file import RawFile

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


def repeated_ids(jobs: pd.DataFrame) -> NDArray[np.bool_]:
    """Mark the second and later rows of each job id."""
    if (large := in_file(jobs)) is not None:
        return large.duplicated_text("job_id", _COPY).to_numpy(np.bool_)
    ids = base_ids(jobs)
    repeated: NDArray[np.bool_] = ids.duplicated().to_numpy() & ids.notna().to_numpy()
    return repeated


@check("repeated-id", "jobs.job_id")
def repeated_id(subject: LintSubject) -> Iterator[LintFinding]:
    """Job ids that name several rows."""
    yield from subject.marked(
        "jobs.job_id",
        repeated_ids(subject.jobs),
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
    if not any(has_values(jobs, name) for name in ("submit_s", "start_s", "end_s")):
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
    known = np.zeros(len(jobs), dtype=bool)
    for name in clocks:
        known |= jobs[name].notna().to_numpy()
    suspects = known & jobs.duplicated(clocks, keep=False).to_numpy()
    marked = np.zeros(len(jobs), dtype=bool)
    marked[suspects] = jobs.loc[suspects, content].duplicated().to_numpy()
    return marked


def _measured(jobs: pd.DataFrame) -> np.ndarray:
    """Mark rows in which at least two quantities were measured above zero."""
    count = np.zeros(len(jobs), dtype=int)
    for name in MEASURED:
        if name in jobs and distinct_in(jobs, name) > len(jobs) / 20:
            count += numbers(jobs, name) > 0
    return count >= 2


def _without_measurements(jobs: pd.DataFrame, copies: np.ndarray) -> Severity:
    """Warn if there are far more equal rows than rows with these values meet by chance."""
    rows = sampled(jobs)
    columns = [name for name in jobs.columns if name not in NAMES]
    if has_values(jobs, "parent_id"):
        return "info"
    bits = sum(_collision_bits(rows[name]) for name in columns if name != "end_s")
    by_chance = len(jobs) ** 2 / 2 * 2.0**-bits
    return "warning" if copies.sum() > _BEYOND_CHANCE * (1 + by_chance) else "info"


def _collision_bits(values: pd.Series) -> float:
    """Return how unlikely two rows are to agree in this column, in bits."""
    shares = values.value_counts(normalize=True, dropna=False).to_numpy()
    return float(-np.log2(np.sum(shares**2)))


_KEY = re.compile(
    r"(^|[._ -])(id|name|key|sn|uuid|hash|job|task|pod|worker)s?$|_?id$", re.IGNORECASE
)
#: what a unit of work is, apart from what was measured on it
_UNIT = ("parent_id", "task", "name", "submit_s", "start_s", "end_s", "after_node")
#: so many groups must show the pattern before it is one
_GROUPS = 3
#: rows that are looked at first, and rows of a large table that are looked at together
_FIRST, _TOGETHER = 100_000, 2_000_000
#: share of the groups with several rows that must show it if no id repeats
_SHARE = 0.2


@check("fan-out-join")
def fan_out_join(subject: LintSubject) -> Iterator[LintFinding]:
    """Keys that multiply rows when tables are joined on them."""
    if isinstance(subject.refusal, FanOutError):
        yield LintFinding(
            "error",
            subject.source,
            str(subject.refusal),
            "Remove the copies at the source, or aggregate that table to one row per key.",
        )
    if not subject.source and not subject.tables:
        yield from _between_files(subject.files)
    if subject.has("jobs"):
        yield from _inside_jobs(subject)


def _between_files(raw: Sequence[RawFile]) -> Iterator[LintFinding]:
    """Find columns that two files share and that repeat in both."""
    for one, two in combinations([file for file in raw if file.header and file.rows], 2):
        if set(one.header) == set(two.header):
            continue  # parts of one table
        shared = [name for name in one.header if name in two.header and _KEY.search(name)]
        if not shared:
            continue
        left, right = one.columns(shared), two.columns(shared)
        if left.empty or right.empty or not _repeats(left, right, shared):
            continue
        counts = [frame.dropna().value_counts(shared) for frame in (left, right)]
        pairs = counts[0].to_frame("m").join(counts[1].to_frame("n"), how="inner")
        both = pairs[(pairs["m"] > 1) & (pairs["n"] > 1)]
        joined = int((both["m"] * both["n"]).sum())
        grown = joined / max(int(both[["m", "n"]].max(axis=1).sum()), 1)
        if both.empty or grown < 1.5:
            continue
        key = ", ".join(shared)
        yield LintFinding(
            "warning",
            f"{one.name} + {two.name}",
            f"({key}) repeats in both files, for {len(both):,} values. Joining on it gives "
            f"{joined:,} rows, {grown:.1f} times what either file has for them: every row of one "
            "meets every row of the other.",
            "Join on a key that is unique in one file (add the worker, step or instance), or "
            "aggregate one file to a row per key first.",
            column=key,
            rows=joined,
            share=len(both) / len(pairs),
            where=tuple(map(str, both.index[:5])),
        )


def _repeats(left: pd.DataFrame, right: pd.DataFrame, shared: list[str]) -> bool:
    return bool(left.duplicated(shared).any() and right.duplicated(shared).any())


def _inside_jobs(subject: LintSubject) -> Iterator[LintFinding]:
    """Find m units x n measurements: rows of a group that are all pairs of the two."""
    jobs = subject.jobs
    used = [name for name in MEASURED if name in jobs and _varies(jobs[name])]
    unit = [name for name in _UNIT if name in jobs]
    if not used or "job_id" not in jobs or len(unit) < 2:
        return
    numbered = bool(repeated_ids(jobs).any())
    parents = has_values(jobs, "parent_id")
    marked, several, groups = np.zeros(len(jobs), np.bool_), 0, []
    for part, places in _parts(jobs, "parent_id" if parents else "job_id"):
        rows, of_several, found = _crossed(part, used, unit, numbered, parents)
        marked[places[rows]] = True
        several += of_several
        groups.append(found)
    crossed = pd.concat(groups)
    if len(crossed) < _GROUPS or (not numbered and len(crossed) < _SHARE * several):
        return
    really = int(crossed["m"].sum())
    yield from subject.marked(
        "jobs",
        marked,
        "error" if numbered else "warning",
        "{n} rows ({share}) look like the product of a join: in "
        f"{len(crossed):,} groups m units meet n measurements in all m x n ways, such as "
        f"{int(crossed['m'].iloc[0])} x {int(crossed['n'].iloc[0])}. There are really about "
        f"{really:,} units ({units.percent(really / max(int(marked.sum()), 1))} of the rows), and "
        "most rows carry the use of another unit.",
        "Go back to the raw tables and join on a key that names the unit (for PAI: inst_id and "
        "worker_name), or import the raw dump with its reader.",
    )


def _varies(values: pd.Series) -> bool:
    """Tell whether a column has more than five values; the first rows mostly show it."""
    return values.iloc[:_FIRST].nunique() > 5 or values.nunique() > 5


def _parts(jobs: pd.DataFrame, column: str) -> Iterator[tuple[pd.DataFrame, NDArray[np.int64]]]:
    """Yield rows that are looked at together, and their places: all, or some of the groups."""
    large = in_file(jobs)
    if large is None:
        yield jobs, np.arange(len(jobs))
        return
    count = -(-len(jobs) // _TOGETHER)
    part = large.parted(column, _COPY if column == "job_id" else "", count)
    for number in range(count):
        yield jobs[part == number], np.flatnonzero(part == number)


def _crossed(
    jobs: pd.DataFrame, used: list[str], unit: list[str], numbered: bool, parents: bool
) -> tuple[NDArray[np.bool_], int, pd.DataFrame]:
    """Return rows of groups that are all pairs of m units and n uses, and how many groups have
    several rows; of the former their sizes.
    """
    ids = [base_ids(jobs)] if numbered or not parents else []
    codes = pd.factorize(jobs["parent_id"] if parents else ids[0])[0]
    whose = combined_codes([*(jobs[name] for name in unit), *(ids if numbered else [])])
    what = combined_codes([pd.Series(numbers(jobs, name)) for name in used])
    known = (codes >= 0) & np.any([numbers(jobs, name) > 0 for name in used], axis=0)
    rows = pd.DataFrame({"group": codes, "unit": whose, "use": what})[known]
    sizes = rows.groupby("group", sort=False).agg(
        k=("unit", "size"), m=("unit", "nunique"), n=("use", "nunique")
    )
    distinct = rows.drop_duplicates().groupby("group", sort=False).size()
    several = sizes[sizes["k"] >= 4]
    crossed = several[
        (several["m"] >= 2)
        & (several["n"] >= 2)
        & (several["m"] * several["n"] == several["k"])
        & (distinct.reindex(several.index) == several["k"])
    ]
    marked: NDArray[np.bool_] = known & np.isin(codes, crossed.index.to_numpy())
    return marked, len(several), crossed
