"""The 17 usage metrics of the PolarisProfiler paper, taken from the job table.

Three of them (start, end, duration) hold the very thing that profiles are later used to
predict, so they can be switched off; ``comparing.leaking_effect`` says what difference it makes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Floats
from prophase.errors import InputError, MissingColumnError, not_among
from prophase.plural import counted

#: name in the paper (section III, footnote 3) -> column of the job table
USAGE_METRICS: Mapping[str, str] = {
    "inst_num": "gang_size",
    "start_time": "start_s",
    "end_time": "end_s",
    "plan_cpu": "request_cpu_cores",
    "plan_mem": "request_memory_gib",
    "plan_gpu": "request_gpus",
    "cpu_usage": "cpu_mean_cores",
    "gpu_wrk_util": "gpu_util_mean_pct",
    "avg_mem": "memory_mean_gib",
    "max_mem": "memory_peak_gib",
    "avg_gpu_wrk_mem": "gpu_memory_mean_gib",
    "max_gpu_wrk_mem": "gpu_memory_peak_gib",
    "read": "read_bytes",
    "write": "write_bytes",
    "read_count": "read_count",
    "write_count": "write_count",
    "duration": "duration_s",
}
#: columns that say when a job ran and for how long
LEAKING = ("start_s", "end_s", "duration_s")


@dataclass(frozen=True)
class UsageFeatures:
    """One row per job and one column per metric; what was missing is 0, and counted."""

    columns: tuple[str, ...]
    #: (jobs, columns)
    values: Floats
    #: column -> rows that had no value
    filled: Mapping[str, int]
    #: metrics of the paper that the table does not have
    absent: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what is not as in the paper, one sentence each."""
        found = []
        if self.absent:
            found.append(f"The table has no {', '.join(self.absent)}; profiles do without.")
        if self.filled:
            counts = ", ".join(f"{column} {rows:,}" for column, rows in self.filled.items())
            found.append(f"Missing values taken as 0: {counts}.")
        return tuple(found)


def usage_features(
    jobs: pd.DataFrame, *, leaking: bool = True, columns: Sequence[str] | None = None
) -> UsageFeatures:
    """Return the usage metrics of jobs as numbers; missing values become 0, as in the paper.

    Parameters
    ----------
    jobs : DataFrame
        A job table.
    leaking : bool, default=True
        Keep start, end and duration, as the paper does. Without them a profile says how a job
        uses resources and not when it ran.
    columns : sequence of str, optional
        Take these columns instead of the paper's.

    Examples
    --------
    >>> jobs = pd.DataFrame({"duration_s": [60.0, 90.0], "cpu_mean_cores": [2.0, None]})
    >>> features = usage_features(jobs, leaking=False)
    >>> features.columns, features.values.tolist(), features.filled
    (('cpu_mean_cores',), [[2.0], [0.0]], {'cpu_mean_cores': 1})
    """
    wanted = tuple(columns) if columns is not None else _metrics_in(jobs)
    if not leaking:
        wanted = tuple(name for name in wanted if name not in LEAKING)
    if columns is not None:
        _refuse_unknown(jobs, wanted)
    present = tuple(name for name in wanted if name in jobs and not jobs[name].isna().all())
    if not present:
        raise MissingColumnError(
            "the job table has none of the usage metrics that profiles are made of. It needs at "
            f"least one of: {', '.join(wanted)}. Import a source that records usage."
        )
    if jobs.empty:
        raise InputError("the job table is empty; there is nothing to profile.")
    values = np.column_stack([_numbers(jobs[name], name) for name in present])
    missing = np.isnan(values)
    filled = {
        name: int(count) for name, count in zip(present, missing.sum(axis=0), strict=True) if count
    }
    values[missing] = 0.0
    return UsageFeatures(present, values, filled, tuple(n for n in wanted if n not in present))


def _metrics_in(jobs: pd.DataFrame) -> tuple[str, ...]:
    """Name the 17 columns; a table without gang sizes has its number of instances."""
    first = "gang_size" if "gang_size" in jobs or "instances" not in jobs else "instances"
    return (first, *list(USAGE_METRICS.values())[1:])


def _refuse_unknown(jobs: pd.DataFrame, wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in jobs:
            raise MissingColumnError(
                not_among(f"the job table has no column {name!r}.", name, map(str, jobs.columns))
            )


def _numbers(column: pd.Series[float], name: str) -> Floats:
    try:
        numbers: Floats = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as cause:
        raise InputError(
            f"column {name!r} is not a number everywhere ({cause}). Leave it out, or correct it."
        ) from cause
    if np.isinf(numbers).any():
        raise InputError(
            f"column {name!r} is infinite in {counted(int(np.isinf(numbers).sum()), 'row')}. "
            "Correct these rows, or make them missing."
        )
    return numbers


def content_hash(features: UsageFeatures) -> str:
    """Return a hash over the metrics and their names."""
    digest = hashlib.sha256(",".join(features.columns).encode())
    digest.update(np.ascontiguousarray(features.values).tobytes())
    return digest.hexdigest()
