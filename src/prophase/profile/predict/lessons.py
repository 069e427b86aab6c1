"""Which finished jobs a learner is shown, and how much of the past each may see.

Half of them are asked as of their own submission, as in service with every outcome at once.
The other half are asked as of some time before, so that the learner also knows how much an
old memory is worth.
"""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import Floats

#: more lessons cost time and change little
_MOST = 20_000
#: the first jobs have hardly any past to learn from
_BURN_IN = 0.1


def lessons(question: Question, values: Floats, random_state: int) -> tuple[Question, Floats]:
    """Return the jobs to learn from, in order of arrival, and their outcomes."""
    draw = np.random.default_rng(random_state)
    rows = np.arange(int(_BURN_IN * len(question)), len(question))
    if len(rows) > _MOST:
        rows = np.sort(draw.choice(rows, _MOST, replace=False))
    arrival = question.arrival[rows]
    span = float(np.ptp(question.arrival)) if len(question) else 0.0
    lag = np.where(
        draw.random(len(rows)) < 0.5, 0.0, span * 10 ** draw.uniform(-3.0, -0.3, len(rows))
    )
    # a job asked as of before the first outcome would teach nothing
    as_of = np.maximum(arrival - lag, np.minimum(arrival, question.arrival[0] + 0.05 * span))
    return question.rows(rows, as_of), values[rows]
