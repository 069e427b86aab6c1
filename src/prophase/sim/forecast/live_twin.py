"""A live queue run forward: when waiting jobs start, in futures with run times of finished jobs.

Whatever the scheduler is, run times are drawn alike, and intervals are told alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.forecast.remaining_time import RunTimes
from prophase.sim.forecast.start_forecast import (
    LEAST_FINISHED,
    IntervalWidening,
    StartForecast,
    told_start,
)
from prophase.sim.signatures import Floats


@dataclass(frozen=True)
class LiveQueue:
    """What runs and what waits at one instant: columns of the job table."""

    now_s: float
    jobs: pd.DataFrame

    @property
    def running(self) -> pd.DataFrame:
        """Jobs that run, or hold quota."""
        return self.jobs[self.jobs["status"] == "running"]

    @property
    def waiting(self) -> pd.DataFrame:
        """Jobs that wait: by priority, then by age."""
        waits = self.jobs[self.jobs["status"] == "pending"]
        return waits.sort_values(["attr_priority", "submit_s"], ascending=[False, True])


@dataclass(frozen=True)
class LiveTwin(ABC):
    """A live queue, and how long its jobs run.

    Parameters
    ----------
    snapshot : LiveQueue
    finished : DataFrame, optional
        Finished jobs, to learn run times from; without them time limits count.
    """

    snapshot: LiveQueue
    finished: pd.DataFrame | None = None
    draws: int = 60
    random_state: int = 0
    jobs: pd.DataFrame = field(init=False)

    def __post_init__(self) -> None:
        shot = self.snapshot
        jobs = pd.concat([shot.running, shot.waiting], ignore_index=True)
        elapsed = np.where(
            jobs["status"] == "running", np.maximum(shot.now_s - jobs["start_s"], 0.0), 0.0
        )
        cores = jobs["request_cpu_cores"].fillna(0.0) * jobs["instances"]
        object.__setattr__(self, "jobs", jobs.assign(elapsed_s=elapsed, _cores=cores))

    @cached_property
    def running(self) -> int:
        """How many jobs run."""
        return int((self.jobs["status"] == "running").sum())

    @cached_property
    def _waiting_ids(self) -> pd.Index:
        ids: list[str] = self.jobs["job_id"].astype(str).tolist()[self.running :]
        return pd.Index(ids)

    @cached_property
    def left_s(self) -> Floats:
        """Return how much longer each job runs, one column per draw."""
        if self.finished is None or len(self.finished) < LEAST_FINISHED:
            raise InputError(
                f"only {0 if self.finished is None else len(self.finished):,} finished jobs are "
                f"known; {LEAST_FINISHED} are needed to say how long jobs run"
            )
        history = RunTimes.of(_with_ratio(self.finished), levels=_LEVELS)
        rng = np.random.default_rng(self.random_state)
        drawn = history.draw(_with_ratio(self.jobs), rng, self.draws)
        return np.maximum(drawn, 1.0)

    @abstractmethod
    def starts(self, left_s: Floats) -> pd.Series:
        """Return when each waiting job starts, in seconds from now, for one draw of run times."""

    def eta(self, job: str, stretch: IntervalWidening | None = None) -> StartForecast:
        """Say when a waiting job starts, with an interval."""
        return self.etas([job], stretch)[job]

    def etas(
        self, jobs: Sequence[str], stretch: IntervalWidening | None = None
    ) -> dict[str, StartForecast]:
        """Say when waiting jobs start, with intervals; all from the same futures."""
        ids = self.jobs["job_id"].to_numpy(str)
        waiting = list(ids[self.running :])
        for job in jobs:
            if job not in waiting:
                runs = " It runs already." if job in ids else ""
                raise ParameterError(f"job {job} does not wait in this queue.{runs}")

        def about(job: str) -> dict[str, Any]:
            return {
                "job_id": job,
                "now_s": self.snapshot.now_s,
                "running": self.running,
                "waiting": len(waiting),
                "ahead": waiting.index(job),
            }

        def abstain(job: str, reason: str) -> StartForecast:
            return StartForecast(**about(job), p10_s=None, p50_s=None, p90_s=None, reason=reason)

        try:
            drawn = self.left_s
            tables = [self.starts(one) for one in drawn.T]
        except InputError as cause:
            return {job: abstain(job, str(cause).rstrip(".")) for job in jobs}
        found = {}
        for job in jobs:
            starts = np.array([table[job] for table in tables], np.float64)
            if np.isnan(starts).any():
                found[job] = abstain(job, "it never starts in some futures")
            else:
                found[job] = told_start(about(job), starts, stretch)
        return found


#: run times by user and what was asked for; limits tell much, so their size is one of the keys
_LEVELS = (
    ("user", "name", "_limit", "request_gpus", "_size"),
    ("user", "_limit", "_size"),
    ("user", "_limit"),
    ("_limit", "_size"),
    ("_limit",),
    ("user",),
    (),
)


def _with_ratio(jobs: pd.DataFrame) -> pd.DataFrame:
    """Add what run times are grouped by: time limit and size, in steps."""
    limit = jobs["time_limit_s"].to_numpy(np.float64, na_value=np.nan)
    cores = jobs["request_cpu_cores"].fillna(0.0).to_numpy(np.float64) * jobs["instances"].fillna(
        1.0
    ).to_numpy(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.round(2 * np.log2(np.maximum(limit, 1.0)))
        size = np.round(np.log2(np.maximum(cores, 1.0)))
    return jobs.assign(_limit=np.where(np.isnan(limit), -1.0, step), _size=size)
