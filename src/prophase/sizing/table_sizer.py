"""Any sizer over tables: fit on finished jobs, predict a ladder of requests for others."""

from __future__ import annotations

from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, ParameterError
from prophase.sizing.registry import make_online_sizer
from prophase.sizing.replays.task_runs import Track, known_before, task_runs
from prophase.sizing.resources import RESOURCES
from prophase.sizing.sizer import OnlineSizer, Outcome
from prophase.trace.identity.job_identity import with_identity


class Sizer:
    """Learn from finished jobs what others should ask for.

    Parameters
    ----------
    name : str, optional
        One of :data:`~prophase.sizing.SIZERS`; without it the default.
    risk : float, optional
        Share of jobs that may be killed at their first request.
    tries : int, default=3
        Rungs of the ladder.
    track : {"strict", "input"}
        Whether bytes read, which only monitoring knows, stand in for the size of the input.
    resource : str
        What is sized; one of :data:`~prophase.sizing.resources.RESOURCES`.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {
    ...         "job_id": list("abc"),
    ...         "task": "align",
    ...         "memory_peak_gib": [2.0, 2.2, 2.1],
    ...         "duration_s": 600.0,
    ...         "request_memory_gib": 16.0,
    ...         "submit_s": [0.0, 700.0, 1400.0],
    ...     }
    ... )
    >>> Sizer("maximum").fit(jobs).predict(jobs[:1]).round(2)
    array([[2.42, 4.84, 9.68]])
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        risk: float | None = None,
        tries: int = 3,
        track: Track = "strict",
        resource: str = "memory",
    ) -> None:
        self.name, self.risk, self.tries = name, risk, tries
        self.track, self.resource = track, resource

    def fit(self, jobs: pd.DataFrame) -> Self:
        """Learn from finished jobs, in the order they ended."""
        if self.tries < 1:
            raise ParameterError(f"tries is {self.tries}, but a ladder has at least one rung.")
        sizer = make_online_sizer(self.name, self.risk)
        found = task_runs(jobs, track=self.track, resource=self.resource)
        self.rule_ = found.rule
        ended = sorted(found.runs, key=lambda run: run.end_s)
        sizer.learn(
            Outcome(run.task, {**run.features, "post": run.post}, run.peak, run.runtime_h)
            for run in ended
        )
        self.sizer_: OnlineSizer = sizer
        return self

    def predict(self, jobs: pd.DataFrame) -> NDArray[np.float64]:
        """Return one row per job: the request at the 1st, 2nd, 3rd ... attempt."""
        if not hasattr(self, "sizer_"):
            raise InputError("this sizer is not fitted yet. Call fit(jobs) first.")
        what = RESOURCES[self.resource]
        names, known = known_before(with_identity(jobs, self.rule_), self.track, what)
        ladders = np.empty((len(names), self.tries))
        for row, (task, features) in enumerate(zip(names, known, strict=True)):
            asked = what.allocatable(self.sizer_.predict(task, features))
            for attempt in range(self.tries):
                ladders[row, attempt] = asked
                if attempt + 1 < self.tries:
                    more = self.sizer_.retry(task, features, attempt + 2, asked)
                    asked = what.allocatable(more if more > asked else 2.0 * asked)
        return ladders
