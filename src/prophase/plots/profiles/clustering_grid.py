"""Figures of a clustering grid: scores by setting, and what other ideals would have chosen."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.plots.style import DASHES, MUTED, canvas, draw, legend_below, line_style, note

_AXES = ("min_cluster_size", "transform", "metric")


def score_sensitivity(scored: pd.DataFrame, score: str) -> Figure:
    """Draw one score of every cell per size, transform and distance, a line per algorithm.

    ``scored`` is the table of ``selection_scores``; a band spans all cells of that setting.
    """
    value = f"score_{score}"
    known = scored.dropna(subset=[value])
    present = [axis for axis in _AXES if axis in known and known[axis].nunique() > 1]
    with canvas(10.0, 3.6) as figure:
        panels = figure.subplots(1, max(1, len(present)), sharey=True, squeeze=False)[0]
        for axes, axis in zip(panels, present, strict=False):
            for place, (name, part) in enumerate(known.groupby("algorithm")):
                held = part.groupby(axis, sort=axis == "min_cluster_size")[value].agg(
                    ["mean", "min", "max"]
                )
                at = range(len(held))
                style = line_style(place)
                axes.plot(at, held["mean"], marker="o", markersize=4, label=str(name), **style)
                axes.fill_between(at, held["min"], held["max"], color=style["color"], alpha=0.15)
                axes.set_xticks(list(at), [_word(one) for one in held.index], fontsize=8.5)
            axes.set_xlabel(axis)
        panels[0].set_ylabel(f"score ({score})")
        legend_below(panels[0])
        figure.suptitle(f"Score {score}: mean, and all cells of a setting", fontsize=11)
    return figure


def _word(setting: object) -> str:
    return f"{setting:g}" if isinstance(setting, int | float) else str(setting)


def ideal_sensitivity(table: pd.DataFrame) -> Figure:
    """Draw how many clusters each score chooses for each ideal number of clusters.

    A score on the diagonal only returns the ideal it was given.
    """

    def paint(axes: Axes) -> None:
        low, high = table["ideal_clusters"].min(), table["ideal_clusters"].max()
        axes.plot([low, high], [low, high], color=MUTED, linewidth=1, zorder=0)
        note(axes, "the ideal itself", (low, low), (4, -9))
        for place, (name, part) in enumerate(table.groupby("score", sort=False)):
            axes.plot(
                part["ideal_clusters"],
                part["n_clusters"],
                marker="os^"[place % 3],
                markersize=5,
                label=str(name),
                color=line_style(place)["color"],
                linestyle=DASHES[place % len(DASHES)],
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(lambda at, _: f"{at:g}")
        axes.yaxis.set_major_formatter(lambda at, _: f"{at:g}")
        axes.set_xlabel("ideal number of clusters given")
        axes.set_ylabel("clusters of the chosen cell")
        legend_below(axes)

    return draw(paint, title="Does the score only repeat the ideal?", height_in=4.0)
