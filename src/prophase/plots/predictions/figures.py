"""Every figure of an evaluation, by name, with the tables they are drawn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from prophase.errors import storage_error
from prophase.plots.predictions.error_boxes import error_boxes
from prophase.plots.predictions.error_cdf import error_cdf
from prophase.plots.style import save
from prophase.profile.predict.error_tables import (
    ErrorCurve,
    error_curve,
    errors_by_group,
    relative_errors,
)
from prophase.profile.predict.memory import Floats


def write_error_figures(
    folder: Path,
    outcome: Floats,
    answers: dict[str, pd.DataFrame],
    groups: pd.Series,
    *,
    per: str,
) -> tuple[list[ErrorCurve], pd.DataFrame]:
    """Write ``error-cdf`` and ``error-boxes`` with CSV files, and return what they show.

    The boxes are those of the first method. A method that never answered has no curve.
    """
    told = {
        name: np.where(found["abstained"], np.nan, found["value"])
        for name, found in answers.items()
    }
    curves = [
        error_curve(name, outcome, value)
        for name, value in told.items()
        if np.isfinite(value).any()
    ]
    first = next(iter(answers))
    table = errors_by_group(outcome, answers[first].assign(value=told[first]), groups)
    save(error_cdf(curves), folder, "error-cdf")
    errors = relative_errors(outcome, told[first])
    save(error_boxes(table, errors, groups, per=per), folder, "error-boxes")
    shares = pd.DataFrame(
        [
            {"method": curve.method, "mark": mark, "share_pct": 100 * share,
             "share_ratio_pct": 100 * curve.within_ratio[mark]}
            for curve in curves
            for mark, share in curve.within.items()
        ]
    )  # fmt: skip
    try:
        shares.to_csv(folder / "error-cdf.csv", index=False)
        table.to_csv(folder / "error-boxes.csv", index=False)
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    return curves, table
