"""A workload: the jobs of a trace as the arrays a replay needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.sim.signatures import (
    ASK_COLUMNS,
    ASK_CPU,
    ASK_GPUS,
    ASK_HELD,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    Floats,
    Ints,
    held_unit,
)

#: a fraction of a GPU is kept to the thousandth, CPU to the thousandth core, memory to the MiB
_MILLI, _MIB_PER_GIB = 1000, 1024
_NAMED = 5


@dataclass(frozen=True)
class Workload:
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

    @classmethod
    def from_jobs(cls, jobs: pd.DataFrame) -> Self:
        """Take the jobs that have a submit time and a run time; count those left out.

        Where no submit time is known the start is taken, and the replay says so.
        """
        if "duration_s" not in jobs or not jobs["duration_s"].notna().any():
            raise InputError("the job table has no run times (duration_s): nothing to replay.")
        clock = next(
            (c for c in ("submit_s", "start_s") if c in jobs and jobs[c].notna().any()), None
        )
        if clock is None:
            raise InputError(
                "the job table has neither submit_s nor start_s: no arrivals to replay."
            )
        unknown = {
            f"no {clock}": jobs[clock].isna(),
            "no duration_s": jobs[clock].notna() & jobs["duration_s"].isna(),
        }
        left_out = {reason: int(mask.sum()) for reason, mask in unknown.items() if mask.any()}
        usable = jobs[jobs[clock].notna() & jobs["duration_s"].notna()]
        usable = usable.sort_values([clock, "job_id"], kind="stable").reset_index(drop=True)
        asks = _asks(usable)
        return cls(
            usable,
            usable[clock].to_numpy(np.float64),
            usable["duration_s"].to_numpy(np.float64),
            asks,
            left_out,
        )

    def spread_over(self, node_gpus: int) -> tuple[Self, int]:
        """Turn single jobs wider than a node into gangs of equal parts; return how many.

        A log that says "16 GPUs" on nodes of eight means two nodes of eight.
        """
        if node_gpus < 1:
            return self, 0
        asks = self.asks.copy()
        wide = (asks[:, ASK_INSTANCES] == 1) & (asks[:, ASK_GPUS] > node_gpus)
        for gpus in np.unique(asks[wide, ASK_GPUS]):
            rows = wide & (asks[:, ASK_GPUS] == gpus)
            each = max(part for part in range(1, node_gpus + 1) if gpus % part == 0)
            parts = int(gpus) // each
            asks[rows, ASK_GPUS], asks[rows, ASK_INSTANCES] = each, parts
            for column in (ASK_CPU, ASK_MEMORY):
                asks[rows, column] = -(-asks[rows, column] // parts)
        asks[:, ASK_HELD] = held_unit(asks[:, ASK_GPUS], asks[:, ASK_MILLI])
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


def _asks(jobs: pd.DataFrame) -> Ints:
    asks = np.zeros((len(jobs), ASK_COLUMNS), np.int64)
    gpus = _column(jobs, "request_gpus")
    # a whole number of GPUs, or a share of one; 2.5 GPUs are three GPUs of which a part is used
    asks[:, ASK_GPUS] = np.ceil(gpus)
    shared = (gpus > 0) & (gpus < 1)
    asks[:, ASK_MILLI] = np.where(shared, np.maximum(np.round(gpus * _MILLI), 1), _MILLI)
    asks[gpus == 0, ASK_MILLI] = 0
    asks[:, ASK_CPU] = np.ceil(_column(jobs, "request_cpu_cores") * _MILLI - 1e-6)
    asks[:, ASK_MEMORY] = np.ceil(_column(jobs, "request_memory_gib") * _MIB_PER_GIB - 1e-6)
    asks[:, ASK_INSTANCES] = np.maximum(_column(jobs, "instances", default=1.0), 1)
    asks[:, ASK_HELD] = held_unit(asks[:, ASK_GPUS], asks[:, ASK_MILLI])
    return asks


def _column(jobs: pd.DataFrame, name: str, default: float = 0.0) -> Floats:
    """Return a request; one that is not known asks for nothing."""
    if name not in jobs:
        return np.full(len(jobs), default)
    return jobs[name].fillna(default).to_numpy(np.float64)


def name_some(ids: pd.Series) -> str:
    """List the first few job ids of many."""
    shown = ", ".join(map(str, ids.iloc[:_NAMED]))
    return shown + (f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else "")
