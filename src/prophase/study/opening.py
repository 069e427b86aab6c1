"""What a study says before it works: what was recognised, grouped by what, in which units."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from prophase import units
from prophase.plural import counted
from prophase.study.plan import StudyPlan
from prophase.study.steps.import_trace import MAPPING
from prophase.trace.identity.job_identity import grouped_by
from prophase.trace.reader import all_readers
from prophase.trace.workspace import TableEntry, Workspace

#: a line of a mapping: column, what it is made of, how sure, why
_GUESS = re.compile(r"(?P<target>\w+) = (?P<how>.*?) # (?P<sure>sure|likely|unsure): (?P<why>.*)")
_UNIT = re.compile(r'column = "(?P<column>[^"]+)", unit = "(?P<unit>[^"]+)"')


def opening(plan: StudyPlan, workspace: Path) -> list[str]:
    """Return what was recognised, by what jobs are grouped, and which units were taken.

    Parameters
    ----------
    workspace : path
        The tables as they were read.
    """
    held = Workspace(workspace)
    tables = held.tables
    lines = [_recognised(plan, tables)]
    if "jobs" not in tables:
        return lines
    jobs = held.read("jobs")
    lines[0] += f" {_when(jobs, tables['jobs'])}"
    lines.append(grouped_by(jobs))
    lines.append(_units(tables["jobs"], workspace / MAPPING))
    return lines


def _recognised(plan: StudyPlan, tables: Mapping[str, TableEntry]) -> str:
    first = next(iter(tables.values()))
    reader = all_readers().get(first.source)
    title = f"{first.source} ({reader.title})" if reader is not None else first.source
    rows = ", ".join(
        counted(one.rows, name.rstrip("s") if name.endswith("s") else f"row of {name}")
        for name, one in tables.items()
        if one.rows
    )
    how = "as named" if plan.source else "recognised by its columns"
    return f"{plan.trace} is {title}, {how}: {rows}."


def _when(jobs: pd.DataFrame, entry: TableEntry) -> str:
    """Say from when to when jobs were submitted."""
    column = next((name for name in ("submit_s", "start_s", "end_s") if name in jobs), None)
    known = (jobs[column] if column else pd.Series(dtype=float)).dropna().to_numpy(float)
    if not len(known):
        return "No times."
    span = units.duration(float(known.max() - known.min()))
    if entry.clock == "relative":
        return f"{span} long, on a clock of its own."
    first, last = (
        datetime.fromtimestamp(float(one), UTC).strftime("%Y-%m-%d")
        for one in (known.min(), known.max())
    )
    return f"{first} to {last} ({span})."


def _units(entry: TableEntry, mapping: Path) -> str:
    """Say which units were taken, and how sure that is."""
    if not mapping.is_file():
        return f"Units: as {entry.source} defines them (sure)."
    taken, doubts = [], []
    for line in mapping.read_text(encoding="utf-8").splitlines():
        found = _GUESS.match(line)
        unit = _UNIT.search(found["how"]) if found else None
        if found is None or unit is None:
            continue
        taken.append(f"{unit['column']} in {unit['unit']} ({found['sure']})")
        if found["sure"] != "sure":
            doubts.append(found["target"])
    said = f"Units, guessed from names and values: {'; '.join(taken)}."
    if doubts:
        said += f" Not right? Correct {mapping} and run again."
    return said
