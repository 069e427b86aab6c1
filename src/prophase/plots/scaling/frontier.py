"""The frontier: how much allocation buys how much satisfaction."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from prophase.phase.scale import Comparison
from prophase.plots.style import COLOURS, DASHES, INK, MUTED, draw

_TICKS = (50.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9)
_MARKERS = "osD^vP*X<>dp"


def frontier_figure(points: pd.DataFrame, found: Comparison) -> Figure:
    """Draw satisfaction against allocation, a line per policy; up and left is better.

    Parameters
    ----------
    points : DataFrame
        What `frontier` returns.
    """

    def paint(axes: Axes) -> None:
        place = 0
        for policy, rows in points.groupby("policy", sort=False):
            unmet = np.maximum(100 - rows["satisfied_pct"].to_numpy(), 0.05)
            ratio = rows["allocation_over_usage"].to_numpy()
            if policy == "oracle":
                axes.axvline(ratio[0], color=INK, linewidth=1, linestyle=":", label="oracle")
                continue
            axes.plot(
                ratio,
                unmet,
                color=COLOURS[place % len(COLOURS)],
                linestyle=DASHES[place // len(COLOURS)] if len(rows) > 1 else "",
                marker=_MARKERS[place % len(_MARKERS)],
                markersize=4,
                linewidth=1.4,
                label=str(policy),
            )
            place += 1
        axes.axhline(100 - 100 * found.target, color=MUTED, linestyle="--", linewidth=1)
        axes.set_yscale("log")
        axes.invert_yaxis()
        low, high = axes.get_ylim()
        shown = [tick for tick in _TICKS if high <= 100 - tick <= low]
        axes.yaxis.set_major_locator(FixedLocator([100 - tick for tick in shown]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{100 - at:g} %"))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("allocation / usage")
        axes.set_ylabel("samples satisfied (log scale)")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    title = f"{found.test.metric}: what satisfaction costs"
    return draw(paint, title=title, width_in=7.5, height_in=4.2)
