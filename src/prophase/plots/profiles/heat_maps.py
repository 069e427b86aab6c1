"""Heat maps over profiles: metadata values, and node types."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from prophase import units
from prophase.array_types import Floats
from prophase.plots.profiles.labels import OUTLIER_COLOUR, profile_label
from prophase.plots.style import COLOURS, INK, MUTED, PAPER, draw, note
from prophase.result.short_names import short_names

_BLUES = LinearSegmentedColormap.from_list("share", [PAPER, COLOURS[5], COLOURS[0]])
#: green is faster than usual, orange slower
_RATIOS = LinearSegmentedColormap.from_list("ratio", [COLOURS[2], PAPER, COLOURS[1]])
#: cells narrower than this hold no number
_MOST_COLUMNS = 26
#: percent from which a cell is so dark that its number is white
_DARK_FROM = 50.0


def metadata_map(table: pd.DataFrame) -> Figure:
    """Draw how the jobs of each metadata value spread over profiles; sizes at the margins.

    ``table`` is that of ``metadata_heat_map``: percent of the row, a column ``jobs``, a last row
    with the size of each profile.
    """
    percent = table.iloc[:-1].drop(columns="jobs")
    sizes = [int(one) for one in table.iloc[-1].drop(labels="jobs")]
    counts = table["jobs"].iloc[:-1]
    names = short_names([str(name) for name in counts.index], 22)
    rows = [f"{name} ({jobs:,})" for name, jobs in zip(names, counts, strict=True)]

    def paint(axes: Axes) -> None:
        values = percent.to_numpy(float)
        # a square root lets the many profiles with a few percent be seen beside the outliers
        axes.imshow(values, cmap=_BLUES, norm=PowerNorm(0.5, 0, 100), aspect="auto")
        _number(axes, values)
        _margins(axes, [str(name) for name in percent.columns], sizes, rows)
        axes.set_xlabel("profile, with its jobs above; % of the row")
        axes.set_title(f"{table.index.name} over profiles", pad=_pad(sizes))

    tall = 1.6 + 0.3 * len(rows)
    return draw(paint, width_in=_width(len(sizes)), height_in=max(2.6, tall))


def affinity_map(table: pd.DataFrame) -> Figure:
    """Draw the median duration on each node type over that of the profile; below 1 is faster.

    ``table`` is that of ``node_type_affinity``; cells with few jobs are pale and in brackets.
    """
    wide = table.pivot(index="node_type", columns="profile", values="relative_duration")
    jobs = table.pivot(index="node_type", columns="profile", values="jobs").fillna(0)
    enough = table.pivot(index="node_type", columns="profile", values="enough").eq(True)
    counts = jobs.sum(axis=1)
    names = short_names([str(name) for name in counts.index], 22)
    rows = [f"{name} ({int(n):,})" for name, n in zip(names, counts, strict=True)]

    def paint(axes: Axes) -> None:
        values = wide.to_numpy(float)
        sure = enough.to_numpy(bool)
        shades = np.clip(np.log2(np.maximum(values, 1e-9)), -2, 2)
        axes.imshow(
            np.where(np.isnan(values), np.nan, np.where(sure, shades, shades / 4)),
            cmap=_RATIOS,
            vmin=-2,
            vmax=2,
            aspect="auto",
        )
        if values.shape[1] <= _MOST_COLUMNS:
            for (row, column), value in np.ndenumerate(values):
                if np.isnan(value):
                    continue
                shown = f"{value:.0f}" if value >= 10 else f"{value:.2g}"
                word = shown if sure[row, column] else f"({shown})"
                axes.text(
                    column,
                    row,
                    word,
                    ha="center",
                    va="center",
                    fontsize=6.5,
                    color=INK if sure[row, column] else MUTED,
                )
        sizes = [int(one) for one in jobs.sum(axis=0)]
        _margins(axes, [str(name) for name in wide.columns], sizes, rows)
        axes.set_xlabel("profile; duration there / of the profile: green faster, orange slower")
        axes.set_title("Node types and profiles", pad=_pad(sizes))

    tall = 1.7 + 0.32 * len(rows)
    return draw(paint, width_in=_width(wide.shape[1]), height_in=max(2.6, tall))


def _width(columns: int) -> float:
    return min(16.0, max(6.0, 3.0 + 0.3 * columns))


def _pad(sizes: list[int]) -> float:
    return 16.0 if len(sizes) <= 12 else 36.0


def _number(axes: Axes, values: Floats) -> None:
    """Write the percent into each cell, if there is room."""
    if values.shape[1] > _MOST_COLUMNS:
        return
    for (row, column), value in np.ndenumerate(values):
        if value >= 0.5:
            colour = PAPER if value >= _DARK_FROM else INK
            word = f"{value:.0f}"
            axes.text(column, row, word, ha="center", va="center", fontsize=7, color=colour)


def _margins(axes: Axes, profiles: list[str], sizes: list[int], rows: list[str]) -> None:
    """Write row names with their sizes, and the size of each profile above its column."""
    many = len(profiles) > 12
    words = [profile_label(name) for name in profiles]
    axes.set_xticks(range(len(words)), words, fontsize=8 if len(words) <= 30 else 6.5)
    if len(words) > 30:
        axes.tick_params(axis="x", rotation=90)
    for word in axes.get_xticklabels():
        if word.get_text() == profile_label(-1):
            word.set_color(OUTLIER_COLOUR)
            word.set_fontweight("bold")
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    for place, size in enumerate(sizes):
        note(
            axes,
            units.compact(float(size)),
            (place, 1.0),
            (0, 3),
            7 if len(sizes) <= 30 else 6,
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            rotation=90 if many else 0,
        )
    axes.grid(visible=False)
