"""Finished jobs that stand in for what a job does not say.

A method has hardly ever seen a job without a queue or a request, so leaving such a column
out would ask it something it never learnt. Instead, the column is filled from finished jobs
that agree with what the job does say, and the answers are put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.profile.predict.submitted import submitted

#: recent jobs that are kept
_MOST_KEPT = 2_000
#: a column that more jobs than this leave out may be left out
_OFTEN_MISSING = 0.2


@dataclass(frozen=True)
class Exemplars:
    """Submit-time columns of some recent jobs, latest last.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann", "bob", "ann"], "task": ["ps", "ps", "worker"]})
    >>> exemplars = Exemplars.of(jobs, ["user", "task"])
    >>> exemplars.filled({"user": "bob"}, most=1)
    [{'user': 'bob', 'task': 'ps'}]
    """

    columns: dict[str, NDArray[Any]]
    #: how much agreement in a column tells
    weights: dict[str, float]

    @classmethod
    def of(cls, history: pd.DataFrame, columns: Sequence[str]) -> Exemplars:
        """Keep the most recent jobs of a history."""
        seen = submitted(history)
        seen = seen[[name for name in map(str, seen) if name in columns]]
        usual = [name for name in seen if seen[name].isna().mean() <= _OFTEN_MISSING]
        kept = seen[-_MOST_KEPT:]
        held = {}
        for name in usual:
            values = np.array(kept[name].to_numpy(dtype=object), dtype=object)
            values[pd.isna(values)] = None
            held[str(name)] = values
        # a user tells more about a job than one of three sizes
        weights = {name: float(np.log1p(seen[name].nunique())) for name in held}
        return cls(held, weights)

    def lacking(self, job: Mapping[str, Any]) -> list[str]:
        """Return the columns that jobs usually have and this one does not say."""
        return [name for name in self.columns if job.get(name) is None]

    def filled(self, job: Mapping[str, Any], *, most: int) -> list[dict[str, Any]]:
        """Return the job as often as there are jobs like it, with its gaps filled from each."""
        lacking = self.lacking(job)
        rows = len(next(iter(self.columns.values()), ()))
        if not lacking or not rows:
            return [dict(job)]
        score = np.zeros(rows)
        for name, held in self.columns.items():
            if name not in lacking:
                score += self.weights[name] * (held == job[name])
        order = np.lexsort((np.arange(rows), score))[::-1][:most]
        # those that agree much less than the best are other kinds of job
        alike = order[score[order] >= 0.7 * score[order[0]]]
        return [{**job, **{name: self.columns[name][place] for name in lacking}} for place in alike]
