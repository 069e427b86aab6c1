"""Relative errors as the paper shows them: their distribution, and by group with a cause.

The paper's measure is |answer - outcome| / outcome of each job. Its text reads the ratio 5
as 5 %, although it is 500 %, so both readings stand side by side here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from prophase.array_types import Floats
from prophase.profile.predict.point_and_range import STRATA

#: errors the paper marks, in percent
MARKS = (5.0, 20.0)
#: errors above this are large, in percent
LARGE_PCT = 100.0
Cause = Literal["new metadata", "spread", "wrong class", ""]
#: half of the errors above this, in percent, and a group is not predicted well
_WRONG_PCT = 50.0


@dataclass(frozen=True)
class ErrorCurve:
    """The errors of one method, sorted, and what share of jobs lies below the marks."""

    method: str
    errors_pct: Floats
    #: mark -> share of jobs with at most that many percent
    within: dict[float, float]
    #: mark -> share of jobs with at most that ratio: what the paper calls percent
    within_ratio: dict[float, float]


def error_curve(method: str, outcome: Floats, value: Floats) -> ErrorCurve:
    """Return the distribution of relative errors; jobs without an answer are left out.

    Examples
    --------
    >>> curve = error_curve("mean", np.array([100.0, 100.0]), np.array([104.0, 500.0]))
    >>> curve.within[5.0], curve.within_ratio[5.0]
    (0.5, 1.0)
    """
    errors = np.sort(relative_errors(outcome, value))
    errors = errors[np.isfinite(errors)]
    share = {mark: float((errors <= mark).mean()) if errors.size else np.nan for mark in MARKS}
    ratio = {
        mark: float((errors <= 100 * mark).mean()) if errors.size else np.nan for mark in MARKS
    }
    return ErrorCurve(method, errors, share, ratio)


def relative_errors(outcome: Floats, value: Floats) -> Floats:
    """Return |answer - outcome| / outcome in percent; NaN without a positive outcome."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(outcome > 0, 100 * np.abs(value - outcome) / outcome, np.nan)


def errors_by_group(
    outcome: Floats, answers: pd.DataFrame, groups: pd.Series, *, fewest: int = 5
) -> pd.DataFrame:
    """Return one row per group: quartiles of the error, large errors, and why they are large.

    Parameters
    ----------
    answers : DataFrame
        As :meth:`Predictor.predict` returns them.
    groups : Series
        Profile or other group of each job, in the same order.
    fewest : int, default=5
        Groups with fewer judged jobs are put together as ``other``.

    Returns
    -------
    DataFrame
        ``cause`` of groups with large errors, or with a median error over 50 %, is *spread* (its
        jobs differ so much that not even their own median would predict them), *new metadata*
        (they are similar, but for most of them no past job matches all fields), or *wrong class*
        (they are similar, but were predicted like other jobs). Groups with the largest median
        error come first.

    Examples
    --------
    >>> answers = pd.DataFrame({"value": [90.0] * 6, "stratum": "seen"})
    >>> found = errors_by_group(np.full(6, 10.0), answers, pd.Series(["a"] * 6))
    >>> found[["group", "q50", "cause"]].values.tolist()
    [['a', 800.0, 'wrong class']]
    """
    value = answers["value"].to_numpy(dtype=np.float64)
    table = pd.DataFrame(
        {
            "group": groups.astype("string").fillna("none").to_numpy(dtype=object),
            "error": relative_errors(outcome, value),
            "outcome": outcome,
            "new": answers["stratum"].to_numpy() != STRATA[0],
        }
    )
    table = table[np.isfinite(table["error"])]
    sizes = table["group"].map(table["group"].value_counts())
    table.loc[sizes < fewest, "group"] = "other"
    rows = [_group(str(name), part) for name, part in table.groupby("group", sort=True)]
    columns = ["group", "jobs", "q25", "q50", "q75", "largest", "large", "large_share",
               "new_share", "own_median_error", "cause"]  # fmt: skip
    found = pd.DataFrame(rows, columns=columns)
    return found.sort_values("q50", ascending=False, kind="stable", ignore_index=True)


def _group(name: str, part: pd.DataFrame) -> dict[str, object]:
    error, outcome = part["error"].to_numpy(), part["outcome"].to_numpy()
    large = int((error > LARGE_PCT).sum())
    own = float(np.median(relative_errors(outcome, np.full(len(outcome), np.median(outcome)))))
    new = float(part["new"].mean())
    q25, q50, q75 = (float(np.quantile(error, q)) for q in (0.25, 0.5, 0.75))
    cause: Cause = ""
    # an answer far too short never errs by more than 100 %
    if large or q50 > _WRONG_PCT:
        cause = "spread" if own > _WRONG_PCT else "new metadata" if new > 0.5 else "wrong class"
    return {
        "group": name,
        "jobs": len(part),
        "q25": q25,
        "q50": q50,
        "q75": q75,
        "largest": float(error.max()),
        "large": large,
        "large_share": large / len(part),
        "new_share": new,
        "own_median_error": own,
        "cause": cause,
    }
