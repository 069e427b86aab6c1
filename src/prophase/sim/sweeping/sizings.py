"""The same jobs with the requests of one sizer, and how they ask again after a kill."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import ParameterError, not_among
from prophase.sim.rules.ladder import Ladder
from prophase.sim.signatures import ASK_MEMORY
from prophase.sim.workload import Workload

#: requests as the trace has them
ASKED = "asked"
#: whether jobs share GPUs as they ask to, or each fraction takes a whole one
SHARING = ("on", "off")


@dataclass(frozen=True)
class Sizing:
    """Jobs and what they ask for.

    Attributes
    ----------
    ladder : Ladder, optional
        How attempts that asked for too little memory climb; without it nothing is killed.
    """

    workload: Workload
    ladder: Ladder | None = None

    def highest(self) -> Workload:
        """Return the workload with the most that each job will ask for."""
        if self.ladder is None:
            return self.workload
        rungs, asks, _ = self.ladder.climb(self.workload, self.workload.asks)
        most = np.maximum.reduceat(asks[:, ASK_MEMORY], np.cumsum(rungs) - rungs)
        highest = self.workload.asks.copy()
        highest[:, ASK_MEMORY] = most
        return replace(self.workload, asks=highest)

    def without(self, stuck: NDArray[np.bool_], why: str) -> Sizing:
        """Return the same without some of the jobs."""
        return replace(self, workload=self.workload.without(stuck, why))

    def mark(self) -> str:
        """Return a hash over what it asks for."""
        digest = hashlib.sha256(np.ascontiguousarray(self.workload.asks).tobytes())
        digest.update(repr(self.ladder).encode())
        columns = (*self.ladder.columns, self.ladder.peak) if self.ladder else ()
        for name in columns:
            digest.update(pd.util.hash_array(self.workload.jobs[name].to_numpy(float)).tobytes())
        return digest.hexdigest()[:16]


def highest_of(workload: Workload, policy: Mapping[str, Any]) -> Workload:
    """Return the workload with the most that each job will ask for under a policy."""
    ladder = policy.get("ladder")
    return Sizing(workload, ladder if isinstance(ladder, Ladder) else None).highest()


def chosen_sizings(
    names: list[str], workload: Workload, given: Mapping[str, Sizing]
) -> dict[str, Sizing]:
    """Return the sizings of a plan by name, all of the same jobs."""
    known = {ASKED: Sizing(workload), **given}
    for name in names:
        if name not in known:
            said = f"sizing {name!r} is unknown."
            raise ParameterError(not_among(said, name, known))
        if not np.array_equal(known[name].workload.submit_s, workload.submit_s):
            raise ParameterError(f"sizing {name!r} is for other jobs than those of the trace.")
    return {name: known[name] for name in names}
