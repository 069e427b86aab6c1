"""A workload: the jobs of a trace as the arrays a replay needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from prophase import units
from prophase.errors import InputError
from prophase.plain import finite
from prophase.plural import counted
from prophase.short_form import ShortForm
from prophase.sim.rules.parsing import number_column
from prophase.sim.signatures import (
    ASK_COLUMNS,
    ASK_CPU,
    ASK_GPUS,
    ASK_HIGH_END,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    Floats,
    Ints,
)

#: a fraction of a GPU is kept to the thousandth, CPU to the thousandth core, memory to the MiB
_MILLI, _MIB_PER_GIB = 1000, 1024
_NAMED = 5
#: jobs from which memory is looked after
_MANY = 100_000
_REQUESTS = ("request_gpus", "request_cpu_cores", "request_memory_gib")
#: GPUs, cores, GiB or instances that nobody has
_MOST = 1_000_000_000


@dataclass(frozen=True, repr=False)
class Workload(ShortForm):
    """Jobs in order of submission, with whole-number requests.

    Attributes
    ----------
    jobs : DataFrame
        The job table the arrays come from, same rows; policies read further columns from it.
    left_out : dict
        Rows of the table that cannot be replayed, counted by reason.
    """

    jobs: pd.DataFrame
    submit_s: Floats
    duration_s: Floats
    #: one row per job, columns as in ``signatures``; GPU types and features come with the cluster
    asks: Ints
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.submit_s)

    @property
    def gpus(self) -> Floats:
        """GPUs of each job, all instances together."""
        asks = self.asks
        gpus: Floats = asks[:, ASK_GPUS] * asks[:, ASK_MILLI] / _MILLI * asks[:, ASK_INSTANCES]
        return gpus

    @property
    def cores(self) -> Floats:
        """CPU cores of each job, all instances together."""
        cores: Floats = self.asks[:, ASK_CPU] / _MILLI * self.asks[:, ASK_INSTANCES]
        return cores

    @property
    def table(self) -> pd.DataFrame:
        """The jobs, in order of submission."""
        return self.jobs

    def summary(self) -> list[str]:
        """Say how many jobs there are, over how long, and how many were left out."""
        span = units.duration(float(np.ptp(self.submit_s))) if len(self) else "no time"
        out = [f"left out, {why}: {count:,}" for why, count in self.left_out.items()]
        return [f"Workload of {len(self):,} jobs submitted over {span}", *out, *self.unstated()]

    def unstated(self) -> list[str]:
        """Say of how many jobs which request is not known: it counts as 0."""
        names = [name for name in _REQUESTS if name in self.jobs]
        counts = {name: int(self.jobs[name].isna().sum()) for name in names}
        told = [f"{name} of {count:,} jobs" for name, count in counts.items() if count]
        return [f"requests that are not stated count as 0: {', '.join(told)}"] if told else []

    def to_dict(self) -> dict[str, Any]:
        """Return the jobs as JSON holds them."""
        return {"jobs": finite(self.jobs.to_dict("records")), "left_out": dict(self.left_out)}

    @classmethod
    def from_jobs(
        cls, jobs: pd.DataFrame, *, run_time: str = "duration_s", without_clock: bool = False
    ) -> Self:
        """Take the jobs that have a submit time and a run time; count those left out.

        Where no submit time is known the start is taken, and the replay says so. Another column
        than ``duration_s`` may hold the true run times. Of a table that has no times at all, such
        as most recorded workflows, all jobs are submitted at 0 if ``without_clock`` is true.
        """
        if run_time != "duration_s":
            if run_time not in jobs:
                raise InputError(f"the job table has no column {run_time} with run times.")
            jobs = jobs.assign(duration_s=jobs[run_time])
        if not len(jobs):
            raise InputError("the job table has no rows: nothing to replay.")
        if "duration_s" not in jobs or not jobs["duration_s"].notna().any():
            others = [str(n) for n in jobs if "duration" in str(n) and jobs[n].notna().any()]
            hint = f" Name another column (--run-time): {', '.join(others)}." if others else ""
            raise InputError(
                f"the job table has no run times (duration_s): nothing to replay.{hint}"
            )
        clock = next(
            (c for c in ("submit_s", "start_s") if c in jobs and jobs[c].notna().any()), None
        )
        if clock is None and without_clock:
            clock, jobs = "submit_s", jobs.assign(submit_s=0.0)
        if clock is None:
            raise InputError(
                "the job table has neither submit_s nor start_s: no arrivals to replay. Tasks of a "
                "workflow can do without: name the column of their parents (--depends)."
            )
        submit, duration = _numbers(jobs, clock), _numbers(jobs, "duration_s")
        unknown = {
            f"no {clock}": np.isnan(submit),
            "no duration_s": ~np.isnan(submit) & np.isnan(duration),
        }
        left_out = {reason: int(mask.sum()) for reason, mask in unknown.items() if mask.any()}
        if left_out:
            jobs = jobs[~np.isnan(submit) & ~np.isnan(duration)]
            submit = _numbers(jobs, clock)
        if len(jobs) >= _MANY:
            # what Arrow keeps for itself after a table was read is more than a replay takes
            pa.default_memory_pool().release_unused()
        rows = _rows_in_time(submit, jobs["job_id"])
        # a table that is in order already is not copied
        jobs = (jobs if rows is None else jobs.take(rows)).reset_index(drop=True)
        submit, duration = _numbers(jobs, clock), _numbers(jobs, "duration_s")
        _refuse(jobs, duration < 0, "with a negative run time (duration_s)")
        _refuse(jobs, np.isinf(duration), "with an infinite run time (duration_s)")
        _refuse(jobs, np.isinf(submit), f"with an infinite {clock}")
        return cls(jobs, submit, duration, _asks(jobs), left_out)

    def spread_over(self, node_gpus: int) -> tuple[Self, int]:
        """Turn single jobs wider than a node into gangs of equal parts; return how many.

        A log that says "16 GPUs" on nodes of eight means two nodes of eight.
        """
        wide = (self.asks[:, ASK_INSTANCES] == 1) & (self.asks[:, ASK_GPUS] > node_gpus)
        if node_gpus < 1 or not wide.any():
            return self, 0
        asks = self.asks.copy(order="K")
        for gpus in np.unique(asks[wide, ASK_GPUS]):
            rows = wide & (asks[:, ASK_GPUS] == gpus)
            each = max(part for part in range(1, node_gpus + 1) if gpus % part == 0)
            parts = int(gpus) // each
            asks[rows, ASK_GPUS], asks[rows, ASK_INSTANCES] = each, parts
            for column in (ASK_CPU, ASK_MEMORY):
                asks[rows, column] = -(-asks[rows, column] // parts)
        return replace(self, asks=asks), int(wide.sum())

    def without(self, rows: NDArray[np.bool_], reason: str) -> Self:
        """Leave jobs out and count them."""
        if not rows.any():
            return self
        if rows.all():
            raise InputError(f"all {len(self):,} jobs {reason}: nothing is left to replay.")
        return replace(
            self,
            jobs=self.jobs[~rows].reset_index(drop=True),
            submit_s=self.submit_s[~rows],
            duration_s=self.duration_s[~rows],
            asks=self.asks[~rows],
            left_out={**self.left_out, reason: int(rows.sum())},
        )

    def rows_in_order_of(self, release_s: Floats) -> Ints:
        """Return the rows by instants, equal ones by job id."""
        rows = _rows_in_time(release_s, self.jobs["job_id"])
        return np.arange(len(self)) if rows is None else rows

    def released_at(self, release_s: Floats) -> Self:
        """Return the jobs as if they had been submitted at other instants, in order of those."""
        rows = self.rows_in_order_of(release_s)
        jobs = self.jobs.take(rows).reset_index(drop=True)
        return replace(
            self,
            jobs=jobs.assign(submit_s=release_s[rows]),
            submit_s=release_s[rows],
            duration_s=self.duration_s[rows],
            asks=self.asks[rows],
        )

    def key(self, column: str) -> Floats:
        """Return a column to rank jobs by; missing values come last."""
        if column not in self.jobs:
            raise InputError(f"the job table has no column {column} to order the queue by.")
        kind = self.jobs[column].dtype
        if not pd.api.types.is_numeric_dtype(kind):
            words = "text" if pd.api.types.is_string_dtype(kind) else f"{kind} values"
            raise InputError(
                f"the column {column} holds {words}, but a queue is ordered by numbers, "
                "smallest first. Choose a column of numbers."
            )
        return self.jobs[column].to_numpy(np.float64, na_value=np.inf)


def _rows_in_time(submit: Floats, ids: pd.Series) -> Ints | None:
    """Return the rows by time, then by job; None if they are in that order already."""
    in_order = bool((submit[1:] >= submit[:-1]).all())
    rows = np.arange(len(submit)) if in_order else np.argsort(submit, kind="stable")
    times = submit if in_order else submit[rows]
    equal = times[1:] == times[:-1]
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    if tied.size:
        among = rows[tied]
        tie = pd.DataFrame({"at": submit[among], "id": ids.iloc[among].array})
        rows[tied] = among[tie.sort_values(["at", "id"], kind="stable").index]
        in_order = in_order and bool((rows[tied] == tied).all())
    return None if in_order else rows


def _asks(jobs: pd.DataFrame) -> Ints:
    """Return the requests as whole numbers; negative, infinite and absurd ones are refused."""
    # column by column: what nobody asks for stays untouched, and takes no memory
    asks = np.zeros((len(jobs), ASK_COLUMNS), np.int64, order="F")
    gpus = _column(jobs, "request_gpus")
    asks[:, ASK_INSTANCES] = 1
    if gpus is not None:
        # a whole number of GPUs, or a share of one; 2.5 GPUs are three of which a part is used
        shared = (gpus > 0) & (gpus < 1)
        asks[:, ASK_GPUS] = np.ceil(gpus)
        asks[gpus > 0, ASK_MILLI] = _MILLI
        asks[shared, ASK_MILLI] = np.maximum(np.round(gpus[shared] * _MILLI), 1)
    for name, column, unit in (
        ("request_cpu_cores", ASK_CPU, _MILLI),
        ("request_memory_gib", ASK_MEMORY, _MIB_PER_GIB),
    ):
        if (values := _column(jobs, name)) is not None:
            asks[:, column] = np.ceil(values * unit - 1e-6)
    if (instances := _column(jobs, "instances")) is not None:
        _refuse(jobs, instances % 1 != 0, "with a part of an instance (instances is not whole)")
        asks[:, ASK_INSTANCES] = np.maximum(instances, 1)
    if (high_end := _column(jobs, "attr_high_end")) is not None:
        asks[:, ASK_HIGH_END] = high_end > 0
    return asks


def _column(jobs: pd.DataFrame, name: str) -> Floats | None:
    """Return a request, 0 where it is not known, or None if the table does not have it."""
    if name not in jobs:
        return None
    values = _numbers(jobs, name)
    missing = np.isnan(values)
    if missing.any():
        values = np.where(missing, 0.0, values)
    if len(values) and not (values.min() >= 0 and values.max() < _MOST):
        _refuse(jobs, values < 0, f"asking for less than nothing ({name} is negative)")
        _refuse(jobs, np.isinf(values), f"asking for an infinite amount ({name})")
        _refuse(jobs, values >= _MOST, f"asking for more than there can be ({name} >= {_MOST:,})")
    return values


def _numbers(jobs: pd.DataFrame, name: str) -> Floats:
    """Return a column as numbers; a word in it is refused with its job."""
    try:
        return jobs[name].to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return number_column(jobs, name, "job table", finite=False, missing=np.nan)


def _refuse(jobs: pd.DataFrame, rows: NDArray[np.bool_], what: str) -> None:
    """Refuse jobs that no cluster could run as they are; name some of them."""
    if rows.any():
        ids = jobs.loc[rows, "job_id"]
        raise InputError(
            f"{counted(len(ids), 'job')} {what}: {name_some(ids)}. Correct these rows or leave "
            "them out."
        )


def name_some(ids: pd.Series) -> str:
    """List the first few job ids of many."""
    shown = ", ".join(map(str, ids.iloc[:_NAMED]))
    return shown + (f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else "")
