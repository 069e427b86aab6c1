"""Run times predicted for the later part of a trace, by every predictor, as of submission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError, MissingExtraError, ParameterError
from prophase.json_types import JsonObject
from prophase.profile.predict.evaluation import evaluate
from prophase.profile.predict.methods import BASELINES, DEFAULT
from prophase.trace.split import split_by_time

#: measures of a predictor that explain what its order is worth
_SCORES = ("median_ape_pct", "within_x2_pct", "r2_log", "coverage_90_pct")
USUAL_METHODS = ("default", *BASELINES)


@dataclass(frozen=True)
class PredictedDurations:
    """The later jobs of a trace, with one column of predicted run times per method.

    Attributes
    ----------
    columns : dict
        Method -> column of ``jobs`` with what its predictions rank jobs by, in seconds.
    scores : list of dict
        How good each method's predictions are.
    notes : list of str
        Methods that could not answer, and why.
    """

    jobs: pd.DataFrame
    columns: dict[str, str]
    scores: list[JsonObject]
    learnt_jobs: int
    notes: list[str]


def predict_durations(
    jobs: pd.DataFrame,
    methods: Sequence[str] = USUAL_METHODS,
    *,
    test_share: float = 0.5,
    seed: int = 0,
    show: Callable[[str], None] = lambda name: None,
) -> PredictedDurations:
    """Learn from the earlier jobs, predict the later ones as of their submission.

    Every job that had ended before a submission counts; nothing is predicted from itself.

    Parameters
    ----------
    methods : sequence of str
        Names from ``profile.predict.methods``; those that cannot answer on this trace, such as
        the time limit where there is none, are left out with a note.
    test_share : float
        Share of the jobs, by time, that are predicted.

    Examples
    --------
    >>> at = np.arange(200.0)
    >>> jobs = pd.DataFrame({"job_id": at.astype(str), "submit_s": 60 * at, "user": "ann"})
    >>> jobs["duration_s"], jobs["end_s"] = 30.0, 60 * at + 30
    >>> found = predict_durations(jobs, ["user-median"])
    >>> len(found.jobs), found.jobs[found.columns["user-median"]].iloc[0].round()
    (100, np.float64(30.0))
    """
    try:
        split = split_by_time(jobs, test_share=test_share)
    except ParameterError as cause:
        if not 0 < test_share < 1:
            raise
        raise InputError(
            f"predictions need jobs that ended before later ones were submitted: {cause}"
        ) from cause
    early, late = jobs.iloc[split.train], jobs.iloc[split.test]
    columns: dict[str, str] = {}
    scores: list[JsonObject] = []
    notes: list[str] = []
    found = late.copy()
    # who is not predicted is taken to run as long as jobs do in the middle
    usual = float(early["duration_s"].median())
    for method in dict.fromkeys(methods):
        show(method)
        try:
            judged = evaluate(early, late, [method], online=True, ordered=True, random_state=seed)
        except (InputError, MissingExtraError) as cause:
            notes.append(f"{method} is left out: {cause}")
            continue
        measures = judged.methods[method]
        told = measures["jobs"] - measures["abstained"]
        if not told:
            notes.append(f"{method} is left out: it has no answer for any job.")
            continue
        answers = judged.answers[method]["order_by"].reindex(late.index)
        values = answers.fillna(usual).to_numpy(np.float64)
        same = next((m for m, c in columns.items() if np.array_equal(values, found[c])), None)
        if same is not None:
            notes.append(f"{method} is left out: it predicts the same as {same}.")
            continue
        columns[method] = f"foretold_{len(columns)}_s"
        found[columns[method]] = values
        scores.append(
            {
                "method": method if method != "default" else f"default ({DEFAULT})",
                "jobs": told,
                **{key: measures[key] for key in _SCORES},
            }
        )
    return PredictedDurations(found, columns, scores, len(early), notes)
