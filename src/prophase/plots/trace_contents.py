"""Figures of what a trace holds: nodes, metrics, missing values, use of requests, recurrence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from prophase import units
from prophase.plots.arrivals import trace_time_axis
from prophase.plots.style import (
    COLOURS,
    INK,
    MUTED,
    count_axis,
    draw,
    legend,
    legend_below,
    line_style,
    note,
    percent_axis,
)
from prophase.result.short_names import short, short_names
from prophase.trace.describe.job_counts import MissingColumn
from prophase.trace.describe.nodes_and_usage import Inventory, Metric
from prophase.trace.describe.recurrence import Recurrence
from prophase.trace.describe.utilisation import Utilisation

_MOST_BARS = 20


def nodes_by_type(nodes: Inventory) -> Figure:
    """Draw how many nodes there are of each kind."""
    shown = nodes.types[:12][::-1]

    def name(kind: object) -> str:
        gpus, cores = kind.gpus, kind.cpu_cores  # type: ignore[attr-defined]
        parts = [kind.gpu_type or "no type"]  # type: ignore[attr-defined]
        if np.isfinite(gpus):
            parts = [f"{gpus:g} x {parts[0]}" if gpus else "no GPU"]
        if np.isfinite(cores):
            parts.append(f"{cores:g} cores")
        return short(", ".join(parts), 28)

    def paint(axes: Axes) -> None:
        # two kinds may differ only in memory, so places, not names, carry the bars
        bars = axes.barh(range(len(shown)), [k.nodes for k in shown], 0.7, color=COLOURS[0])
        axes.set_yticks(range(len(shown)), [name(kind) for kind in shown])
        axes.bar_label(bars, [f"{kind.nodes:,}" for kind in shown], padding=3, fontsize=9)
        axes.set_xlim(0, 1.15 * max(kind.nodes for kind in shown))
        axes.set_xlabel("nodes")
        count_axis(axes.xaxis)
        axes.grid(visible=False, axis="y")

    return draw(paint, title="Nodes by kind", height_in=max(2.2, 1.0 + 0.3 * len(shown)))


def metric_curve(metric: Metric) -> Figure:
    """Draw the distribution of one usage metric over all samples."""

    def paint(axes: Axes) -> None:
        axes.plot(metric.curve.values, metric.curve.shares, color=COLOURS[0])
        spread = metric.values
        positive = spread.at("p10") > 0
        if positive and spread.at("max") / spread.at("p10") > 100:
            axes.set_xscale("log")
        else:
            axes.xaxis.set_major_locator(MaxNLocator(7))
        percent_axis(axes.yaxis)
        axes.set_xlabel(f"{metric.name}" + (f" ({metric.unit})" if metric.unit else ""))
        axes.set_ylabel("share of samples at or below")

    return draw(paint, title=f"{metric.name} over all samples")


def missing_values(missing: Sequence[MissingColumn]) -> Figure:
    """Draw the share of missing values per column, the emptiest on top."""
    gaps = sorted((c for c in missing if c.missing), key=lambda c: c.share)[-_MOST_BARS:]
    several = len({column.table for column in gaps}) > 1

    def paint(axes: Axes) -> None:
        names = [f"{c.table}: {c.column}" if several else c.column for c in gaps]
        bars = axes.barh(range(len(gaps)), [c.share for c in gaps], 0.7, color=COLOURS[0])
        axes.set_yticks(range(len(gaps)), short_names(list(names), 30))
        labels = [units.percent(c.share) for c in gaps]
        axes.bar_label(bars, labels, padding=3, fontsize=9, color=INK)
        percent_axis(axes.xaxis, whole=False)
        axes.set_xlim(0, 1.12)
        axes.set_xlabel("missing")
        axes.grid(visible=False, axis="y")

    return draw(paint, title="Missing values", height_in=max(2.0, 1.0 + 0.26 * len(gaps)))


_LOW, _HIGH = 1e-3, 10.0


def use_over_request(utilisation: Utilisation) -> Figure:
    """Draw which share of the jobs used at most which part of its request."""

    def paint(axes: Axes) -> None:
        for place, resource in enumerate(utilisation.resources):
            ratio = np.clip(resource.ratio.values, _LOW / 2, _HIGH * 2)
            axes.plot(ratio, resource.ratio.shares, label=resource.resource, **line_style(place))
        axes.axvline(1.0, color=MUTED, linestyle="--", linewidth=1)
        note(axes, "all of it", (1.0, 0.02), (3, 0), 9)
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
        axes.set_yticks(range(len(shown)), short_names(shown))
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
        note(
            axes,
            "whole\ntrace",
            (1.0, overall),
            (4, 0),
            9,
            xycoords=("axes fraction", "data"),
            va="center",
        )
        percent_axis(axes.yaxis)
        axes.set_ylabel(f"seen before, per {recurrence.period}")

    return draw(paint, title=f"Recurrence by {recurrence.key}")
