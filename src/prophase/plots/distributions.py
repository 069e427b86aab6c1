"""Figures of run times and waits, and of the laws fitted to them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.plots.style import (
    COLOURS,
    INK,
    MUTED,
    count_axis,
    draw,
    legend,
    line_style,
    note,
    percent_axis,
    time_axis,
)
from prophase.result.short_names import short
from prophase.trace.describe.distribution import Curve, DurationSummary
from prophase.trace.describe.laws.arrival_fit import ArrivalLaws
from prophase.trace.describe.laws.goodness_of_fit import GOOD_DISTANCE, ROUGH_DISTANCE
from prophase.trace.describe.laws.service_fit import Fit, ServiceLaws

_MOST_CURVES = 8


def time_histogram(times: DurationSummary, *, what: str = "run time") -> Figure:
    """Draw the histogram of a length of time over a log scale; zeros are told in the corner."""
    edges, counts = np.array(times.histogram.edges), np.array(times.histogram.counts)

    def paint(axes: Axes) -> None:
        axes.stairs(counts, edges, fill=True, color=COLOURS[0], linewidth=0)
        time_axis(axes.xaxis, edges[0], edges[-1])
        for name, text in (("p50", "median"), ("p99", "99 %")):
            at = times.values.at(name)
            if at > 0:
                axes.axvline(at, color=MUTED, linestyle="--", linewidth=1)
                note(axes, text, (at, 1.0), (3, -10), 9, xycoords=("data", "axes fraction"))
        if times.histogram.zeros:
            axes.annotate(
                f"{times.histogram.zeros:,} jobs at 0 s are not drawn",
                (0.01, 0.88),
                xycoords="axes fraction",
                fontsize=9,
                color=MUTED,
            )
        axes.set_xlabel(f"{what} (log scale)")
        axes.set_ylabel("jobs per bin")
        count_axis(axes.yaxis)

    return draw(paint, title=f"Histogram of the {what}")


def time_cdf(times: DurationSummary, *, what: str = "run time") -> Figure:
    """Draw the distribution function over all jobs."""
    return curves({"all jobs": times.curve}, what=what, title=f"Distribution of the {what}")


def curves(found: Mapping[str, Curve], *, what: str, title: str) -> Figure:
    """Draw one distribution function per group."""
    shown = list(found.items())[:_MOST_CURVES]
    positive = [v for _, curve in shown for v in curve.values if v > 0] or [1.0]
    low, high = min(positive), max(positive)

    def paint(axes: Axes) -> None:
        for place, (name, curve) in enumerate(shown):
            # zeros cannot be on a log scale: the line comes in from the left at their share
            values = np.maximum(curve.values, low / 10)
            label = f"{short(name)} ({curve.count:,})"
            axes.plot(values, curve.shares, label=label, **line_style(place))
        time_axis(axes.xaxis, low, high)
        percent_axis(axes.yaxis)
        axes.set_xlabel(f"{what} (log scale)")
        axes.set_ylabel("share of jobs at or below")
        legend(axes, loc="best")

    return draw(paint, title=title)


_VERDICT_COLOUR = {"good": COLOURS[2], "rough": COLOURS[4], "bad": COLOURS[1]}
_SHOWN = 4


def law_curves(laws: ServiceLaws) -> Figure:
    """Draw the distribution function of the values and of the best laws."""
    values = np.array(laws.quantiles)

    def paint(axes: Axes) -> None:
        axes.plot(values, laws.shares, color=INK, linewidth=3, alpha=0.55, label=laws.what)
        for place, fit in enumerate(_shown(laws)):
            axes.plot(fit.quantiles, laws.shares, label=_label(fit), **line_style(place))
        time_axis(axes.xaxis, values[0] / 1.5, values[-1] * 1.5)
        percent_axis(axes.yaxis)
        axes.set_xlabel("run time (log scale)")
        axes.set_ylabel("share of jobs at or below")
        legend(axes, loc="lower right")

    return draw(paint, title="Laws of the run time")


def law_qq(laws: ServiceLaws) -> Figure:
    """Draw quantiles of the laws against quantiles of the values; on the line is right."""
    values = np.array(laws.quantiles)
    low, high = float(values[0]) / 1.5, float(values[-1]) * 1.5

    def paint(axes: Axes) -> None:
        for place, fit in enumerate(_shown(laws)):
            expected = np.array(fit.quantiles)
            axes.plot(
                expected,
                values,
                label=_label(fit),
                marker="o",
                markersize=2.5,
                **(line_style(place) | {"linewidth": 0.8}),
            )
        axes.plot([low, high], [low, high], color=MUTED, linewidth=1, zorder=0)
        time_axis(axes.xaxis, low, high)
        time_axis(axes.yaxis, low, high)
        axes.set_xlabel("run time the law expects")
        axes.set_ylabel("run time seen")
        legend(axes, loc="lower right")

    return draw(paint, title="Q-Q plot of the run time", height_in=4.2)


def arrival_law_distances(laws: ArrivalLaws) -> Figure:
    """Draw how far every arrival law is from the gaps, and name its verdict."""
    fits = laws.fits[::-1]

    def paint(axes: Axes) -> None:
        bars = axes.barh(
            [fit.law for fit in fits],
            [fit.ks for fit in fits],
            0.65,
            color=[_VERDICT_COLOUR[fit.verdict] for fit in fits],
        )
        axes.bar_label(bars, [f"{fit.verdict}, {100 * fit.ks:.0f} %" for fit in fits], padding=3)
        axes.set_xlim(0, max(0.2, 1.35 * max(fit.ks for fit in fits)))
        for at in (GOOD_DISTANCE, ROUGH_DISTANCE):
            axes.axvline(at, color=MUTED, linestyle="--", linewidth=0.9, zorder=0)
        percent_axis(axes.xaxis, whole=False)
        axes.set_xlabel("greatest error of the distribution of gaps")
        axes.grid(visible=False, axis="y")

    return draw(paint, title="Arrival laws")


def _shown(laws: ServiceLaws) -> list[Fit]:
    """Return the best laws and the exponential, against which all are measured."""
    best = list(laws.fits[:_SHOWN])
    baseline = [fit for fit in laws.fits if fit.law == "exponential" and fit not in best]
    return [*best, *baseline]


def _label(fit: Fit) -> str:
    return f"{fit.law}: {fit.verdict}"
