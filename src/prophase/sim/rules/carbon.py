"""Carbon intensity of electricity over time, and jobs that wait for a cleaner hour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.sim.rules.parsing import as_table, at_least, number_column
from prophase.sim.signatures import Floats
from prophase.sim.workload import Workload

_TRUE = ("true", "1", "yes", "1.0")


@dataclass(frozen=True)
class CarbonSeries:
    """Grams of CO2 per kWh, each from its instant to the next; the whole series repeats.

    Attributes
    ----------
    time_s : array of shape (steps + 1,)
        When each step begins, and when the last one ends.
    """

    time_s: Floats
    g_per_kwh: Floats

    @classmethod
    def of(cls, table: pd.DataFrame | str) -> CarbonSeries:
        """Take a table of ``time_s`` (seconds of the trace) and ``g_per_kwh``.

        The last step is as long as the one before it.

        Examples
        --------
        >>> series = CarbonSeries.of(pd.DataFrame({"time_s": [0, 10], "g_per_kwh": [100, 300]}))
        >>> series.integral(np.array([0.0, 5.0]), np.array([20.0, 25.0])).tolist()
        [4000.0, 4000.0]
        """
        found = as_table(table, "carbon")
        if found is None or not {"time_s", "g_per_kwh"} <= set(found.columns):
            has = "" if found is None else f" It has: {', '.join(map(str, found.columns))}."
            raise InputError(f"the table of carbon needs the columns time_s and g_per_kwh.{has}")
        time = number_column(found, "time_s", "carbon")
        grams = number_column(found, "g_per_kwh", "carbon", least=0)
        back = np.diff(time, prepend=-np.inf) <= 0
        if back.any():
            raise InputError(
                f"carbon: time_s of row {int(np.argmax(back)) + 1} does not come after the one "
                "before. Sort the table by time_s, one row per instant."
            )
        if len(time) < 2:
            raise InputError(
                "carbon: give at least two rows, so that the length of a step is known."
            )
        return cls(np.append(time, 2 * time[-1] - time[-2]), grams)

    @property
    def length_s(self) -> float:
        """Length of the series, after which it repeats."""
        return float(self.time_s[-1] - self.time_s[0])

    def integral(self, start_s: Floats, end_s: Floats) -> Floats:
        """Return g/kWh times seconds between instants."""
        return self._until(end_s) - self._until(start_s)

    def _until(self, time_s: Floats) -> Floats:
        total = np.append(0.0, np.cumsum(self.g_per_kwh * np.diff(self.time_s)))
        rounds, since = np.divmod(np.asarray(time_s) - self.time_s[0], self.length_s)
        within: Floats = rounds * total[-1] + np.interp(since + self.time_s[0], self.time_s, total)
        return within

    def edges(self, from_s: float, to_s: float) -> Floats:
        """Return the instants between two at which the intensity changes."""
        first = int(np.floor((from_s - self.time_s[0]) / self.length_s))
        last = int(np.floor((to_s - self.time_s[0]) / self.length_s))
        rounds = np.arange(first, last + 1) * self.length_s
        all_edges: Floats = (rounds[:, None] + self.time_s[None, :-1]).ravel()
        return all_edges[(all_edges > from_s) & (all_edges < to_s)]


@dataclass(frozen=True)
class Deferral:
    """Deferrable jobs are held back for the hour in which their run emits least.

    Attributes
    ----------
    table : DataFrame
        Carbon intensity: ``time_s`` and ``g_per_kwh``.
    slack_s : float
        How long a job may be held back at most; afterwards it queues as any other.
    only : str, optional
        Column of the job table that is true for jobs that may be held back; all if it is not given.
    estimate : str
        Column with the run times that the hour is chosen by.
    """

    table: pd.DataFrame
    slack_s: float = 86_400.0
    only: str | None = None
    estimate: str = "duration_s"

    def __post_init__(self) -> None:
        at_least("defer slack_s", self.slack_s, 0)
        CarbonSeries.of(self.table)

    def release(self, workload: Workload) -> Floats:
        """Return until when each job is held back: its submission if it is not."""
        series, jobs = CarbonSeries.of(self.table), workload.jobs
        for name in filter(None, (self.only, self.estimate)):
            if name not in jobs:
                raise InputError(f"defer: the job table has no column {name}.")
        believed = jobs[self.estimate].fillna(0.0).to_numpy(np.float64)
        release = np.array(workload.submit_s)
        for job in np.flatnonzero(self._deferrable(workload)):
            release[job] = self._cleanest(series, float(release[job]), float(believed[job]))
        return release

    def _deferrable(self, workload: Workload) -> NDArray[np.bool_]:
        if self.only is None:
            return np.ones(len(workload), np.bool_)
        words = workload.jobs[self.only].astype(str).str.lower()
        return words.isin(_TRUE).to_numpy(np.bool_)

    def _cleanest(self, series: CarbonSeries, submit_s: float, run_s: float) -> float:
        """Return the first of the cleanest starts: the run begins or ends at a change."""
        last = submit_s + self.slack_s
        starts = np.concatenate(
            [
                [submit_s, last],
                series.edges(submit_s, last),
                series.edges(submit_s + run_s, last + run_s) - run_s,
            ]
        )
        starts = np.unique(np.clip(starts, submit_s, last))
        emitted = series.integral(starts, starts + max(run_s, 1.0))
        best = emitted.min()
        return float(starts[np.argmax(emitted <= best + 1e-9 * abs(best))])
