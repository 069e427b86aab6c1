"""Figures of an evaluation, among them the errors' distribution (Fig. 5a of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from prophase.array_types import Floats
from prophase.errors import storage_error
from prophase.plots.prediction_error_boxes import error_boxes
from prophase.plots.style import COLOURS, MUTED, legend, line_style, percent_axis, save, styled
from prophase.profile.predict.error_tables import (
    MARKS,
    ErrorCurve,
    error_curve,
    errors_by_group,
    relative_errors,
)

_LOW_PCT = 0.1
_TICKS = (0.001, 0.01, 0.1, 1, 10, 100, 1_000, 10_000, 100_000)


def error_cdf(curves: Sequence[ErrorCurve]) -> Figure:
    """Draw the share of jobs below each error, in percent and as the paper reads it.

    On the left an error of 5 means 5 %. On the right it is the ratio 5, that is 500 %: the
    numbers that the paper's text calls 5 % and 20 %.
    """
    high = max([1_000.0, *(float(c.errors_pct[-1]) for c in curves if c.errors_pct.size)])
    with styled():
        figure = Figure(figsize=(9.6, 4.2))
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2, sharey=True)
        _paint(left, curves, 1.0, high)
        left.set_title("Error in percent", pad=34)
        left.set_xlabel("|answer - outcome| / outcome, percent (log scale)")
        left.set_ylabel("share of jobs at or below")
        _paint(right, curves, 100.0, high)
        right.set_title("The ratio, read as if it were percent", pad=34)
        right.set_xlabel("the same as a ratio: 5 is 500 % (log scale)")
        legend(left, loc="upper left")
    return figure


def _paint(axes: Axes, curves: Sequence[ErrorCurve], unit_pct: float, high_pct: float) -> None:
    """Draw the curves with errors in units of so many percent, and the marks of the paper."""
    low, high = _LOW_PCT / unit_pct, high_pct / unit_pct
    for place, curve in enumerate(curves):
        x, y = _steps(curve.errors_pct / unit_pct, low, high)
        axes.step(x, y, where="post", label=curve.method, **line_style(place))
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    percent_axis(axes.yaxis)
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,g}"))
    if not curves:
        return
    first = curves[0]
    shares = first.within if unit_pct == 1.0 else first.within_ratio
    for mark in MARKS:
        if low < mark < high:
            axes.axvline(mark, color=MUTED, linewidth=1)
            axes.axvspan(low, mark, color=COLOURS[0], alpha=0.05, linewidth=0)
            _above(axes, f"{mark:g}", 1.01, x=mark)
    told = ", ".join(f"{share:.1%} of jobs within {mark:g}" for mark, share in shares.items())
    _above(axes, f"{first.method}: {told}", 1.075)


def _above(axes: Axes, text: str, height: float, x: float | None = None) -> None:
    """Write above the axes: at a value of the x axis, or from their left edge."""
    place = axes.get_xaxis_transform() if x is not None else axes.transAxes
    side = "center" if x is not None else "left"
    axes.text(x or 0.0, height, text, transform=place, ha=side, va="bottom", fontsize=8.5,
              color=MUTED)  # fmt: skip


def _steps(errors: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the corners of the distribution; errors of 0 enter at the left edge."""
    if not errors.size:
        return np.array([low, high]), np.zeros(2)
    shares = np.arange(1, errors.size + 1) / errors.size
    return np.r_[low, np.maximum(errors, low), high], np.r_[0.0, shares, 1.0]


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
