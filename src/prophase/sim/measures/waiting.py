"""Who waited when: before the first attempt, and between attempts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from prophase.sim.measures.occupancy import Occupancy
from prophase.sim.signatures import Floats, Ints


@dataclass(frozen=True)
class Waiting:
    """One interval per attempt: from submission, or the end of the attempt before, to its start."""

    job: Ints
    from_s: Floats
    to_s: Floats
    gpus: Floats

    @classmethod
    def of(cls, held: Occupancy, submit_s: Floats) -> Self:
        """Return the waits of the jobs that started."""
        order = np.lexsort((held.start_s, held.job))
        job, start = held.job[order], held.start_s[order]
        begin = submit_s[job]
        again = np.flatnonzero(job[1:] == job[:-1]) + 1
        begin[again] = held.end_s[order][again - 1]
        waited = start > begin
        return cls(job[waited], begin[waited], start[waited], held.gpus[order][waited])
