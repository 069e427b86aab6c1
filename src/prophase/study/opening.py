"""What a study says before it works: what was recognised, grouped by what, in which units."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from prophase import units
from prophase.plural import counted, listed
from prophase.study.plan import StudyPlan
from prophase.study.steps.import_trace import MAPPING
from prophase.trace.identity.job_identity import grouped_by
from prophase.trace.mapping.mapping_proposal import TABLE_FILES
from prophase.trace.reader import all_readers
from prophase.trace.source_files import files_below, matches
from prophase.trace.workspace import TableEntry, Workspace

#: a line of a mapping: column, what it is made of, how sure, why
_GUESS = re.compile(r"(?P<target>\w+) = (?P<how>.*?) # (?P<sure>sure|likely|unsure): (?P<why>.*)")
#: how units are said that are a form of text
_UNIT_WORDS = {
    "datetime": "as dates",
    "datetime dmy": "as dates, day first",
    "datetime mdy": "as dates, month first",
    "hms": "as h:m:s",
    "size": "with a unit in each cell",
    "quantity": "as Kubernetes writes it",
}
_UNIT = re.compile(r'column = "(?P<column>[^"]+)", unit = "(?P<unit>[^"]+)"')


#: seconds; a clock that shows an earlier year than 1980 starts at a zero of its own
_NO_DATE_S = 3.15e8


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
    aside = _not_read(Path(plan.trace), tables)
    if aside:
        lines.append(f"Not read, of the same folder: {listed(aside)}.")
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
        counted(one.rows, name.removesuffix("s"))
        if name in ("jobs", "nodes")
        else counted(one.rows, f"row of {name}", f"rows of {name}")
        for name, one in tables.items()
        if one.rows
    )
    how = "as named" if plan.source else "recognised by its columns"
    return f"{plan.trace} is {title}, {how}: {rows}."


def _not_read(trace: Path, tables: Mapping[str, TableEntry]) -> list[str]:
    """Return the tables of a folder that its reader left aside."""
    if not trace.is_dir() or Workspace.is_at(trace):
        return []
    read = {name for entry in tables.values() for name in entry.report.get("files") or ()}
    return [
        name
        for path in files_below(trace)
        if matches(path, TABLE_FILES) and (name := path.relative_to(trace).as_posix()) not in read
    ]


def _when(jobs: pd.DataFrame, entry: TableEntry) -> str:
    """Say from when to when jobs were submitted."""
    column = next((name for name in ("submit_s", "start_s", "end_s") if name in jobs), None)
    known = (jobs[column] if column else pd.Series(dtype=float)).dropna().to_numpy(float)
    if not len(known):
        return "No times."
    span = units.duration(float(known.max() - known.min()))
    if known.max() == known.min():
        return "All jobs were submitted at the same time."
    if entry.clock == "relative" or known.max() < _NO_DATE_S:
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
        words = _UNIT_WORDS.get(unit["unit"], f"in {unit['unit']}")
        sure = found["sure"]
        if sure != "sure":
            sure += f" {found['target']}"
        taken.append(f"{unit['column']} {words} ({sure})")
        if found["sure"] != "sure":
            doubts.append(found["target"])
    said = f"Units, guessed from names and values: {'; '.join(taken)}."
    if doubts:
        said += f" Not right? Correct {mapping} and run again."
    return said
