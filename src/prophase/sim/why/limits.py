"""Limits of users and queues, as the sweep asks about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from prophase.sim.rules.quotas import quota_matrix
from prophase.sim.signatures import Ints
from prophase.sim.workload import Workload

NO_LIMIT = 1 << 60
_KINDS = 4


@dataclass(frozen=True)
class Limits:
    """Whose limits each job counts against, and what they are.

    Attributes
    ----------
    owners_of : array of shape (jobs, kinds of owners)
        Rows of ``most``, one per kind (such as user and queue); -1 where there is no limit.
    most : array of shape (owners, 4)
        Milli-GPUs, milli-cores, MiB and jobs that an owner's jobs may hold together;
        ``NO_LIMIT`` where nothing is said.
    """

    owners_of: Ints
    most: Ints

    @classmethod
    def of(cls, quotas: pd.DataFrame, workload: Workload) -> Self:
        """Take a quota table as the replay does."""
        most, owners_of = quota_matrix(quotas, workload)
        return cls(owners_of, np.ascontiguousarray(most[:, :_KINDS]))

    @classmethod
    def none(cls, jobs: int) -> Self:
        """Return no limits at all."""
        return cls(np.full((jobs, 1), -1, np.int64), np.full((1, _KINDS), NO_LIMIT, np.int64))
