"""Quotas that queues lend each other: nominal quota, borrowing in a cohort, and reclaiming.

As Kueue does it: a queue may hold more than its nominal quota while others of its cohort hold less,
up to its limit of borrowing. A job that stays within the nominal quota of its queue takes back what
others have borrowed: their youngest jobs are stopped, and start again later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.sim.signatures import Floats, Ints
from prophase.sim.workload import Workload

_OWNERS = ("queue", "group", "user")


@dataclass(frozen=True)
class Cohorts:
    """Queues with their quotas of GPUs, and the queue of each job."""

    names: tuple[str, ...]
    nominal: Floats
    #: GPUs beyond the nominal quota
    borrow: Floats
    reclaim: NDArray[np.bool_]
    cohort: Ints
    of_job: Ints

    @classmethod
    def of(cls, table: pd.DataFrame, workload: Workload) -> Cohorts:
        """Take a table of queues.

        Parameters
        ----------
        table : DataFrame
            ``queue`` (or ``group``, ``user``: a column of the job table), ``gpus``; if wanted
            ``cohort`` (none: the queue is alone), ``borrow`` (GPUs beyond ``gpus``; missing: as
            many as the cohort has) and ``reclaim`` (true or false; missing: true).
        """
        owner = next((name for name in _OWNERS if name in table), None)
        if owner is None or "gpus" not in table:
            raise InputError(
                "the table of cohorts needs the columns queue (or group, or user) and gpus. "
                f"It has: {', '.join(map(str, table.columns))}."
            )
        if owner not in workload.jobs:
            raise InputError(f"cohorts per {owner}: the job table has no column {owner}.")
        names = table[owner].astype(str)
        if names.duplicated().any():
            raise InputError(f"cohorts: {owner} {names[names.duplicated()].iloc[0]} stands twice.")
        nominal = _numbers(table, "gpus", np.nan)
        if np.isnan(nominal).any():
            raise InputError(f"cohorts: {owner} {names[np.isnan(nominal)].iloc[0]} has no gpus.")
        lone = "alone: " + names
        cohort = table["cohort"].where(table["cohort"].notna(), lone) if "cohort" in table else lone
        owners = workload.jobs[owner].fillna("").astype(str)
        unknown = sorted(set(owners) - set(names))
        if unknown:
            raise InputError(
                f"cohorts: jobs of {owner} {unknown[0]!r} have no row in the table. Add one for "
                f"each {owner}; known are {', '.join(names)}."
            )
        place = {name: row for row, name in enumerate(names)}
        words = table["reclaim"] if "reclaim" in table else pd.Series(True, table.index)
        return cls(
            tuple(names),
            nominal,
            _numbers(table, "borrow", np.inf),
            words.map(_true).to_numpy(np.bool_),
            np.unique(cohort.astype(str), return_inverse=True)[1].astype(np.int64),
            np.array(owners.map(place), np.int64),
        )

    def never(self, gpus: Floats) -> NDArray[np.bool_]:
        """Tell which jobs ask for more than their queue could ever hold."""
        whole = np.bincount(self.cohort, self.nominal)[self.cohort]
        most = np.minimum(self.nominal + self.borrow, whole)
        over: NDArray[np.bool_] = gpus > most[self.of_job] + 1e-9
        return over


def _numbers(table: pd.DataFrame, name: str, default: float) -> Floats:
    if name not in table:
        return np.full(len(table), default)
    values = pd.to_numeric(table[name], errors="coerce").fillna(default).to_numpy(np.float64)
    if (values < 0).any():
        raise InputError(f"cohorts: {name} = {values.min():g} is negative.")
    return values


def _true(value: object) -> bool:
    if str(value).lower() not in ("true", "false", "yes", "no", "1", "0", "nan"):
        raise InputError(f"cohorts: reclaim is {value!r}, but is true or false.")
    return str(value).lower() not in ("false", "no", "0")
