"""Figure of a sweep: two measures of every combination, and those that no other beats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from prophase.errors import ParameterError
from prophase.plots.style import COLOURS, HEIGHT_IN, INK, MUTED, WIDTH_IN, count_axis, styled

#: panels side by side, and labels that fit beside points
_ACROSS, _LABELS = 2, 6


def pareto_figure(
    ranked: pd.DataFrame, axes: Sequence[str], measures: Sequence[str] = ("mean_wait_s", "gpus")
) -> Figure:
    """Draw two measures of every combination, one panel per load, the front as a line.

    Parameters
    ----------
    ranked : DataFrame
        From ``SweepResult.ranked``.
    axes : sequence of str
        Columns that name a combination; those with one value are not shown.
    measures : sequence of str
        Upward and to the right; bars are 95 % intervals.
    """
    if len(measures) < 2:
        raise ParameterError("a Pareto figure needs two measures, such as mean_wait_s,gpus.")
    up, right = measures[0], measures[1]
    loads = sorted(ranked["load"].unique())
    varied = [name for name in axes if name != "load" and ranked[name].nunique() > 1]
    across = min(_ACROSS, len(loads))
    down = -(-len(loads) // across)
    # colours tell the policies apart; where only the cluster varies they tell clusters apart
    coloured = [name for name in varied if name != "cluster"] or varied
    groups = _words(ranked, coloured)
    colours = {word: COLOURS[i % len(COLOURS)] for i, word in enumerate(sorted(set(groups)))}
    with styled():
        figure = Figure(figsize=(WIDTH_IN * (0.6 + 0.4 * across), 0.4 + HEIGHT_IN * down))
        FigureCanvasAgg(figure)
        for number, load in enumerate(loads):
            panel = figure.add_subplot(down, across, number + 1)
            part = ranked[ranked["load"] == load].assign(
                _group=groups, _word=_words(ranked, varied)
            )
            _paint(panel, part, up, right, colours)
            if len(loads) > 1:
                panel.set_title(f"load x {load:g}")
        if 1 < len(colours) <= len(COLOURS):
            handles, words = figure.axes[0].get_legend_handles_labels()
            kept = dict(zip(words, handles, strict=True))
            figure.legend(
                [kept[word] for word in colours if word in kept],
                [word for word in colours if word in kept],
                loc="outside upper center",
                ncols=min(4, len(colours)),
            )
    return figure


def _paint(panel: Axes, part: pd.DataFrame, up: str, right: str, colours: dict[str, str]) -> None:
    # bars of policies on the same cluster stand side by side
    step = 0.012 * float(part[right].max() - part[right].min())
    middle = (len(colours) - 1) / 2
    shift = {word: step * (place - middle) for place, word in enumerate(colours)}
    for word, rows in part.groupby("_group", sort=True):
        panel.errorbar(
            rows[right] + shift[str(word)],
            rows[up],
            yerr=_bars(rows, up),
            xerr=_bars(rows, right),
            fmt="o",
            markersize=5,
            elinewidth=1,
            alpha=0.85,
            color=colours[str(word)],
            label=str(word),
        )
    front = part[part["front"]].sort_values([right, up])
    at = front[right] + front["_group"].map(shift)
    panel.plot(at, front[up], color=MUTED, linewidth=1, linestyle="--", zorder=1)
    near_the_edge = part[right].max() - 0.3 * (part[right].max() - part[right].min())
    for place, word, height in list(zip(at, front["_word"], front[up], strict=True))[:_LABELS]:
        left = place > near_the_edge
        panel.annotate(
            str(word),
            (place, height),
            xytext=(-7 if left else 7, 12 if left else 7),
            textcoords="offset points",
            ha="right" if left else "left",
            fontsize=8,
            color=INK,
        )
    panel.set_xlabel(_label(right))
    panel.set_ylabel(_label(up))
    panel.margins(x=0.08, y=0.12)
    if (part[[name for name in (f"{up}_low", up) if name in part]].min() >= 0).all():
        panel.set_ylim(bottom=0)
    for axis in (panel.xaxis, panel.yaxis):
        count_axis(axis)


def _bars(rows: pd.DataFrame, measure: str) -> np.ndarray | None:
    """Return how far the interval reaches below and above; nothing where there is none."""
    low, high = rows[f"{measure}_low"], rows[f"{measure}_high"]
    if low.isna().any() or (low == high).all():
        return None
    # no measure is below zero, whatever a symmetric interval says
    below = rows[measure] - np.maximum(low, np.minimum(rows[measure], 0.0))
    return np.vstack([below.to_numpy(float), (high - rows[measure]).to_numpy(float)])


def _words(ranked: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    if not names:
        return pd.Series("", index=ranked.index)
    return ranked[list(names)].astype(str).agg(", ".join, axis=1)


def _label(measure: str) -> str:
    name, _, unit = measure.rpartition("_")
    units = {"s": "s", "pct": "%", "gib": "GiB"}
    words = f"{name} [{units[unit]}]" if unit in units else measure
    return words.replace("_", " ").replace("gpu", "GPU").replace("jct", "completion time")
