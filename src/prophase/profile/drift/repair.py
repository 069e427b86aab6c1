"""Mend a predictor after a change: who changed, what to do with old outcomes, and a refit."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Bools, Floats
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.profile.drift.drift_signals import alike_before
from prophase.profile.predict.back_off_keys import choose_levels, hash_columns, key_of
from prophase.profile.predict.methods import predictor_named
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.submit_columns import ends, outcomes, submitted

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


#: a value is accused if most of its jobs have at least this score
_UNUSUAL = 1.0
#: fewest jobs of a value
_FEWEST = 4
#: share of the whole change that the accused have to explain
_EXPLAINS = 0.4
#: what each accused value has to explain: many picked ones explain anything
_PRICE = 0.03
#: a column with more values than this share of the jobs numbers them
_MOST_VALUES = 0.5


@dataclass(frozen=True)
class Culprit:
    """Jobs whose column has one of some values; all jobs if there is no column."""

    column: str | None
    values: tuple[str, ...]
    #: share of the change that they explain
    explains: float = 0.0

    def among(self, jobs: pd.DataFrame) -> Bools:
        """Say which jobs belong to it."""
        if self.column is None:
            return np.ones(len(jobs), dtype=bool)
        if self.column not in jobs:
            return np.zeros(len(jobs), dtype=bool)
        return np.asarray(_words(jobs[self.column]).isin(self.values).to_numpy(dtype=bool))

    def sentence(self) -> str:
        """Name it in a few words."""
        if self.column is None:
            return "no single value of the metadata stands out"
        shown = ", ".join(self.values[:3])
        more = len(self.values) - 3
        return f"{self.column} {shown}" + (f" and {counted(more, 'other')}" if more > 0 else "")


def find_culprit(jobs: pd.DataFrame, scores: Floats) -> Culprit:
    """Return the values of one column whose jobs are unusual while the others are not.

    Parameters
    ----------
    scores : array
        How unusual each job is: 0 on average before the change, with spread 1. NaN is no
        evidence.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 30, "queue": ["a"] * 60})
    >>> found = find_culprit(jobs, np.array([2.0, 0.0] * 30))
    >>> found.sentence(), found.among(jobs).sum()
    ('user ann', np.int64(30))
    """
    known = np.isfinite(scores)
    seen, held = submitted(jobs[known]), scores[known]
    # what is usual must neither accuse nor excuse: only what is clearly unusual is explained
    excess = np.clip(held, -_UNUSUAL, 2.5)
    total = float(excess.sum())
    best, best_worth = Culprit(None, ()), 0.0
    if total <= 0:
        return best
    for column in map(str, seen):
        words = _words(seen[column])
        if not 1 < words.nunique() <= max(_MOST_VALUES * len(held), 2):
            continue
        table = pd.DataFrame({"score": held, "excess": excess}).groupby(words.to_numpy())
        typical, size = table["score"].median(), table["score"].size()
        accused = typical.index[(typical >= _UNUSUAL) & (size >= _FEWEST)]
        inside = words.isin(accused).to_numpy(dtype=bool)
        explains = float(excess[inside].sum()) / total
        # jobs of the accused that are as usual speak against the column
        innocent = float((held[inside] < _UNUSUAL / 2).mean()) if inside.any() else 0.0
        worth = explains - innocent - _PRICE * len(accused)
        if explains >= _EXPLAINS and worth > best_worth:
            best = Culprit(column, tuple(map(str, accused)), explains)
            best_worth = worth
    return best


def _words(column: pd.Series) -> pd.Series:
    return column.astype("string").fillna("")


# What a predictor does about a change: old outcomes are rescaled or forgotten, then a refit.
#
# Outcomes from before the change still tell jobs apart; only their level may be wrong. If the
# jobs that changed now take about the same factor longer, or shorter, their old outcomes are
# multiplied by it, and even keys that have not run since are predicted right. If there is no
# such factor, the old outcomes of these jobs are forgotten when that would have been better.


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
