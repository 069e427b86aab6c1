"""Jobs that wait for other jobs: who waits for whom, read from a column of the job table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.rules.parsing import as_rule, number_column
from prophase.sim.signatures import Floats, Ints
from prophase.sim.workload import Workload
from prophase.trace.mapping.column_mapping import free_name
from prophase.trace.schema import AFTERWARDS_PREFIX, ATTRIBUTE_PREFIX

_BETWEEN = re.compile(r"[\s|;,]+")
#: jobs of a cycle that a message names
_NAMED = 8


@dataclass(frozen=True)
class Dependencies:
    """Which column names the jobs that a job waits for.

    Attributes
    ----------
    column : str
        Job ids, separated by spaces, ``|``, ``;`` or commas. In a table of runs (``parent_id``) the
        part of the id after the run's name is enough.
    think : str, optional
        Column with the seconds between the end of the last parent and the submission of the job,
        such as ``attr_think_time_s`` of the Parallel Workloads Archive. Jobs that have parents and
        a known think time are submitted then, whenever they were submitted in the trace.
    """

    column: str
    think: str | None = None

    def graph(self, workload: Workload) -> DependencyGraph:
        """Return who waits for whom; cycles and columns that are not there are refused."""
        jobs = workload.jobs
        column = _held(jobs, self.column)
        ids = jobs["job_id"].astype(str)
        if ids.duplicated().any():
            raise InputError(
                f"depends: job_id {ids[ids.duplicated()].iloc[0]} stands for several jobs, so it "
                "is not certain who waits for whom. Resampled traces and loads other than 1 repeat "
                "jobs: replay the trace as it was recorded."
            )
        row_of = {job: row for row, job in enumerate(ids)}
        child, parent, unknown = _edges(jobs, column, row_of)
        lag = np.full(len(jobs), np.nan)
        if self.think is not None:
            lag = number_column(jobs, _held(jobs, self.think), "depends", least=0, missing=np.nan)
        graph = DependencyGraph(child, parent, lag, unknown)
        left = graph.never_released
        if left.size:
            cycle = [str(ids.iloc[job]) for job in graph.cycle(int(left[0]))]
            shown = cycle if len(cycle) <= _NAMED else [*cycle[: _NAMED - 1], "...", cycle[-1]]
            raise InputError(
                f"depends: jobs wait for each other in a circle, so none of them could start: "
                f"{' waits for '.join([*shown, cycle[0]])}. Correct {column} of one of them."
            )
        return graph


@dataclass(frozen=True)
class DependencyGraph:
    """Edges from children to parents, both as rows of a workload, by child."""

    child: Ints
    parent: Ints
    #: seconds between the end of the parents and the submission; missing: as submitted
    lag_s: Floats
    #: parents that were named but are not in the workload: they count as done
    unknown: int = 0
    #: jobs without parents, then those whose parents are all before them, and so on
    levels: list[Ints] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", list(self._levels()))

    def _levels(self) -> Iterator[Ints]:
        jobs = len(self.lag_s)
        missing = np.bincount(self.child, minlength=jobs)
        by_parent = np.argsort(self.parent, kind="stable")
        first = np.searchsorted(self.parent[by_parent], np.arange(jobs + 1))
        ready = np.flatnonzero(missing == 0)
        while ready.size:
            yield ready
            edges = by_parent[_ranges(first[ready], first[ready + 1])]
            freed, met = np.unique(self.child[edges], return_counts=True)
            missing[freed] -= met
            ready = freed[missing[freed] == 0]

    @property
    def never_released(self) -> Ints:
        """Jobs of a circle, and those that wait for one."""
        left = np.ones(len(self.lag_s), np.bool_)
        for level in self.levels:
            left[level] = False
        return np.flatnonzero(left)

    def cycle(self, job: int) -> list[int]:
        """Return the jobs of a circle that a job which is never released waits for."""
        stuck = set(self.never_released.tolist())
        waits_for = {
            child: parent
            for child, parent in zip(self.child.tolist(), self.parent.tolist(), strict=True)
            if parent in stuck
        }
        path = [job]
        while waits_for[path[-1]] not in path:
            path.append(waits_for[path[-1]])
        return path[path.index(waits_for[path[-1]]) :]

    def released(self, submit_s: Floats, end_s: Floats, duration_s: Floats) -> Floats:
        """Return from when on each job may start, given when its parents ended.

        Parents that have no end were not replayed, and count as done. A job starts after a parent
        that takes no time, not at the same instant.
        """
        return self._released(np.arange(len(submit_s)), submit_s, end_s, duration_s)

    def without_waiting(self, submit_s: Floats, duration_s: Floats) -> tuple[Floats, Floats]:
        """Return release and end of each job on a cluster on which nobody waits for room."""
        release, end = np.array(submit_s), np.full(len(submit_s), np.nan)
        for level in self.levels:
            release[level] = self._released(level, submit_s, end, duration_s)
            end[level] = release[level] + duration_s[level]
        return release, end

    def _released(self, jobs: Ints, submit_s: Floats, end_s: Floats, duration_s: Floats) -> Floats:
        first, stop = np.searchsorted(self.child, jobs), np.searchsorted(self.child, jobs + 1)
        parent = self.parent[_ranges(first, stop)]
        ends = np.where(duration_s[parent] > 0, end_s[parent], np.nextafter(end_s[parent], np.inf))
        ends[np.isnan(ends)] = -np.inf
        count = stop - first
        last = np.full(len(jobs), -np.inf)
        if ends.size:
            begin = np.cumsum(count) - count
            last[count > 0] = np.maximum.reduceat(ends, begin[count > 0])
        lag = self.lag_s[jobs]
        thinks = np.isfinite(lag) & np.isfinite(last)
        return np.where(thinks, last + lag, np.maximum(submit_s[jobs], last))


def as_dependencies(value: Dependencies | str | None) -> Dependencies | None:
    """Read who waits for whom as people name it: ``'COLUMN'`` or ``'column=NAME,think=NAME'``.

    Examples
    --------
    >>> as_dependencies("attr_parents")
    Dependencies(column='attr_parents', think=None)
    """
    if isinstance(value, str) and "=" not in value and value.strip():
        return Dependencies(value.strip())
    if isinstance(value, bool):
        raise ParameterError("depends: name the column that holds the parents of a job.")
    return as_rule(Dependencies, value, "depends")


def _held(jobs: pd.DataFrame, name: str) -> str:
    """Return the column of that name, or the one that an import made of it."""
    made = (free_name(prefix, name) for prefix in (ATTRIBUTE_PREFIX, AFTERWARDS_PREFIX))
    found = next((one for one in (name, *made) if one in jobs), None)
    if found is None:
        raise InputError(
            f"depends: the job table has no column {name}. Name the column that holds the parents "
            f"of a job. It has: {', '.join(map(str, jobs.columns))}."
        )
    return found


def submitted_with_their_run(workload: Workload) -> Workload:
    """Let tasks whose submission nobody recorded be submitted when their run began.

    Their recorded start is when parents had ended and there was room, on another cluster.
    """
    jobs = workload.jobs
    if "submit_s" in jobs and jobs["submit_s"].notna().any():
        return workload
    if "parent_id" not in jobs:
        return workload.released_at(np.full(len(workload), workload.submit_s.min()))
    run = jobs["parent_id"].astype(str).to_numpy()
    began = pd.Series(workload.submit_s).groupby(run).transform("min")
    return workload.released_at(began.to_numpy(np.float64))


def _edges(jobs: pd.DataFrame, column: str, row_of: dict[str, int]) -> tuple[Ints, Ints, int]:
    """Return children and parents as rows, and how many named parents are not there."""
    runs = jobs["parent_id"].astype(str) if "parent_id" in jobs else pd.Series("", jobs.index)
    children: list[int] = []
    parents: list[int] = []
    unknown = 0
    named = jobs[column]
    for row, (text, run) in enumerate(zip(named.map(_text), runs, strict=True)):
        for word in filter(None, _BETWEEN.split(text)):
            found = row_of.get(word, row_of.get(f"{run}/{word}"))
            if found is None:
                unknown += 1
                continue
            children.append(row)
            parents.append(found)
    return np.array(children, np.int64), np.array(parents, np.int64), unknown


def _text(value: object) -> str:
    """Return named parents as text; a number is a job id without a fraction."""
    if isinstance(value, list | tuple | np.ndarray):
        return " ".join(map(_text, value))
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _ranges(first: Ints, last: Ints) -> Ints:
    """Return first[0] ... last[0] - 1, first[1] ... and so on."""
    count = last - first
    start = np.repeat(first - np.cumsum(count) + count, count)
    ranges: Ints = start + np.arange(count.sum())
    return ranges
