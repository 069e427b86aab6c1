"""Quotas that queues lend each other: nominal quota, borrowing in a cohort, and reclaiming.

After Kueue's documentation of cohorts and classic preemption: a queue may hold more than its
nominal quota while others of its cohort hold less, up to its limit of borrowing and their limits of
lending. A job within the nominal quota of its queue takes back what others have borrowed: of their
jobs those of the lowest priority are stopped, the youngest first, and start again later. Where its
queue lets it, a job also stops jobs of lower priority of its own queue. Fair sharing, borrowing
while preempting and cohorts of cohorts are not followed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.sim.rules.parsing import number_column
from prophase.sim.signatures import Floats, Ints
from prophase.sim.workload import Workload

_OWNERS = ("queue", "group", "user")
#: whom a job may stop: nobody, jobs of lower priority, any
NEVER, LOWER, ANY = range(3)
_POLICIES = {
    NEVER: ("false", "no", "0", "never"),
    LOWER: ("lower", "lowerpriority"),
    ANY: ("true", "yes", "1", "nan", "any", ""),
}


@dataclass(frozen=True)
class Cohorts:
    """Queues with their quotas of GPUs, and the queue of each job."""

    names: tuple[str, ...]
    nominal: Floats
    #: GPUs beyond the nominal quota
    borrow: Floats
    #: GPUs of the nominal quota that others may have at most
    lend: Floats
    #: whom a job may stop in other queues of the cohort, and in its own
    reclaim: Ints
    within: Ints
    cohort: Ints
    of_job: Ints
    priority: Floats

    @classmethod
    def of(cls, table: pd.DataFrame, workload: Workload) -> Cohorts:
        """Take a table of queues.

        Parameters
        ----------
        table : DataFrame
            ``queue`` (or ``group``, ``user``: a column of the job table), ``gpus``; if wanted
            ``cohort`` (none: the queue is alone), ``borrow`` (GPUs beyond ``gpus``; missing: as
            many as the cohort has), ``lend`` (GPUs of ``gpus`` that others may borrow; missing:
            all), ``reclaim`` (any, lower or never; missing: any) and ``within`` (lower or never;
            missing: never). The column ``priority`` of the job table says whose jobs are lower.
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
            raise InputError(
                f"cohorts: {owner} {names[names.duplicated()].iloc[0]} stands twice. Give each "
                f"{owner} one row."
            )
        nominal = number_column(table, "gpus", "cohorts", least=0)
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
        priority = workload.jobs.get("priority", pd.Series(0.0, workload.jobs.index))
        return cls(
            tuple(names),
            nominal,
            _numbers(table, "borrow", np.inf),
            np.minimum(_numbers(table, "lend", np.inf), nominal),
            _whom(table, "reclaim", "any"),
            _whom(table, "within", "never"),
            np.unique(cohort.astype(str), return_inverse=True)[1].astype(np.int64),
            np.array(owners.map(place), np.int64),
            pd.to_numeric(priority, errors="coerce").fillna(0.0).to_numpy(np.float64),
        )

    def admits(self, used: Floats, queue: int, gpus: float) -> bool:
        """Tell whether a queue may hold so many more: its own limits, and what the others lend."""
        after = used.copy()
        after[queue] += gpus - 1e-9
        mates = self.cohort == self.cohort[queue]
        # what a queue does not lend is its own; the rest is a pool of all
        beyond = np.maximum(after - (self.nominal - self.lend), 0.0)
        return bool(
            after[queue] <= self.nominal[queue] + self.borrow[queue]
            and beyond[mates].sum() <= self.lend[mates].sum()
        )

    def never(self, gpus: Floats) -> NDArray[np.bool_]:
        """Tell which jobs ask for more than their queue could ever hold."""
        pool = np.bincount(self.cohort, self.lend)[self.cohort]
        most = np.minimum(self.nominal + self.borrow, self.nominal - self.lend + pool)
        over: NDArray[np.bool_] = gpus > most[self.of_job] + 1e-9
        return over


def _numbers(table: pd.DataFrame, name: str, default: float) -> Floats:
    if name not in table:
        return np.full(len(table), default)
    return number_column(table, name, "cohorts", least=0, finite=False, missing=default)


def _whom(table: pd.DataFrame, name: str, default: str) -> Ints:
    """Return whom jobs of each queue may stop."""
    words = table[name] if name in table else pd.Series(default, table.index)
    words = words.where(words.notna(), default).astype(str).str.lower()
    known = {word: policy for policy, names in _POLICIES.items() for word in names}
    for word in words:
        if word not in known:
            raise InputError(f"cohorts: {name} is {word!r}, but is any, lower or never.")
    return np.array(words.map(known), np.int64)
