"""What the steps of a study share: the plan, the tables, and what earlier steps found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import InputError
from prophase.json_types import JsonObject
from prophase.result import Fact, Result, Section
from prophase.sim.cluster import Cluster
from prophase.sim.signatures import ASK_CPU, ASK_GPUS, ASK_MEMORY, CPU, GPUS, MEMORY
from prophase.study.cluster import machines
from prophase.study.plan import StudyPlan
from prophase.trace.describe.column_arrays import NotComputable, has_values
from prophase.trace.describe.trace_clock import date_of, span_of
from prophase.trace.trace_tables import Trace, open_trace

#: columns that tell logs of several systems apart
_SYSTEMS = ("attr_cluster", "attr_log")
#: tells what is being done, and how much of it is done in percent
Show = Callable[[str, float | None], None]


class CannotDo(InputError):
    """The trace lacks what a step needs; the study continues without it."""


@dataclass(frozen=True)
class StepOutcome:
    """What a step found: a part of the report, and its numbers."""

    part: Result
    result: JsonObject
    #: name -> text of files that go beside the report
    files: Mapping[str, str] = field(default_factory=dict)


def part(section: Section, facts: Iterable[Fact] = ()) -> Result:
    """Return the part of a report that holds one section."""
    return Result(section.key, section.title, facts=list(facts), sections=[section])


@dataclass
class StepContext:
    """One study under way."""

    plan: StudyPlan
    workspace: Path
    show: Show
    #: step -> its numbers, of this run or an earlier one
    found: dict[str, JsonObject] = field(default_factory=dict)
    #: name -> text of files that finished steps made
    files: dict[str, str] = field(default_factory=dict)
    #: step -> why it could not be done
    cannot: dict[str, str] = field(default_factory=dict)
    #: where reports and exports go
    folder: Path = field(default_factory=Path)

    @cached_property
    def trace(self) -> Trace:
        """The tables of the workspace."""
        return open_trace(self.workspace)

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """The jobs that are learnt from and replayed: of a long trace the latest ones."""
        if "jobs" not in self.trace.tables:
            held = ", ".join(self.trace.tables) or "nothing"
            raise CannotDo(
                f"needs a job table (one row per job); the trace has {held}. Add the jobs: "
                f"prophase import SOURCE PATH --workspace {self.workspace}"
            )
        jobs = self.trace.jobs
        if len(jobs) <= self.plan.most_jobs:
            return jobs
        clock = next((c for c in ("submit_s", "start_s") if has_values(jobs, c)), None)
        if clock is None:
            return jobs.tail(self.plan.most_jobs)
        # only the rows that stay are copied: of a long trace they are few
        latest = np.argsort(jobs[clock].to_numpy(np.float64, na_value=np.nan), kind="stable")
        return jobs.iloc[latest[-self.plan.most_jobs :]]

    @cached_property
    def cluster(self) -> Cluster | None:
        """The cluster of the plan, else that of the trace's nodes."""
        if self.plan.cluster is None and self.systems:
            return None
        return machines(self.trace, self.plan.cluster)

    @cached_property
    def systems(self) -> dict[str, int]:
        """Jobs of each system, if those of several, which share no nodes, are in one table."""
        jobs = self.trace.tables.get("jobs")
        column = next((c for c in _SYSTEMS if jobs is not None and has_values(jobs, c)), None)
        if jobs is None or column is None:
            return {}
        counts = jobs[column].astype(str).value_counts()
        return {} if len(counts) < 2 else {str(name): int(n) for name, n in counts.items()}

    @cached_property
    def why_none_fits(self) -> str:
        """What the nodes lack if not one job fits on any of them; empty if some do."""
        from prophase.sim.sweep.dry_run import unfit_jobs
        from prophase.sim.workload import Workload

        if self.cluster is None:
            return ""
        workload = Workload.from_jobs(self.jobs)
        if not unfit_jobs(workload, self.cluster).all():
            return ""
        least = workload.asks[:, [ASK_CPU, ASK_MEMORY, ASK_GPUS]].min(axis=0) / (1000, 1024, 1)
        most = self.cluster.matrix[:, [CPU, MEMORY, GPUS]].max(axis=0) / (1000, 1024, 1)
        most = [units.number(one) if one < 1e6 else "any" for one in most]
        return (
            "needs nodes that are large enough: no job fits on any. The smallest requests are "
            f"{units.number(least[0])} cores, {units.number(least[1])} GiB, "
            f"{units.number(least[2])} GPUs; the largest node "
            f"has {most[0]} cores, {most[1]} GiB, {most[2]} GPUs. Name the right nodes, such as "
            "--cluster nodes.csv or --cluster '20x8 V100 96c 512g'"
        )

    @property
    def why_no_cluster(self) -> str:
        """Why there is nothing to replay on, and what to name."""
        if self.systems:
            held = ", ".join(f"{name} {jobs:,}" for name, jobs in list(self.systems.items())[:5])
            return (
                f"needs jobs of one system; the trace mixes {len(self.systems)} that share no "
                f"nodes (jobs: {held}). Study the files of each by themselves, or name the nodes "
                "they would share (--cluster)"
            )
        return (
            "needs a list of nodes, and the trace has none: name one, such as "
            "--cluster nodes.csv or --cluster '20x8 V100 96c 512g'"
        )

    @property
    def last_day(self) -> str:
        """The last date of the history, or how to write one if its clock has none."""
        found = span_of(self.trace.jobs, self.trace.clock)
        date = None if isinstance(found, NotComputable) else date_of(found.last_s, found.clock)
        return "YYYY-MM-DD" if date is None else f"{date:%Y-%m-%d}"

    def column(self, name: str) -> bool:
        """Tell whether any job has a value in a column."""
        return has_values(self.jobs, name)

    def need(self, *columns: str) -> None:
        """Refuse to continue without these columns; ``"a|b"`` means either."""
        if missing := self.missing(*columns):
            raise CannotDo(f"needs {', '.join(missing)}, which no job of the trace has")

    def missing(self, *columns: str) -> list[str]:
        """Return which of these columns no job has; ``"a|b"`` means either."""
        jobs = self.jobs
        return [
            column.replace("|", " or ")
            for column in columns
            if not any(has_values(jobs, one) for one in column.split("|"))
        ]
