"""Jobs that ask for too little memory are killed, ask for more, and start again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prophase.errors import InputError, ParameterError
from prophase.sim.rules.parsing import at_least
from prophase.sim.signatures import ASK_MEMORY, Floats, Ints
from prophase.sim.workload import Workload

_MIB_PER_GIB = 1024


@dataclass(frozen=True)
class Ladder:
    """The requests a job climbs.

    Attributes
    ----------
    columns : tuple of str
        Columns of the job table with the memory (GiB per instance) of each attempt, first
        first. Without columns the trace's own request is the first rung.
    factor : float
        Beyond the columns each attempt asks for so many times the one before.
    peak : str
        Column with the memory a job really needs; where it is missing the job never fails.
    fails_after : float
        Share of its run time after which an attempt that asks for too little is killed.
    most : int
        Attempts at most; the last always gets the peak, as a user who gives up guessing does.
    """

    columns: tuple[str, ...] = ()
    factor: float = 2.0
    peak: str = "memory_peak_gib"
    fails_after: float = 0.5
    most: int = 10

    def __post_init__(self) -> None:
        at_least("ladder factor", self.factor, 1.01)
        at_least("ladder most", self.most, 1)
        if not 0 < self.fails_after <= 1:
            raise ParameterError(f"ladder fails_after = {self.fails_after}: give 0 to 1.")

    def climb(self, workload: Workload, asks: Ints) -> tuple[Ints, Ints, Floats]:
        """Return the number of rungs per job, and the requests and work of all rungs in a row."""
        jobs = workload.jobs
        missing = [name for name in (*self.columns, self.peak) if name not in jobs]
        if missing:
            raise InputError(f"the ladder needs {', '.join(missing)}, which the job table lacks.")
        peak = np.ceil(jobs[self.peak].fillna(0.0).to_numpy(float) * _MIB_PER_GIB)
        steps = [np.ceil(jobs[c].to_numpy(float) * _MIB_PER_GIB) for c in self.columns]
        if not steps:
            # who states no memory is given what it needs
            own = asks[:, ASK_MEMORY].astype(float)
            steps = [np.where(own > 0, own, peak)]
        for place, step in enumerate(steps):
            steps[place] = np.where(np.isnan(step), asks[:, ASK_MEMORY], step)
        memory: list[Floats] = []
        open_ = np.ones(len(asks), np.bool_)
        rungs = np.zeros(len(asks), np.int64)
        while open_.any() and len(memory) < self.most:
            known = steps[len(memory)] if len(memory) < len(steps) else memory[-1] * self.factor
            step = np.maximum(known, memory[-1] + 1) if memory else known
            if len(memory) + 1 == self.most:
                step = np.maximum(step, peak)
            memory.append(step)
            rungs += open_
            open_ = open_ & (step < peak)
        job = np.repeat(np.arange(len(asks)), rungs)
        rung = np.arange(len(job)) - np.repeat(np.cumsum(rungs) - rungs, rungs)
        rung_asks = asks[job]
        rung_asks[:, ASK_MEMORY] = np.array(memory)[rung, job]
        last = rung + 1 == rungs[job]
        work = workload.duration_s[job] * np.where(last, 1.0, self.fails_after)
        return rungs, rung_asks, work
