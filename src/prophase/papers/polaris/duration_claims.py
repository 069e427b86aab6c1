"""Section III-D: how well profile means predict durations, and Fig. 5."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from prophase.papers.claims import PublishedClaim, verdict_on
from prophase.papers.polaris.paper_data import Inputs
from prophase.profile.predict.evaluation import evaluate
from prophase.trace.split import split_by_job

_PRINTED = "the authors' 999 printed errors"
_OUTLIERS = "errors above 100 % are outliers, of two profiles"
#: not published as a file of its own
_NOTEBOOK = (
    "copy the printed list of alibaba_data-evaluation.ipynb (polaris-slo-cloud/polaris-ai) into "
    "duration_errors.csv with the columns row,rmse_perc"
)


def printed_error_items(inputs: Inputs) -> Iterator[PublishedClaim]:
    """Fig. 5 read from the errors that the authors' notebook prints, as percent and as ratio."""
    readings = (
        ("Fig. 5a, 5 %", "80 % of jobs have an error below 5 %", 5.0, 80.0),
        ("Fig. 5a, 20 %", "90 % of jobs have an error below 20 %", 20.0, 90.0),
    )
    if inputs.errors is None:
        for item, claim, _, share in readings:
            yield PublishedClaim.waiting(item, claim, f"{share:.0f} %", _NOTEBOOK)
        yield PublishedClaim.waiting("Fig. 5b", _OUTLIERS, "a few jobs", _NOTEBOOK)
        return
    ratio = inputs.errors.dropna().to_numpy(float)
    for item, claim, mark, share in readings:
        inside = 100 * float((ratio <= mark / 100).mean())
        misread = 100 * float((ratio <= mark).mean())
        yield PublishedClaim(
            item, claim, f"{share:.0f} %", f"{inside:.1f} %", verdict_on(inside >= share - 1),
            f"the errors are ratios that were read as percent: {misread:.1f} % of jobs are within "
            f"{100 * mark:.0f} %; the median error is {100 * np.median(ratio):.0f} %",
            _PRINTED,
        )  # fmt: skip
    above = 100 * float((ratio > 1.0).mean())
    yield PublishedClaim(
        "Fig. 5b", _OUTLIERS, "a few jobs",
        f"{above:.1f} % of jobs", verdict_on(above < 5),
        f"read as ratios; above 100 as printed are {int((ratio > 100).sum())} of {len(ratio)}",
        _PRINTED,
    )  # fmt: skip


def prediction_items(inputs: Inputs, *, random_state: int = 0) -> Iterator[PublishedClaim]:
    """The paper's predictor run again, on jobs it has not trained on, beside a look-up."""
    claim = "profile means predict 80 % of durations within 5 %"
    split = split_by_job(inputs.rows, 0.3, random_state=random_state)
    train, test = inputs.rows.iloc[split.train], inputs.rows.iloc[split.test]
    found = evaluate(train, test, ["profile-mean", "backoff-median"], random_state=random_state)
    within = {name: _within(found.answers[name], test, 0.05) for name in found.answers}
    off = {name: measures["median_ape_pct"] for name, measures in found.methods.items()}
    ours = f"{within['profile-mean']:.1f} % within 5 %, median error {off['profile-mean']:.0f} %"
    plain = f"{within['backoff-median']:.1f} % and {off['backoff-median']:.0f} %"
    yield PublishedClaim(
        "Section III-D", claim, "80 %", ours,
        verdict_on(within['profile-mean'] >= 80, real=inputs.whole),
        f"split by job; the median of earlier jobs of the same metadata reaches {plain}",
        inputs.origin,
    )  # fmt: skip


def _within(answers: pd.DataFrame, test: pd.DataFrame, share: float) -> float:
    """Percent of the judged jobs whose answer is that close."""
    true = test["duration_s"].reindex(answers.index)
    close = (answers["value"] - true).abs() <= share * true
    return 100 * float(close.mean())
