"""Jobs that run with more or fewer workers, and how much faster more make them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.sim.rules.parsing import at_least, number_column
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    Floats,
    Ints,
)
from prophase.sim.workload import Workload

_WHOLE = 1000
_LEAST, _MOST = "attr_min_workers", "attr_max_workers"


@dataclass(frozen=True)
class Elastic:
    """How many workers, of one GPU each, a job may have, and how fast it is with them.

    Jobs that ask for a part of a GPU, or for none, stay as they are. The run time of the trace
    holds for the GPUs that a job asks for.

    Attributes
    ----------
    min, max : int
        Workers of a job; ``attr_min_workers`` and ``attr_max_workers`` of the job table go first. A
        job may always have as many as it asks for.
    serial : float
        Amdahl's law: the part of the work that more workers do not make faster.
    table : DataFrame, optional
        Measured instead: ``workers`` and ``speedup`` (against any one number of workers), and
        ``kind`` if kinds differ. In between it is interpolated, beyond it does not grow.
    kind_column : str
        Column of the job table that names the kinds of the table.
    restart_s : float
        Time without progress after a change of workers.
    every_s : float
        Workers that nobody waits for are handed out again to a job no sooner than this.
    """

    min: int = 1
    max: int = 8
    serial: float = 0.0
    table: pd.DataFrame | None = None
    kind_column: str = "task"
    restart_s: float = 0.0
    every_s: float = 0.0

    def __post_init__(self) -> None:
        at_least("elastic min", self.min, 1)
        at_least("elastic max", self.max, self.min)
        at_least("elastic restart_s", self.restart_s, 0)
        at_least("elastic every_s", self.every_s, 0)
        at_least("elastic serial", self.serial, 0)
        if self.serial > 1:
            raise InputError(f"elastic: serial = {self.serial:g} is a share of the work, 0 to 1.")
        if self.table is None:
            return
        missing = {"workers", "speedup"} - set(self.table.columns)
        if missing:
            raise InputError(f"the table of speed-ups lacks {', '.join(sorted(missing))}.")
        for column in ("workers", "speedup"):
            number_column(self.table, column, "table of speed-ups", above=0)

    def jobs(self, workload: Workload) -> ElasticJobs:
        """Return the workload as workers of one GPU each, and what each job may have."""
        asks = workload.asks
        elastic = (asks[:, ASK_MILLI] == _WHOLE) & (asks[:, ASK_GPUS] > 0)
        if not elastic.any():
            raise InputError("elastic: no job of this trace asks for whole GPUs.")
        asked = np.where(
            elastic, asks[:, ASK_GPUS] * asks[:, ASK_INSTANCES], asks[:, ASK_INSTANCES]
        )
        made = asks.copy()
        for column in (ASK_CPU, ASK_MEMORY):
            whole = asks[elastic, column] * asks[elastic, ASK_INSTANCES]
            made[elastic, column] = -(-whole // asked[elastic])
        made[elastic, ASK_GPUS], made[:, ASK_INSTANCES] = 1, asked
        least = np.where(elastic, np.minimum(_column(workload, _LEAST, self.min), asked), asked)
        most = np.where(elastic, np.maximum(_column(workload, _MOST, self.max), asked), asked)
        if (wrong := elastic & (least < 1)).any():
            name = workload.jobs.loc[wrong, "job_id"].iloc[0]
            raise InputError(f"elastic: job {name} has {_LEAST} below 1. Correct the row.")
        width = int(most.max()) + 1
        curves, curve_of = self._curves(workload, width)
        return ElasticJobs(
            replace(workload, asks=made), elastic, asked, least, most, curves, curve_of
        )

    def _curves(self, workload: Workload, width: int) -> tuple[Floats, Ints]:
        """Return the speed-up at 0, 1, 2 ... workers of each kind, and the kind of each job."""
        workers = np.arange(width, dtype=np.float64)
        if self.table is None:
            amdahl = np.zeros(width)
            amdahl[1:] = 1.0 / (self.serial + (1.0 - self.serial) / workers[1:])
            return amdahl[None, :], np.zeros(len(workload), np.int64)
        table = self.table.assign(kind=self.table.get("kind", "*")).fillna({"kind": "*"})
        names = sorted(set(table["kind"].astype(str)))
        curves = np.zeros((len(names), width))
        for row, name in enumerate(names):
            part = table[table["kind"].astype(str) == name].sort_values("workers")
            curves[row, 1:] = np.interp(workers[1:], part["workers"], part["speedup"])
        kinds = (
            workload.jobs[self.kind_column].astype(str)
            if self.kind_column in workload.jobs
            else pd.Series("*", workload.jobs.index)
        )
        known = {name: row for row, name in enumerate(names)}
        of_job = kinds.map(lambda kind: known.get(kind, known.get("*", -1))).to_numpy(np.int64)
        if (of_job < 0).any():
            name = kinds[of_job < 0].iloc[0]
            raise InputError(
                f"the table of speed-ups has no row of kind {name!r}, nor of '*' for all others."
            )
        return curves, of_job


@dataclass(frozen=True)
class ElasticJobs:
    """Jobs as workers: how many each asks for, needs at least and takes at most."""

    workload: Workload
    elastic: NDArray[np.bool_]
    asked: Ints
    least: Ints
    most: Ints
    curves: Floats
    curve_of: Ints

    def rate(self, job: int, workers: int) -> float:
        """Return how fast a job is, against the GPUs that it asked for."""
        curve = self.curves[self.curve_of[job]]
        return float(curve[workers] / curve[self.asked[job]])


def _column(workload: Workload, name: str, default: int) -> Ints:
    if name not in workload.jobs:
        return np.full(len(workload), default, np.int64)
    given = number_column(workload.jobs, name, "elastic", least=1, missing=default)
    return given.astype(np.int64)
