"""What was predicted for finished jobs: at their submission, and from a somewhat older memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.submitted import arrivals, ends, outcomes

Floats = NDArray[np.float64]
#: jobs by which the memory is older that errors are judged by
LAG = 300


@dataclass(frozen=True)
class Answered:
    """Predictions of finished jobs; without a clock there is no older memory."""

    said: pd.DataFrame
    lagged: pd.DataFrame | None

    def error(self, jobs: pd.DataFrame, predictor: Predictor) -> Floats:
        """Return the log of outcome over prediction, NaN where one is unknown."""
        floor = predictor.floor_
        outcome = outcomes(jobs, predictor.target_)
        value = self.said["value"].to_numpy(np.float64)
        found = np.log(np.maximum(outcome, floor)) - np.log(np.maximum(value, floor))
        return np.where(outcome >= 0, found, np.nan)

    def outside(self, jobs: pd.DataFrame, predictor: Predictor) -> Floats:
        """Return 1 where the outcome lay outside its range, NaN where one is unknown."""
        outcome = outcomes(jobs, predictor.target_)
        low, high = (self.said[end].to_numpy(np.float64) for end in ("low", "high"))
        known = (outcome >= 0) & ~np.isnan(low) & ~np.isnan(high)
        return np.where(known, (outcome < low) | (outcome > high), np.nan)


class Clock:
    """Knows when the latest outcomes became known."""

    def __init__(self, jobs: pd.DataFrame) -> None:
        self.ended = np.maximum.accumulate(ends(jobs))[-LAG:]

    def answer(self, predictor: Predictor, jobs: pd.DataFrame) -> Answered:
        """Return what a predictor said of jobs before they ran, and let it learn from them."""
        arrival, end = arrivals(jobs), ends(jobs)
        if not (np.isfinite(arrival).all() and np.isfinite(end).all()):
            said = predictor.predict(jobs)
            predictor.update(jobs)
            return Answered(said, None)
        # every outcome later than a submission is hidden from its answer
        predictor.update(jobs)
        ended = np.maximum.accumulate(np.concatenate([self.ended, end]))
        place = np.arange(len(jobs)) + len(self.ended) - LAG
        before = ended[np.maximum(place, 0)]
        self.ended = ended[-LAG:]
        lagged = predictor.predict(jobs, as_of=np.minimum(arrival, before))
        return Answered(predictor.predict(jobs, as_of="submit"), lagged)
