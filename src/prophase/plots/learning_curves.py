"""Learning curves: how requests narrow from run to run, and after a change of code."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from prophase.plots.style import MUTED, canvas, line_style

_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 2000)
#: where the runs before a change stand, on a log axis of runs after it
_BEFORE = 0.5


def learning_figure(
    curves: Mapping[str, pd.DataFrame], *, title: str, changed: bool = False
) -> Figure:
    """Draw what sizers ask for over what was needed, and how often runs are killed.

    Parameters
    ----------
    curves : mapping
        Sizer -> what :func:`~prophase.sizing.replays.learning_curve.learning_curve` or
        ``curve_since`` returns.
    changed : bool, default=False
        Runs are counted from a change; those before it stand at the left.
    """
    with canvas(9.0, 3.8) as figure:
        asked, killed = figure.subplots(1, 2)
        for place, (name, curve) in enumerate(curves.items()):
            at = curve["last_run"].where(curve["last_run"] > 0, _BEFORE)
            style = {**line_style(place), "marker": "o", "markersize": 3}
            asked.plot(at, curve["asked_over_peak"], label=name, **style)
            killed.plot(at, curve["killed_pct"], label=name, **style)
        asked.set_yscale("log")
        asked.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        asked.set_ylabel("first request / peak (median over tasks)")
        killed.set_ylabel("runs killed (%)")
        killed.set_ylim(bottom=0)
        for axes in (asked, killed):
            _run_axis(axes, changed)
        asked.axhline(1.0, color=MUTED, linewidth=1)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        figure.legend(
            *asked.get_legend_handles_labels(), loc="outside lower center", ncols=len(curves)
        )
    return figure


def _run_axis(axes: Axes, changed: bool) -> None:
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    shown = [tick for tick in _TICKS if low <= tick <= high]
    words = {float(tick): f"{tick:,}" for tick in shown}
    if changed:
        words[_BEFORE] = "before"
        axes.axvline((_BEFORE * 1.0) ** 0.5, color=MUTED, linestyle="--", linewidth=1)
    axes.xaxis.set_major_locator(FixedLocator(sorted(words)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: words.get(float(at), "")))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("runs since the change" if changed else "run of the task")
