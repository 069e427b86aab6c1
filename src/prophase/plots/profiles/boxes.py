"""Boxes per profile, sorted by spread: Fig. 4 of the paper, for any metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from prophase.plots.profiles.words import OUTLIER_COLOUR, in_words, profile_word
from prophase.plots.style import COLOURS, INK, MUTED, draw
from prophase.profile.clusters.figure_tables import BoxTable
from prophase.profile.clusters.quality import OUTLIERS

#: more profiles than this are drawn without every second number
_NUMBERS = 60
_PARTS = ("whisker_low", "q25", "q50", "q75", "whisker_high", "mean")


def metric_boxes(table: BoxTable) -> Figure:
    """Draw one box per profile of a metric, from the smallest standard deviation to the largest.

    Least, largest and mean deviation of the profiles are written at the top; the outlier group
    is marked.
    """
    boxes = table.boxes

    def paint(axes: Axes) -> None:
        draw_boxes(axes, boxes.to_dict("records"))
        _scale(axes, boxes)
        said = (
            f"std of profiles: least {in_words(table.least_std)} (profile {table.least_profile}), "
            f"mean {in_words(table.mean_std)}, "
            f"largest {in_words(table.largest_std)} (profile {table.largest_profile})"
        )
        axes.annotate(
            said, (0, 1.01), xycoords="axes fraction", fontsize=8.5, color=MUTED, va="bottom"
        )
        axes.set_title(table.metric, pad=18)
        axes.set_ylabel(table.metric)
        axes.set_xlabel("profile, sorted by standard deviation" + _marked(boxes))

    return draw(paint, width_in=max(6.0, 2.0 + 0.17 * len(boxes)))


def draw_boxes(axes: Axes, boxes: list[dict[Any, Any]]) -> None:
    """Draw boxes of ready statistics; the outlier group in its own colour."""
    # a few collections for all boxes: one artist per whisker takes seconds with 50 profiles
    at = np.arange(1, len(boxes) + 1)
    held = {key: np.array([box[key] for box in boxes], dtype=float) for key in _PARTS}
    colours = [OUTLIER_COLOUR if box["profile"] == OUTLIERS else COLOURS[0] for box in boxes]
    axes.vlines(at, held["whisker_low"], held["whisker_high"], colors=MUTED, linewidth=0.9)
    for end in ("whisker_low", "whisker_high"):
        axes.hlines(held[end], at - 0.15, at + 0.15, colors=MUTED, linewidth=0.9)
    axes.bar(at, held["q75"] - held["q25"], 0.65, held["q25"], color=colours, zorder=2)
    axes.hlines(held["q50"], at - 0.325, at + 0.325, colors=INK, linewidth=1.2, zorder=3)
    axes.scatter(at, held["mean"], s=6, color=INK, linewidth=0, zorder=3)
    axes.grid(visible=False, axis="x")
    axes.set_xlim(0.3, len(boxes) + 0.7)
    shown = [place for place, box in enumerate(boxes) if _has_number(place, box, len(boxes))]
    axes.set_xticks(
        [place + 1 for place in shown],
        [profile_word(boxes[place]["profile"]) for place in shown],
        fontsize=8 if len(boxes) <= 30 else 6.5,
        rotation=0 if len(boxes) <= 20 else 90,
    )
    for place, word in zip(shown, axes.get_xticklabels(), strict=True):
        if boxes[place]["profile"] == OUTLIERS:
            word.set_color(OUTLIER_COLOUR)
            word.set_fontweight("bold")


def _has_number(place: int, box: dict[Any, Any], boxes: int) -> bool:
    return box["profile"] == OUTLIERS or place % (1 + boxes // _NUMBERS) == 0


def _scale(axes: Axes, boxes: Any) -> None:
    """Take a scale that is straight near 0 and logarithmic far out if sizes differ widely."""
    high = boxes[["q75", "whisker_high", "mean"]].to_numpy(float)
    positive = high[high > 0]
    if positive.size and boxes["whisker_low"].min() >= 0:
        typical = float(np.quantile(positive, 0.1))
        if positive.max() > 100 * typical:
            axes.set_yscale("symlog", linthresh=max(typical, 1e-12))
            axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: in_words(at)))


def _marked(boxes: Any) -> str:
    outliers = int(boxes.loc[boxes["outliers"], "n"].sum())
    return f"; −1: the {outliers:,} outliers" if outliers else ""
