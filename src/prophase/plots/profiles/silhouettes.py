"""How well separated are profiles? The silhouette of every job, and a box per profile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.plots.profiles.boxes import draw_boxes
from prophase.plots.profiles.words import OUTLIER_COLOUR
from prophase.plots.style import COLOURS, INK, MUTED, draw
from prophase.profile.clusters.profiles import DOUBTFUL_FROM
from prophase.profile.clusters.quality import Silhouettes


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
            axes.annotate(
                f"{row['negative_frac']:.0%}",
                (place, row["whisker_low"]),
                xytext=(0, -2),
                textcoords="offset points",
                ha="center",
                va="top",
                color=OUTLIER_COLOUR,
                fontsize=8,
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
