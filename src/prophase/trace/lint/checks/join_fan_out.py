"""Joins on a key that is not unique: every row meets every other of its key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import FanOutError
from prophase.trace.describe.column_arrays import combined_codes
from prophase.trace.lint.check_registry import LintFinding, LintSubject, check, numbers
from prophase.trace.lint.checks.duplicates import MEASURED, base_ids
from prophase.trace.lint.raw_file import RawFile

_KEY = re.compile(
    r"(^|[._ -])(id|name|key|sn|uuid|hash|job|task|pod|worker)s?$|_?id$", re.IGNORECASE
)
#: what a unit of work is, apart from what was measured on it
_UNIT = ("parent_id", "task", "name", "submit_s", "start_s", "end_s", "after_node")
#: so many groups must show the pattern before it is one
_GROUPS = 3
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
    used = [name for name in MEASURED if name in jobs and jobs[name].nunique() > 5]
    unit = [name for name in _UNIT if name in jobs]
    if not used or "job_id" not in jobs or len(unit) < 2:
        return
    ids = base_ids(jobs)
    numbered = bool(ids.duplicated().any())
    group = jobs["parent_id"] if "parent_id" in jobs and jobs["parent_id"].notna().any() else ids
    codes = pd.factorize(group)[0]
    whose = combined_codes([*(jobs[name] for name in unit), *([ids] if numbered else [])])
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
    if len(crossed) < _GROUPS or (not numbered and len(crossed) < _SHARE * len(several)):
        return
    marked = known & np.isin(codes, crossed.index.to_numpy())
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
