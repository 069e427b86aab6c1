"""Distributions behind profiles: metrics before and after a transform, durations on one page."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.special import ndtri

from prophase import units
from prophase.array_types import Floats
from prophase.plots.style import (
    COLOURS,
    MUTED,
    canvas,
    count_axis,
    note,
    percent_axis,
    styled,
    time_axis,
)

_COLUMNS = 4


def transform_pairs(table: pd.DataFrame, name: str) -> Figure:
    """Draw every metric before and after a transform, two small histograms each.

    ``table`` is that of ``transform_histograms``.
    """
    metrics = list(dict.fromkeys(table["metric"]))
    rows = -(-len(metrics) // (_COLUMNS // 2))
    with styled():
        height = 0.6 + 1.25 * rows
        figure = Figure(figsize=(10.0, height))
        # a measured layout takes seconds with so many axes
        figure.set_layout_engine("none")
        FigureCanvasAgg(figure)
        room = {"left": 0.05, "right": 0.99, "wspace": 0.28, "hspace": 0.85}
        room |= {"bottom": 0.3 / height, "top": 1 - 0.3 / height}
        grid = figure.subplots(rows, _COLUMNS, squeeze=False, gridspec_kw=room).ravel()
        for place, metric in enumerate(metrics):
            for side, when in enumerate(("before", "after")):
                axes = grid[2 * place + side]
                _small_histogram(axes, table[(table["metric"] == metric) & (table["when"] == when)])
                word = metric if when == "before" else f"after {name}"
                axes.set_title(word, fontsize=8.5, fontweight="bold" if not side else "normal")
        for axes in grid[2 * len(metrics) :]:
            axes.set_visible(False)
    return figure


def _small_histogram(axes: Axes, part: pd.DataFrame) -> None:
    edges = [*part["low"], part["high"].iloc[-1]]
    colour = COLOURS[0] if part["when"].iloc[0] == "before" else COLOURS[2]
    axes.stairs(part["jobs"].to_numpy(), np.array(edges), fill=True, color=colour, linewidth=0)
    # a few bins hold nearly all jobs before, which a straight axis would hide
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(0)
    top = int(part["jobs"].max())
    axes.set_yticks([0, 1, top] if top > 20 else [0, top])
    axes.yaxis.set_major_formatter(lambda at, _: units.compact(at))
    axes.xaxis.set_major_formatter(lambda at, _: units.compact(at))
    axes.locator_params(axis="x", nbins=4)
    axes.tick_params(labelsize=7)
    axes.yaxis.minorticks_off()


def duration_page(durations_s: Floats) -> Figure:
    """Draw histogram, distribution function and two Q-Q plots of run times on one page."""
    known = durations_s[np.isfinite(durations_s)]
    held = np.sort(known[known > 0])
    with canvas(10.0, 7.0) as figure:
        (histogram, cdf), (normal, lognormal) = figure.subplots(2, 2)
        low, high = float(held[0]), float(held[-1])
        if high <= low:
            high = low * 1.1
        edges = np.geomspace(low, high, 41)
        histogram.hist(held, bins=list(edges), color=COLOURS[0], linewidth=0)
        time_axis(histogram.xaxis, low, high)
        count_axis(histogram.yaxis)
        histogram.set_ylabel("jobs per bin")
        histogram.set_title("Histogram (log scale)")
        cdf.plot(held, np.arange(1, len(held) + 1) / len(held), color=COLOURS[0])
        for share in (0.5, 0.95):
            at = float(np.quantile(held, share))
            cdf.axvline(at, color=MUTED, linestyle="--", linewidth=0.9)
            note(cdf, f"{share:.0%}: {units.compact(at)} s", (at, 0.03), (3, 0))
        time_axis(cdf.xaxis, low, high)
        percent_axis(cdf.yaxis)
        cdf.set_ylabel("share of jobs at or below")
        cdf.set_title("Distribution function")
        _quantiles(normal, held, "normal")
        _quantiles(lognormal, np.log(held), "lognormal")
        zeros = len(known) - len(held)
        said = f"Run times of {len(held):,} jobs"
        figure.suptitle(f"{said}; {zeros:,} at 0 s are not drawn" if zeros else said, fontsize=11)
    return figure


def _quantiles(axes: Axes, held: Floats, law: str) -> None:
    """Draw sample quantiles against those of a fitted normal law; on the line is right."""
    shares = (np.arange(1, 201) - 0.5) / 200
    seen = np.quantile(held, shares)
    spread = float(held.std()) or 1.0
    expected = held.mean() + spread * ndtri(shares)
    low, high = float(min(seen[0], expected[0])), float(max(seen[-1], expected[-1]))
    axes.plot(expected, seen, "o", color=COLOURS[0], markersize=3)
    axes.plot([low, high], [low, high], color=MUTED, linewidth=1, zorder=0)
    correlation = float(np.corrcoef(expected, seen)[0, 1]) if np.ptp(seen) > 0 else float("nan")
    unit = "s" if law == "normal" else "log s"
    axes.set_xlabel(f"{law} quantile ({unit})")
    axes.set_ylabel(f"seen ({unit})")
    axes.xaxis.set_major_formatter(lambda at, _: units.compact(at))
    axes.yaxis.set_major_formatter(lambda at, _: units.compact(at))
    axes.set_title(f"Q-Q plot, {law} law (r = {correlation:.3f})")
