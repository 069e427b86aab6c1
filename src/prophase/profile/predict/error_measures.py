"""How good answers were: several measures at once, each with a bootstrap interval.

No single measure is enough: relative error alone rewards guessing short, since one second
for every job keeps each error at 100 % or less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from prophase.profile.predict.memory import Floats
from prophase.profile.predict.point_and_range import STRATA
from prophase.profile.predict.yes_no_target import yes_no_measures

_DRAWS = 200


def measure(
    outcome: Floats, answers: pd.DataFrame, *, yes_no: bool = False, random_state: int = 0
) -> dict[str, Any]:
    """Return all measures over all jobs, with intervals, and per stratum.

    Parameters
    ----------
    outcome : array
        What happened; jobs without a positive outcome are not judged.
    answers : DataFrame
        What :meth:`Predictor.predict` returned for them.
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
    whole["intervals"] = _bootstrap([column[rows] for column in columns], take, random_state)
    whole["jobs"] = int(judged.sum())
    whole["abstained"] = int((judged & ~answered).sum())
    whole["strata"] = {}
    for kind in STRATA:
        part = np.flatnonzero(answered & (stratum == kind))
        if len(part):
            measures = take(*(column[part] for column in columns))
            whole["strata"][kind] = {"jobs": len(part), **measures}
    return whole


def _yes_no(outcome: Floats, value: Floats, low: Floats, high: Floats) -> dict[str, Any]:
    return yes_no_measures(outcome, value)


def _measures(outcome: Floats, value: Floats, low: Floats, high: Floats) -> dict[str, Any]:
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
    }


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
)


def _bootstrap(
    columns: list[Floats], take: Callable[..., dict[str, Any]], random_state: int
) -> dict[str, list[float]]:
    """Return 95 % intervals; neighbouring jobs are drawn together, as they are alike."""
    jobs = len(columns[0])
    if jobs < 2:
        return {}
    draw = np.random.default_rng(random_state)
    block = max(1, round(jobs ** (1 / 3)))
    starts = np.arange(0, jobs, block)
    found = []
    for _ in range(_DRAWS):
        chosen = draw.choice(starts, len(starts))
        rows = (chosen[:, None] + np.arange(block)[None, :]).ravel()
        rows = rows[rows < jobs]
        found.append(take(*(column[rows] for column in columns)))
    ends = {}
    for name in found[0]:
        drawn = np.array([one[name] for one in found])
        known = drawn[~np.isnan(drawn)]
        ends[name] = [
            float(np.quantile(known, q)) if len(known) else float("nan") for q in (0.025, 0.975)
        ]
    return ends
