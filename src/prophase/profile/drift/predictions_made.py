"""What was predicted for finished jobs: at their submission, and from a somewhat older memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.profile.predict.point_and_range import STRATA
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.submit_columns import arrivals, ends, outcomes

Floats = NDArray[np.float64]
#: jobs by which the memory is older that errors are judged by; a short history has no memory
#: that old
LAG = 300


@dataclass(frozen=True)
class Answered:
    """Predictions of finished jobs; without a clock there is no older memory."""

    said: pd.DataFrame
    lagged: pd.DataFrame | None

    def judged(self, jobs: pd.DataFrame, predictor: Predictor) -> PredictionErrors:
        """Compare with what became of the jobs."""
        floor = predictor.floor_
        outcome = outcomes(jobs, predictor.target_)
        value, low, high = (
            self.said[name].to_numpy(np.float64) for name in ("value", "low", "high")
        )
        miss = np.log(np.maximum(outcome, floor)) - np.log(np.maximum(value, floor))
        ranged = (outcome >= 0) & ~np.isnan(low) & ~np.isnan(high)
        return PredictionErrors(
            np.where(outcome >= 0, miss, np.nan),
            np.where(ranged, (outcome < low) | (outcome > high), np.nan),
            np.asarray(self.said["stratum"] != STRATA[0], dtype=np.float64),
        )


@dataclass(frozen=True)
class PredictionErrors:
    """What became of predictions; NaN where the outcome or the prediction is unknown."""

    #: log of outcome over prediction
    error: Floats
    #: 1 if the outcome lay outside its range
    outside: Floats
    #: 1 if metadata like these were never seen as a whole
    new: Floats

    def behind(self, jobs: int) -> PredictionErrors:
        """Put jobs in front of which nothing is known."""
        unknown = np.full(jobs, np.nan)
        return PredictionErrors(
            *(np.concatenate([unknown, one]) for one in (self.error, self.outside, self.new))
        )


class Clock:
    """Knows when the latest outcomes became known."""

    def __init__(self, jobs: pd.DataFrame) -> None:
        self.lag = min(LAG, len(jobs) // 2)
        self.ended = np.maximum.accumulate(ends(jobs))[-self.lag :]

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
        before = ended[: len(jobs)]
        self.ended = ended[-self.lag :]
        lagged = predictor.predict(jobs, as_of=np.minimum(arrival, before))
        return Answered(predictor.predict(jobs, as_of="submit"), lagged)
