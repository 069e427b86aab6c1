"""Figures of an evaluation, among them the errors' distribution (Fig. 5a of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from prophase.array_types import Floats
from prophase.plots.style import (
    COLOURS,
    INK,
    MUTED,
    canvas,
    draw,
    legend,
    line_style,
    percent_axis,
    save,
    save_table,
)
from prophase.profile.predict.error_tables import (
    LARGE_PCT,
    MARKS,
    ErrorCurve,
    error_curve,
    errors_by_group,
    relative_errors,
)
from prophase.result.short_names import short_names

_LOW_PCT = 0.1
_TICKS = (0.001, 0.01, 0.1, 1, 10, 100, 1_000, 10_000, 100_000)


def error_cdf(curves: Sequence[ErrorCurve]) -> Figure:
    """Draw the share of jobs below each error, in percent and as the paper reads it.

    On the left an error of 5 means 5 %. On the right it is the ratio 5, that is 500 %: the
    numbers that the paper's text calls 5 % and 20 %.
    """
    high = max([1_000.0, *(float(c.errors_pct[-1]) for c in curves if c.errors_pct.size)])
    with canvas(9.6, 4.2) as figure:
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
    save_table(shares, folder / "error-cdf.csv")
    save_table(table, folder / "error-boxes.csv")
    return curves, table


#: groups that fit beside each other; those with the largest errors are shown
_MOST = 30
#: jobs with a large error that are drawn of each group
_MOST_CIRCLES = 40
_LOW_PCT = 0.1


def error_boxes(table: pd.DataFrame, errors_pct: Floats, groups: pd.Series, *, per: str) -> Figure:
    """Draw a box of errors per group, the largest median first; errors over 100 % are circled.

    Parameters
    ----------
    table : DataFrame
        Of ``errors_by_group``.
    errors_pct, groups : array, Series
        Error and group of each job.
    per : str
        What the groups are, for the axis.
    """
    shown = table.head(_MOST)
    names = groups.astype("string").fillna("none").to_numpy(dtype=object)
    told = set(table["group"])
    names = np.array([name if name in told else "other" for name in names], dtype=object)

    def paint(axes: Axes) -> None:
        parts = []
        for name in shown["group"]:
            held = errors_pct[(names == name) & np.isfinite(errors_pct)]
            parts.append(np.maximum(held, _LOW_PCT))
        labels = [str(name) for name in shown["group"]]
        if per == "profile":
            # the number, which the table beside the figure names; names are sentences
            labels = [label.split(": ", maxsplit=1)[0] for label in labels]
        _boxes(axes, parts, short_names(labels, 14))
        draw_from = np.random.default_rng(0)
        for place, held in enumerate(parts, start=1):
            large = np.sort(held[held > LARGE_PCT])[::-1][:_MOST_CIRCLES]
            spot = place + draw_from.uniform(-0.18, 0.18, large.size)
            axes.plot(
                spot, large, "o", markersize=5, markerfacecolor="none",
                markeredgecolor=COLOURS[1], markeredgewidth=1.0,
            )  # fmt: skip
        axes.axhline(LARGE_PCT, color=COLOURS[1], linewidth=1, linestyle="--")
        axes.set_yscale("log")
        axes.set_ylim(bottom=_LOW_PCT * 0.8)
        axes.yaxis.set_major_locator(LogLocator(base=10, numticks=9))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,g} %"))
        axes.set_ylabel("relative error (log scale)")
        axes.set_xlabel(f"{per}, largest median error first; circles: over {LARGE_PCT:g} %")
        if len(shown) > 8 and max(map(len, labels)) > 3:
            axes.tick_params(axis="x", labelrotation=60)

    more = len(table) - len(shown)
    title = f"Error per {per}" + (f" (the worst {len(shown)}; {more} more)" if more else "")
    return draw(paint, title=title, width_in=max(6.0, 2.0 + 0.32 * len(shown)), height_in=4.0)


def _boxes(axes: Axes, parts: list[Floats], labels: list[str]) -> None:
    drawn = axes.boxplot(
        parts,
        tick_labels=labels,
        showfliers=False,
        patch_artist=True,
        widths=0.6,
        medianprops={"color": INK, "linewidth": 1.3},
        whiskerprops={"color": MUTED},
        capprops={"color": MUTED},
    )
    for patch in drawn["boxes"]:
        patch.set(facecolor=COLOURS[0], alpha=0.35, linewidth=0)
    axes.grid(visible=False, axis="x")
