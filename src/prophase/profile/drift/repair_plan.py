"""Mend a predictor after a change: who changed, what to do with old outcomes, and a refit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.profile.drift.culprit import Culprit, find_culprit
from prophase.profile.drift.drift_signals import alike_before
from prophase.profile.drift.outcome_repair import Repair, choose_repair, refit
from prophase.profile.predict.back_off_keys import choose_levels, hash_columns, key_of
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.submit_columns import ends, outcomes, submitted

Floats = NDArray[np.float64]
#: of a normal distribution, standard deviation over median absolute value
_SPREAD = 1.4826
_MOST_SCORE = 2.5
#: how far jobs of one key share their luck, here
_ECHO = 0.3


@dataclass(frozen=True)
class RepairPlan:
    """A repair, the jobs it is for, and the moment before which their outcomes are old."""

    culprit: Culprit
    repair: Repair
    before_s: float

    def factors(self, jobs: pd.DataFrame) -> Floats:
        """Return what each outcome is multiplied by; 0 forgets it."""
        found = np.ones(len(jobs))
        if self.repair.action in ("rescale", "forget"):
            old = self.culprit.among(jobs) & (ends(jobs) < self.before_s)
            found[old] = self.repair.factor
        return found


def all_factors(mends: list[RepairPlan], jobs: pd.DataFrame) -> Floats:
    """Return what each outcome is multiplied by after several repairs."""
    found = np.ones(len(jobs))
    for mend in mends:
        found *= mend.factors(jobs)
    return found


def plan_repair(
    jobs: pd.DataFrame,
    since: int,
    *,
    earlier: list[RepairPlan],
    method: str,
    target: str,
    usual_error: float,
    random_state: int,
) -> RepairPlan:
    """Find out who changed and how, against a predictor that knows nothing of the change.

    Parameters
    ----------
    jobs : DataFrame
        All finished jobs in time order.
    since : int
        Row of the first job of the change.
    earlier : list of Mend
        Repairs of earlier changes.
    usual_error : float
        Median absolute log error before the change.
    """
    before_s = float(ends(jobs)[since])
    factors = all_factors(earlier, jobs)
    factors[ends(jobs) >= before_s] = 0.0
    factors[since:] = 0.0
    nothing = RepairPlan(
        Culprit(None, ()), Repair("refit", 1.0, 0, float("nan"), float("nan")), before_s
    )
    if (factors > 0).sum() < 2:
        return nothing
    known = refit(method, jobs, factors, target=target, random_state=random_state)
    later = jobs.iloc[since:]
    answers = known.predict(later)
    floor = known.floor_
    miss = np.log(np.maximum(outcomes(later, target), floor)) - np.log(
        np.maximum(answers["value"].to_numpy(np.float64), floor)
    )
    # keys that are new since then would be off in any case
    judged = np.isfinite(miss) & (answers["stratum"].to_numpy() == "seen")
    if not judged.any():
        judged = np.isfinite(miss)
    scores = np.clip(miss / (_SPREAD * max(usual_error, 1e-3)), -_MOST_SCORE, _MOST_SCORE)
    scores = np.where(judged, scores, np.nan)
    upwards, downwards = (np.nansum(np.clip(side, -1.0, None)) for side in (scores, -scores))
    culprit = find_culprit(later, scores if upwards >= downwards else -scores)
    if culprit.column is None:
        return nothing
    hit = culprit.among(later) & judged
    old = culprit.among(jobs) & (factors > 0)
    chosen = choose_repair(miss[hit], usual_error, int(old.sum()), weight=_effective(later[hit]))
    return RepairPlan(culprit, chosen, before_s)


def _effective(jobs: pd.DataFrame) -> float:
    """Return how many independent jobs these count as: jobs of one key share their luck."""
    level = choose_levels(submitted(jobs))[0]
    keys = key_of(level, hash_columns(submitted(jobs), set(level.columns)), len(jobs))
    return float((1.0 / (1.0 + _ECHO * alike_before(keys))).sum())


def repaired_predictor(
    jobs: pd.DataFrame, mends: list[RepairPlan], *, method: str, target: str, random_state: int
) -> Predictor:
    """Return a predictor retrained on all jobs, old outcomes repaired."""
    factors = all_factors(mends, jobs)
    return refit(method, jobs, factors, target=target, random_state=random_state)
