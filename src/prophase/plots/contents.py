"""Figures of what a trace holds: nodes, usage metrics, missing values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from prophase.plots.style import COLOURS, INK, count_axis, draw, percent_axis, short
from prophase.trace.describe.counts import MissingColumn
from prophase.trace.describe.inventory import Inventory
from prophase.trace.describe.series import Metric
from prophase.trace.describe.words import say_share

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
        axes.set_yticks(range(len(gaps)), [short(name, 30) for name in names])
        labels = [say_share(c.share) for c in gaps]
        axes.bar_label(bars, labels, padding=3, fontsize=9, color=INK)
        percent_axis(axes.xaxis, whole=False)
        axes.set_xlim(0, 1.12)
        axes.set_xlabel("missing")
        axes.grid(visible=False, axis="y")

    return draw(paint, title="Missing values", height_in=max(2.0, 1.0 + 0.26 * len(gaps)))
