"""A repaired predictor on trial: whichever of it and the unrepaired one errs less is asked."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from prophase.array_types import Floats
from prophase.profile.drift.finished_jobs import Answered, Clock
from prophase.profile.predict.predictor import Predictor

#: an error counts at most as much as being off by this factor: giants must not decide
_MOST_ERROR = float(np.log(20.0))
#: jobs after which the better one stays and the other is forgotten
_LASTS = 1_000


@dataclass(eq=False)
class RepairTrial:
    """The predictor that is not asked, and what both have erred since the repair."""

    other: Predictor
    #: summed log errors of the one that is asked, and of the other
    errors: Floats = field(default_factory=lambda: np.zeros(2))
    jobs: int = 0
    #: whether the one that is asked is the repaired one
    repaired: bool = True

    def answer(
        self, asked: Predictor, clock: Clock, jobs: pd.DataFrame
    ) -> tuple[Answered, Predictor]:
        """Return the answers of the one that is asked, and who is to be asked from now on."""
        beside = copy.copy(clock).answer(self.other, jobs)
        said = clock.answer(asked, jobs)
        for place, (held, predictor) in enumerate(((said, asked), (beside, self.other))):
            error = np.abs(held.judged(jobs, predictor).error)
            self.errors[place] += np.nansum(np.minimum(error, _MOST_ERROR))
        self.jobs += len(jobs)
        if self.errors[1] < self.errors[0]:
            asked, self.other = self.other, asked
            self.errors = self.errors[::-1].copy()
            self.repaired = not self.repaired
        return said, asked

    @property
    def over(self) -> bool:
        return self.jobs >= _LASTS
