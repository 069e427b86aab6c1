"""Limits on what a user, a queue, a group or the tasks of one array may hold at a time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.sim.kernels.dynamic import array_layout as r
from prophase.sim.rules.parsing import number_column
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    Ints,
)
from prophase.sim.workload import Workload

_ENDLESS = 1 << 60
#: column of the quota table -> (place in the matrix, whole units per unit of the column)
_LIMITS = {
    "gpus": (r.QUOTA_GPU, 1000),
    "cpu_cores": (r.QUOTA_CPU, 1000),
    "memory_gib": (r.QUOTA_MEMORY, 1024),
    "jobs": (r.QUOTA_JOBS, 1),
}
#: whose limits: of a column of the job table; the tasks of an array share their parent_id
_SCOPES = ("user", "queue", "group", "parent_id")


def quota_matrix(quotas: pd.DataFrame, workload: Workload) -> tuple[Ints, Ints]:
    """Return the limits, and the rows that hold for each job, one column per scope.

    Parameters
    ----------
    quotas : DataFrame
        One row per limit: ``user``, ``queue``, ``group`` or ``parent_id`` (``*``: each one for
        itself), and any of ``gpus``, ``cpu_cores``, ``memory_gib``, ``jobs``. ``parent_id`` with
        ``jobs`` is the limit of an array: so many of its tasks run at a time.
    """
    limits = [name for name in _LIMITS if name in quotas]
    if not limits or not set(_SCOPES) & set(quotas.columns):
        raise InputError(
            f"the quota table needs the column {' or '.join(_SCOPES)}, and at least one of "
            f"{', '.join(_LIMITS)}. It has: {', '.join(map(str, quotas.columns))}."
        )
    for name in limits:
        number_column(quotas, name, "quotas", least=0, finite=False, missing=np.inf)
    rows: list[Ints] = []
    quota_of = np.full((len(workload), len(_SCOPES)), -1, np.int64)
    for place, scope in enumerate(_SCOPES):
        if scope not in quotas:
            continue
        named = quotas[quotas[scope].notna()]
        if named.empty:
            continue
        if scope not in workload.jobs:
            raise InputError(f"quotas per {scope}: the job table has no column {scope}.")
        owners = workload.jobs[scope].fillna("").astype(str)
        known = {str(row[scope]): row for row in named.to_dict("records")}
        if len(known) < len(named):
            twice = named.loc[named[scope].astype(str).duplicated(), scope].iloc[0]
            raise InputError(f"quotas: {scope} {twice} is named twice. Give each one row.")
        codes, names = pd.factorize(owners)
        row_of = np.full(len(names), -1, np.int64)
        for number, owner in enumerate(names):
            # a job without a parent is no task of an array
            row = known.get(owner, known.get("*") if owner or scope != "parent_id" else None)
            if row is not None:
                row_of[number] = len(rows)
                rows.append(_limits(row, limits))
        quota_of[:, place] = row_of[codes]
    if not rows:
        raise InputError(
            f"quotas: nobody named has a job in this trace ({', '.join(_SCOPES)} are looked at)."
        )
    return np.array(rows, np.int64), quota_of


def over_quota(quotas: Ints, quota_of: Ints, asks: Ints) -> NDArray[np.bool_]:
    """Tell which jobs alone ask for more than their quota: they could never start."""
    instances = asks[:, ASK_INSTANCES]
    wanted = np.column_stack(
        [
            asks[:, ASK_GPUS] * asks[:, ASK_MILLI] * instances,
            asks[:, ASK_CPU] * instances,
            asks[:, ASK_MEMORY] * instances,
            np.ones(len(asks), np.int64),
        ]
    )
    over = np.zeros(len(asks), np.bool_)
    for column in quota_of.T:
        held = column >= 0
        over[held] |= (wanted[held] > quotas[column[held], : len(_LIMITS)]).any(axis=1)
    return over


def _limits(row: Mapping[Hashable, Any], limits: list[str]) -> Ints:
    line = np.zeros(r.QUOTA_COLUMNS, np.int64)
    line[: len(_LIMITS)] = _ENDLESS
    for name in limits:
        value = float(str(row[name]))
        if not np.isfinite(value):
            continue
        place, factor = _LIMITS[name]
        line[place] = int(value * factor)
    return line
