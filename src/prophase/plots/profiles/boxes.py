"""Boxes per profile for any metric (Fig. 4 of the paper), and the silhouettes of jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from prophase import units
from prophase.plots.profiles.labels import OUTLIER_COLOUR, profile_label
from prophase.plots.style import COLOURS, INK, MUTED, draw, note
from prophase.profile.clusters.figure_tables import BoxTable
from prophase.profile.clusters.profiles import DOUBTFUL_FROM
from prophase.profile.clusters.quality import OUTLIERS, Silhouettes

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
            f"std of profiles: least {units.compact(table.least_std)} (profile "
            f"{table.least_profile}), mean {units.compact(table.mean_std)}, "
            f"largest {units.compact(table.largest_std)} (profile {table.largest_profile})"
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
        [profile_label(boxes[place]["profile"]) for place in shown],
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
    axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: units.compact(at)))


def _marked(boxes: Any) -> str:
    outliers = int(boxes.loc[boxes["outliers"], "n"].sum())
    return f"; −1: the {outliers:,} outliers" if outliers else ""


def silhouette_plot(scores: Silhouettes, table: pd.DataFrame) -> Figure:
    """Draw the silhouettes of all jobs looked at as knives, one per profile, best at the top.

    ``table`` is that of ``silhouette_boxes``; profiles with many jobs below 0 are coloured.
    """
    profiles = table["profile"].tolist()
    doubtful = dict(zip(profiles, table["negative_frac"] > DOUBTFUL_FROM, strict=True))
    gap = max(3, len(scores.values) // 150)

    def paint(axes: Axes) -> None:
        at, middles = 0, []
        for profile in profiles:
            held = np.sort(scores.values[scores.labels == profile])
            axes.fill_betweenx(
                np.arange(at, at + len(held)),
                0,
                held,
                color=OUTLIER_COLOUR if doubtful[profile] else COLOURS[0],
                linewidth=0.3,
            )
            middles.append(at + len(held) / 2)
            at += len(held) + gap
        axes.axvline(scores.mean, color=INK, linestyle="--", linewidth=1)
        axes.axvline(0, color=MUTED, linewidth=0.8)
        axes.annotate(
            f"mean {scores.mean:.2f}",
            (scores.mean, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, 2),
            textcoords="offset points",
            fontsize=9,
        )
        small = 6 if len(profiles) > 25 else 8
        axes.set_yticks(middles, [str(profile) for profile in profiles], fontsize=small)
        axes.set_ylim(-gap, at)
        axes.set_xlabel("silhouette: below 0 is nearer to another profile")
        axes.set_ylabel("profile, sorted by mean")
        axes.set_title("Silhouette per profile", pad=16)
        axes.grid(visible=False, axis="y")

    tall = min(12.0, max(3.5, 1.0 + 0.13 * len(profiles)))
    return draw(paint, height_in=tall)


def silhouette_box_plot(table: pd.DataFrame) -> Figure:
    """Draw a box of silhouettes per profile; over 20 % below 0 is flagged with its share."""
    rows: list[dict[Any, Any]] = table.to_dict("records")

    def paint(axes: Axes) -> None:
        draw_boxes(axes, rows)
        for place, row in enumerate(rows, 1):
            if row["negative_frac"] <= DOUBTFUL_FROM:
                continue
            note(
                axes,
                f"{row['negative_frac']:.0%}",
                (place, row["whisker_low"]),
                (0, -2),
                ha="center",
                va="top",
                color=OUTLIER_COLOUR,
                fontweight="bold",
                rotation=90 if len(rows) > 20 else 0,
            )
        axes.axhline(0, color=MUTED, linewidth=0.8)
        axes.set_ylim(min(-0.35, table["whisker_low"].min() - 0.3), 1.02)
        axes.set_ylabel("silhouette")
        flagged = int((table["negative_frac"] > DOUBTFUL_FROM).sum())
        told = f"{flagged} of {len(rows)} with over 20 % below 0, flagged"
        axes.set_xlabel(f"profile, sorted by mean; {told}")

    width = max(6.0, 2.0 + 0.17 * len(rows))
    return draw(paint, title="Silhouette boxes, without outliers", width_in=width)
