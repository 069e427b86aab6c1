"""Relative errors by profile or stratum: Fig. 5b of the paper, large errors circled."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from prophase.array_types import Floats
from prophase.plots.style import COLOURS, INK, MUTED, draw, short
from prophase.profile.predict.error_tables import LARGE_PCT

#: groups that fit beside each other; those with the largest errors are shown
_MOST = 30
#: jobs with a large error that are drawn of each group
_MOST_CIRCLES = 40
_LOW_PCT = 0.1


def error_boxes(table: pd.DataFrame, errors_pct: Floats, groups: pd.Series, *, per: str) -> Figure:
    """Draw a box of errors per group, the largest median first; errors over 100 % are circled.

    Parameters
    ----------
    table : DataFrame
        Of ``errors_by_group``.
    errors_pct, groups : array, Series
        Error and group of each job.
    per : str
        What the groups are, for the axis.
    """
    shown = table.head(_MOST)
    names = groups.astype("string").fillna("none").to_numpy(dtype=object)
    told = set(table["group"])
    names = np.array([name if name in told else "other" for name in names], dtype=object)

    def paint(axes: Axes) -> None:
        parts = []
        for name in shown["group"]:
            held = errors_pct[(names == name) & np.isfinite(errors_pct)]
            parts.append(np.maximum(held, _LOW_PCT))
        _boxes(axes, parts, [short(str(name), 14) for name in shown["group"]])
        draw_from = np.random.default_rng(0)
        for place, held in enumerate(parts, start=1):
            large = np.sort(held[held > LARGE_PCT])[::-1][:_MOST_CIRCLES]
            spot = place + draw_from.uniform(-0.18, 0.18, large.size)
            axes.plot(
                spot, large, "o", markersize=5, markerfacecolor="none",
                markeredgecolor=COLOURS[1], markeredgewidth=1.0,
            )  # fmt: skip
        axes.axhline(LARGE_PCT, color=COLOURS[1], linewidth=1, linestyle="--")
        axes.set_yscale("log")
        axes.set_ylim(bottom=_LOW_PCT * 0.8)
        axes.yaxis.set_major_locator(LogLocator(base=10, numticks=9))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,g} %"))
        axes.set_ylabel("relative error (log scale)")
        axes.set_xlabel(f"{per}, largest median error first; circles: over {LARGE_PCT:g} %")
        if len(shown) > 8:
            axes.tick_params(axis="x", labelrotation=60)

    more = len(table) - len(shown)
    title = f"Error per {per}" + (f" (the worst {len(shown)}; {more} more)" if more else "")
    return draw(paint, title=title, width_in=max(6.0, 2.0 + 0.32 * len(shown)), height_in=4.0)


def _boxes(axes: Axes, parts: list[Floats], labels: list[str]) -> None:
    drawn = axes.boxplot(
        parts,
        tick_labels=labels,
        showfliers=False,
        patch_artist=True,
        widths=0.6,
        medianprops={"color": INK, "linewidth": 1.3},
        whiskerprops={"color": MUTED},
        capprops={"color": MUTED},
    )
    for patch in drawn["boxes"]:
        patch.set(facecolor=COLOURS[0], alpha=0.35, linewidth=0)
    axes.grid(visible=False, axis="x")
