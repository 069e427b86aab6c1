"""Figures of requests against use, and of how often jobs come back."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from prophase.plots.arrivals import trace_time_axis
from prophase.plots.style import (
    COLOURS,
    MUTED,
    draw,
    legend,
    legend_below,
    line_style,
    percent_axis,
    short,
)
from prophase.trace.describe.recurrence import Recurrence
from prophase.trace.describe.utilisation import Utilisation

_LOW, _HIGH = 1e-3, 10.0


def use_over_request(utilisation: Utilisation) -> Figure:
    """Draw which share of the jobs used at most which part of its request."""

    def paint(axes: Axes) -> None:
        for place, resource in enumerate(utilisation.resources):
            ratio = np.clip(resource.ratio.values, _LOW / 2, _HIGH * 2)
            axes.plot(ratio, resource.ratio.shares, label=resource.resource, **line_style(place))
        axes.axvline(1.0, color=MUTED, linestyle="--", linewidth=1)
        axes.annotate(
            "all of it",
            (1.0, 0.02),
            xytext=(3, 0),
            textcoords="offset points",
            color=MUTED,
            fontsize=9,
        )
        axes.set_xscale("log")
        axes.set_xlim(_LOW, _HIGH)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{100 * at:g} %"))
        axes.xaxis.set_minor_locator(NullLocator())
        percent_axis(axes.yaxis)
        axes.set_xlabel("use / request (log scale)")
        axes.set_ylabel("share of jobs at or below")
        legend(axes, loc="upper left")

    return draw(paint, title="Use over request")


def utilisation_by(utilisation: Utilisation, column: str) -> Figure:
    """Draw utilisation per task or workload, one group of bars per resource."""
    resources = [r for r in utilisation.resources if getattr(r, f"by_{column}")]
    names: dict[str, None] = {}
    for resource in resources:
        names |= dict.fromkeys(group.name for group in getattr(resource, f"by_{column}")[:6])
    shown = list(names)[:8][::-1]
    height = 0.8 / max(len(resources), 1)

    def paint(axes: Axes) -> None:
        for place, resource in enumerate(resources):
            known = {g.name: g.utilisation for g in getattr(resource, f"by_{column}")}
            at = np.arange(len(shown)) + 0.4 - height * (place + 0.5)
            axes.barh(
                at,
                [np.nan_to_num(known.get(name, 0.0)) for name in shown],
                height * 0.9,
                label=resource.resource,
                color=COLOURS[place % len(COLOURS)],
            )
        axes.axvline(1.0, color=MUTED, linestyle="--", linewidth=1)
        axes.set_yticks(range(len(shown)), [short(name) for name in shown])
        percent_axis(axes.xaxis, whole=False)
        axes.set_xlabel("utilisation: sum of use / sum of request")
        axes.grid(visible=False, axis="y")
        legend_below(axes)

    tall = max(3.5, 0.9 + len(shown) * (0.16 * len(resources) + 0.1))
    return draw(paint, title=f"Utilisation by {column}", height_in=tall)


def recurrence_over_time(recurrence: Recurrence, clock: str) -> Figure:
    """Draw the share of jobs whose key was seen before, period by period."""

    def paint(axes: Axes) -> None:
        if recurrence.period == "tenth of the jobs":
            at: list[float] = list(range(1, len(recurrence.starts) + 1))
            axes.set_xlabel("tenth of the jobs, in order")
        else:
            place = trace_time_axis(axes, recurrence.starts[0], recurrence.starts[-1], clock)
            at = place(recurrence.starts)
        few = len(at) <= 100
        axes.plot(
            at,
            recurrence.seen_before,
            color=COLOURS[0],
            marker="o" if few else "",
            markersize=3,
        )
        overall = recurrence.best.seen_before_share
        axes.axhline(overall, color=MUTED, linestyle="--", linewidth=1)
        axes.annotate(
            "whole\ntrace",
            (1.0, overall),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=MUTED,
            fontsize=9,
        )
        percent_axis(axes.yaxis)
        axes.set_ylabel(f"seen before, per {recurrence.period}")

    return draw(paint, title=f"Recurrence by {recurrence.key}")
