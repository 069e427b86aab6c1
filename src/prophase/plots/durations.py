"""Figures of run times and waits: histogram, distribution functions, classes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.plots.style import (
    COLOURS,
    MUTED,
    count_axis,
    draw,
    legend,
    line_style,
    percent_axis,
    short,
    time_axis,
)
from prophase.trace.describe.distribution import Curve
from prophase.trace.describe.durations import Times

_MOST_CURVES = 8


def time_histogram(times: Times, *, what: str = "run time") -> Figure:
    """Draw the histogram of a length of time over a log scale; zeros are told in the corner."""
    edges, counts = np.array(times.histogram.edges), np.array(times.histogram.counts)

    def paint(axes: Axes) -> None:
        axes.stairs(counts, edges, fill=True, color=COLOURS[0], linewidth=0)
        time_axis(axes.xaxis, edges[0], edges[-1])
        for name, text in (("p50", "median"), ("p99", "99 %")):
            at = times.values.at(name)
            if at > 0:
                axes.axvline(at, color=MUTED, linestyle="--", linewidth=1)
                axes.annotate(
                    text,
                    (at, 1.0),
                    xycoords=("data", "axes fraction"),
                    textcoords="offset points",
                    xytext=(3, -10),
                    color=MUTED,
                    fontsize=9,
                )
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


def time_cdf(times: Times, *, what: str = "run time") -> Figure:
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
