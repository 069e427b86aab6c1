"""What a predictor does about a change: old outcomes are rescaled or forgotten, then a refit.

Outcomes from before the change still tell jobs apart; only their level may be wrong. If the
jobs that changed now take about the same factor longer, or shorter, their old outcomes are
multiplied by it, and even keys that have not run since are predicted right. If there is no
such factor, the old outcomes of these jobs are forgotten when that would have been better.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.json_types import JsonObject
from prophase.profile.predict.methods import predictor_named
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.submit_columns import outcomes

Floats = NDArray[np.float64]

#: a smaller factor is not worth touching the past for
_LEAST_SHIFT = float(np.log(1.25))
#: standard errors that a shift has to exceed
_SURE = 3.0
#: share of the error that rescaling has to remove
_REMOVES = 0.2
#: growth of the error from which the past of these jobs is forgotten
_WORSE = 1.5


@dataclass(frozen=True)
class Repair:
    """What was done with outcomes from before a change."""

    #: rescale, forget or refit
    action: str
    factor: float
    #: old outcomes that were touched
    outcomes: int
    #: median absolute log error of the changed jobs against what was known before the change
    error_before: float
    error_after: float

    def to_dict(self) -> JsonObject:
        """Return what JSON holds."""
        return asdict(self)


def choose_repair(
    miss: Floats, usual_error: float, touched: int, *, weight: float | None = None
) -> Repair:
    """Decide from how far jobs since the change are from what was known before it.

    Parameters
    ----------
    miss : array
        Log of outcome over prediction as of the change, of the jobs that changed.
    usual_error : float
        Median absolute miss of such jobs before the change.
    touched : int
        Outcomes from before the change that these jobs have.
    weight : float, optional
        Independent jobs that these count as; as many as they are if not given.

    Examples
    --------
    >>> choose_repair(np.full(30, np.log(3.0)), 0.2, 100).action
    'rescale'
    >>> choose_repair(np.array([2.0, -2.0] * 15), 0.2, 100).action
    'forget'
    >>> choose_repair(np.array([0.2, -0.2] * 15), 0.2, 100).action
    'refit'
    """
    known = miss[np.isfinite(miss)]
    if not len(known) or not touched:
        return Repair("refit", 1.0, 0, float("nan"), float("nan"))
    shift = float(np.median(known))
    now, then = float(np.median(np.abs(known))), float(np.median(np.abs(known - shift)))
    sure = _SURE * 1.5 * then / np.sqrt(max(weight or len(known), 1.0))
    if abs(shift) > max(_LEAST_SHIFT, sure) and then <= (1 - _REMOVES) * now:
        return Repair("rescale", float(np.exp(shift)), touched, now, then)
    if now > _WORSE * max(usual_error, 1e-9):
        return Repair("forget", 0.0, touched, now, float("nan"))
    return Repair("refit", 1.0, 0, now, now)


def refit(
    method: str, rows: pd.DataFrame, factors: Floats, *, target: str, random_state: int
) -> Predictor:
    """Retrain a predictor on rows whose outcomes are multiplied; factor 0 leaves one out."""
    kept = factors > 0
    table = rows[kept]
    changed = factors[kept]
    if (changed != 1.0).any():
        table = table.assign(**{target: outcomes(table, target) * changed})
    return predictor_named(method, random_state=random_state).fit(table, target)
