"""Jobs that hold what each phase of their run needs, instead of one request for the whole of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sim.rules.parsing import at_least, number_column
from prophase.sim.signatures import ASK_CPU, ASK_INSTANCES, ASK_MEMORY, Floats, Ints
from prophase.sim.workload import Workload

#: column of the table -> column of requests, and how many of its units are one of the table's
_HELD = {"cpu_cores": (ASK_CPU, 1000.0), "memory_gib": (ASK_MEMORY, 1024.0)}
_USED = "used_memory_gib"


@dataclass(frozen=True)
class PhasedDemand:
    """What jobs need in each phase.

    Attributes
    ----------
    table : DataFrame
        A row per job and phase: ``job_id``, ``after_s`` (seconds of its run after which the phase
        begins), and what it holds then: ``memory_gib``, ``cpu_cores``, or both, of all its
        instances together. ``used_memory_gib``, if given, is what it really takes: more than is
        held kills it. Jobs that are not in the table hold their request.
    ahead : int
        So many phases to come are held room for already, the largest counts.
    """

    table: pd.DataFrame
    ahead: int = 0

    def __post_init__(self) -> None:
        at_least("demand ahead", self.ahead, 0)
        columns = set(self.table.columns)
        if missing := {"job_id", "after_s"} - columns:
            raise InputError(f"the table of demand lacks {', '.join(sorted(missing))}.")
        if not columns & set(_HELD):
            raise InputError(f"the table of demand lacks {' or '.join(sorted(_HELD))}.")
        for column in columns & {"after_s", _USED, *_HELD}:
            number_column(self.table, column, "table of demand", least=0)

    def jobs(self, workload: Workload) -> PhasedJobs:
        """Return when each job's phases begin, and its request in each."""
        table = self.table.assign(job_id=self.table["job_id"].astype(str)).sort_values(
            ["job_id", "after_s"], kind="stable"
        )
        parts = dict(list(table.groupby("job_id", sort=False)))
        begins: list[Floats] = []
        asks: list[Ints] = []
        short: list[np.ndarray] = []
        for job, name in enumerate(workload.jobs["job_id"].astype(str)):
            own = workload.asks[job]
            part = parts.get(name)
            if part is None:
                begins.append(np.zeros(1))
                asks.append(own[None, :].copy())
                short.append(np.zeros(1, np.bool_))
                continue
            begin = part["after_s"].to_numpy(np.float64)
            if len(begin) > 1 and (np.diff(begin) <= 0).any():
                raise InputError(f"the table of demand has two phases of job {name} at one time.")
            rows = np.repeat(own[None, :], len(part), axis=0)
            for column, (place, factor) in _HELD.items():
                if column in part:
                    whole = part[column].to_numpy(np.float64) * factor / own[ASK_INSTANCES]
                    rows[:, place] = np.ceil(whole - 1e-6)
            # the first phase begins with the job, whatever was noted first
            begins.append(np.concatenate([[0.0], begin[1:]]))
            asks.append(_with_those_to_come(rows, self.ahead))
            held = asks[-1][:, ASK_MEMORY] * own[ASK_INSTANCES] / _HELD["memory_gib"][1]
            used = part[_USED].to_numpy(np.float64) if _USED in part else np.zeros(len(part))
            short.append(used > held + 1e-3)
        if not set(parts) & set(workload.jobs["job_id"].astype(str)):
            raise InputError(
                "the table of demand names no job of this trace; its first is "
                f"{next(iter(parts))!r}, that of the trace {workload.jobs['job_id'].iloc[0]!r}."
            )
        first = np.cumsum([0, *map(len, begins)])
        return PhasedJobs(
            first, np.concatenate(begins), np.concatenate(asks), np.concatenate(short)
        )


def _with_those_to_come(rows: Ints, ahead: int) -> Ints:
    """Return requests that hold the largest of each phase and so many after it."""
    held = rows.copy()
    for step in range(1, min(ahead, len(rows) - 1) + 1):
        for place, _ in _HELD.values():
            held[:-step, place] = np.maximum(held[:-step, place], rows[step:, place])
    return held


@dataclass(frozen=True)
class PhasedJobs:
    """The phases of all jobs, one below the other."""

    #: first row of each job, and one beyond the last
    first: Ints
    begin_s: Floats
    asks: Ints
    #: phases in which a job takes more memory than it holds
    short: np.ndarray

    def largest(self) -> Ints:
        """Return what each job asks for at most."""
        return np.maximum.reduceat(self.asks, self.first[:-1], axis=0)
