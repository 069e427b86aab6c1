"""The queue at one instant: what has finished, what runs and since when, what waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sim.forecast.holding import HELD, RECORDED
from prophase.sim.signatures import Floats
from prophase.trace.schema import JOBS


@dataclass(frozen=True)
class QueueState:
    """Jobs as they are known at ``now_s``; nothing that happens later is in here.

    Attributes
    ----------
    finished : DataFrame
        With ``duration_s`` and ``wait_s``.
    running : DataFrame
        With ``elapsed_s``, and the nodes they hold if recorded; their end is not known.
    waiting : DataFrame
        In order of submission.
    """

    now_s: float
    finished: pd.DataFrame
    running: pd.DataFrame
    waiting: pd.DataFrame

    @classmethod
    def at(cls, jobs: pd.DataFrame, now_s: float) -> Self:
        """Look at a job table as somebody would at ``now_s``.

        A job whose start is not recorded waits; one whose end is not recorded runs.

        Examples
        --------
        >>> jobs = pd.DataFrame({"job_id": list("abc"), "submit_s": [0.0, 1.0, 2.0]})
        >>> jobs["start_s"], jobs["end_s"] = [0.0, 1.0, 9.0], [5.0, 9.0, 12.0]
        >>> state = QueueState.at(jobs, 6.0)
        >>> [list(part["job_id"]) for part in (state.finished, state.running, state.waiting)]
        [['a'], ['b'], ['c']]
        """
        for name in ("submit_s", "start_s"):
            if name not in jobs:
                raise InputError(
                    f"the job table has no {name}: who runs and who waits is not known."
                )
        submit, start = _times(jobs, "submit_s"), _times(jobs, "start_s")
        end = _ends(jobs, start)
        # jobs that ended without ever starting (cancelled in the queue) are gone, not waiting
        gone = np.isnan(start) & (end <= now_s)
        here = (submit <= now_s) & ~gone
        done = here & (end <= now_s)
        runs = here & ~done & (start <= now_s)
        held = next((jobs[name] for name in RECORDED if name in jobs), None)
        known = jobs.drop(columns=[name for name in jobs.columns if _is_outcome(str(name))])
        return cls(
            float(now_s),
            known[done].assign(
                duration_s=(end - start)[done], wait_s=(start - submit)[done], end_s=end[done]
            ),
            known[runs].assign(
                elapsed_s=now_s - start[runs],
                wait_s=(start - submit)[runs],
                **({} if held is None else {HELD: held[runs]}),
            ),
            known[here & ~done & ~runs].sort_values("submit_s", kind="stable"),
        )

    @property
    def waits_s(self) -> Floats:
        """Waits of all jobs that have started by now."""
        return np.concatenate([self.finished["wait_s"], self.running["wait_s"]]).astype(float)


def _times(jobs: pd.DataFrame, name: str) -> Floats:
    return jobs[name].to_numpy(np.float64, na_value=np.nan)


def _ends(jobs: pd.DataFrame, start: Floats) -> Floats:
    """Return when jobs ended; missing where they have not."""
    end = _times(jobs, "end_s") if "end_s" in jobs else np.full(len(jobs), np.nan)
    if "duration_s" in jobs:
        end = np.where(np.isnan(end), start + _times(jobs, "duration_s"), end)
    return end


def _is_outcome(name: str) -> bool:
    column = JOBS.get(name)
    return column is not None and column.known == "after"
