"""Jobs that ask for too little memory or time are killed, ask for more, and start again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophase.errors import InputError, ParameterError
from prophase.sim.rules.parsing import at_least
from prophase.sim.signatures import ASK_MEMORY, Floats, Ints
from prophase.sim.workload import Workload

_MIB_PER_GIB, _HOUR_S = 1024, 3600.0


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
        rungs, job, memory = self._attempts(steps, peak, 1.0)
        rung_asks = asks[job]
        rung_asks[:, ASK_MEMORY] = memory
        work = workload.duration_s[job] * np.where(_last(rungs), 1.0, self.fails_after)
        return rungs, rung_asks, work

    def _attempts(
        self, steps: list[Floats], peak: Floats, least: float
    ) -> tuple[Ints, Ints, Floats]:
        """Return the number of attempts of each job, then job and amount of all in a row.

        Parameters
        ----------
        steps : list of arrays
            What all jobs ask for, attempt by attempt.
        least : float
            By how much a request rises at least.
        """
        asked: list[Floats] = []
        open_ = np.ones(len(peak), np.bool_)
        rungs = np.zeros(len(peak), np.int64)
        while open_.any() and len(asked) < self.most:
            known = steps[len(asked)] if len(asked) < len(steps) else asked[-1] * self.factor
            step = np.maximum(known, asked[-1] + least) if asked else known
            if len(asked) + 1 == self.most:
                step = np.maximum(step, peak)
            asked.append(step)
            rungs += open_
            open_ = open_ & (step < peak)
        job = np.repeat(np.arange(len(peak)), rungs)
        rung = np.arange(len(job)) - np.repeat(np.cumsum(rungs) - rungs, rungs)
        return rungs, job, np.array(asked)[rung, job] if len(peak) else np.empty(0)


@dataclass(frozen=True)
class LimitLadder(Ladder):
    """The time limits a job climbs: an attempt runs until its limit, and then again.

    ``columns`` hold limits and ``peak`` the true run time, in hours.
    """

    def climb(self, workload: Workload, asks: Ints) -> tuple[Ints, Ints, Floats]:
        """Return the number of rungs per job, and the requests and work of all rungs in a row."""
        rungs, job, limits_s = self.limits(workload)
        run_s = workload.duration_s[job]
        return rungs, asks[job], np.where(_last(rungs), run_s, np.minimum(limits_s, run_s))

    def limits(self, workload: Workload) -> tuple[Ints, Ints, Floats]:
        """Return attempts per job, then job and limit in seconds of all attempts in a row."""
        jobs = workload.jobs
        peak = jobs[self.peak].fillna(0.0).to_numpy(float) * _HOUR_S
        steps = [jobs[name].to_numpy(float) * _HOUR_S for name in self.columns]
        # without a limit nothing is killed
        return self._attempts([np.where(np.isnan(s), np.inf, s) for s in steps], peak, 60.0)


def _last(rungs: Ints) -> NDArray[np.bool_]:
    """Say of all attempts in a row which is the last of its job."""
    last = np.zeros(int(rungs.sum()), np.bool_)
    last[np.cumsum(rungs) - 1] = True
    return last
