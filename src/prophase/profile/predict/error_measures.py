"""How good answers were: several measures at once, each with an interval.

No single measure is enough: relative error alone rewards guessing short, since one second
for every job keeps each error at 100 % or less.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.array_types import Floats
from prophase.json_types import JsonObject
from prophase.profile.predict.point_and_range import STRATA
from prophase.profile.predict.yes_no_target import yes_no_measures
from prophase.stats import calendar_blocks, statistics

Ints = NDArray[np.intp]


def measure(
    outcome: Floats,
    answers: pd.DataFrame,
    *,
    time_s: Floats | None = None,
    yes_no: bool = False,
    random_state: int = 0,
) -> JsonObject:
    """Return all measures over all jobs, with intervals, and per stratum.

    Parameters
    ----------
    outcome : array
        What happened; jobs without a positive outcome are not judged.
    answers : DataFrame
        What :meth:`Predictor.predict` returned for them.
    time_s : array, optional
        When each job was submitted. Intervals come from days of jobs; none without a clock.
    yes_no : bool
        Outcomes are 0 and 1, answers are probabilities.
    """
    judged = np.isfinite(outcome) & ((outcome > 0) | yes_no)
    answered = judged & ~answers["abstained"].to_numpy(dtype=bool)
    columns = [outcome, *(answers[name].to_numpy(dtype=float) for name in ("value", "low", "high"))]
    take = _yes_no if yes_no else _measures
    stratum = answers["stratum"].to_numpy()
    rows = np.flatnonzero(answered)
    whole = take(*(column[rows] for column in columns))
    whole["intervals"] = _intervals(
        lambda part: take(*(column[rows[part]] for column in columns)),
        None if time_s is None else time_s[rows],
        random_state,
    )
    whole["jobs"] = int(judged.sum())
    whole["abstained"] = int((judged & ~answered).sum())
    whole["strata"] = {}
    for kind in STRATA:
        part = np.flatnonzero(answered & (stratum == kind))
        if len(part):
            measures = take(*(column[part] for column in columns))
            whole["strata"][kind] = {"jobs": len(part), **measures}
    return whole


def _yes_no(outcome: Floats, value: Floats, low: Floats, high: Floats) -> JsonObject:
    return yes_no_measures(outcome, value)


def _measures(outcome: Floats, value: Floats, low: Floats, high: Floats) -> JsonObject:
    if len(outcome) == 0:
        return dict.fromkeys(_NAMES, float("nan"))
    miss = np.log(np.maximum(value, 1e-300)) - np.log(outcome)
    off = np.abs(value - outcome) / outcome
    spread = np.log(outcome) - np.log(outcome).mean()
    total = float((spread**2).sum())
    with np.errstate(over="ignore", divide="ignore"):
        factor = np.median(high / np.maximum(low, 1e-300))
    return {
        "median_ape_pct": 100 * float(np.median(off)),
        "within_20_pct": 100 * float((off <= 0.2).mean()),
        "within_50_pct": 100 * float((off <= 0.5).mean()),
        "within_x2_pct": 100 * float((np.abs(miss) <= np.log(2) + 1e-12).mean()),
        "r2_log": 1 - float((miss**2).sum()) / total if total > 0 else float("nan"),
        "mean_abs_log_error": float(np.abs(miss).mean()),
        "signed_log_error": float(miss.mean()),
        "coverage_90_pct": 100 * float(((low <= outcome) & (outcome <= high)).mean()),
        "range_factor_median": float(factor),
        "interval_score_log": float(_interval_scores(outcome, low, high).mean()),
    }


def _interval_scores(outcome: Floats, low: Floats, high: Floats) -> Floats:
    """Return the width of each range and 2 / 0.1 times its miss, in logarithms.

    The score of Gneiting and Raftery: true quantiles have the smallest mean.
    """
    value, begin, end = (np.log(np.maximum(part, 1e-300)) for part in (outcome, low, high))
    missed = np.maximum(begin - value, 0.0) + np.maximum(value - end, 0.0)
    return np.asarray(end - begin + 2 / 0.1 * missed)


_NAMES = (
    "median_ape_pct",
    "within_20_pct",
    "within_50_pct",
    "within_x2_pct",
    "r2_log",
    "mean_abs_log_error",
    "signed_log_error",
    "coverage_90_pct",
    "range_factor_median",
    "interval_score_log",
)


def _intervals(
    take: Callable[[Ints], JsonObject], time_s: Floats | None, random_state: int
) -> dict[str, list[float]]:
    """Return 95 % intervals over days, as jobs of a day are alike; NaN where not known."""
    if time_s is None or not len(time_s) or not np.isfinite(time_s).all():
        return {}
    names = list(take(np.arange(len(time_s))))

    def of_rows(rows: Ints) -> list[float]:
        # all of them at once: there are ten, and two hundred draws
        drawn = take(rows)
        return [drawn[name] for name in names]

    found = statistics(of_rows, calendar_blocks(time_s), random_state=random_state)
    return {name: [one.low, one.high] for name, one in zip(names, found, strict=True)}
