"""The Pareto figure of a sweep, its ranked tables and its report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.errors import ParameterError, storage_error
from prophase.plots.result_files import write_report
from prophase.plots.style import (
    COLOURS,
    HEIGHT_IN,
    INK,
    MUTED,
    PAPER,
    WIDTH_IN,
    canvas,
    count_axis,
    note,
    save,
)
from prophase.result import Picture
from prophase.sim.sweep.results import SavedSweep
from prophase.study.sweep_report import sweep_result

#: panels side by side, names that fit into a corner, and groups that colours tell apart
_ACROSS, _LABELS, _TOLD = 2, 6, len(COLOURS)
_HOURS = {"gib": "GiB", "gpu": "GPU", "core": "core"}


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
    known = sorted(set(groups))
    colours = {word: COLOURS[i] for i, word in enumerate(known)} if len(known) <= _TOLD else {}
    with canvas(WIDTH_IN * (0.6 + 0.4 * across), 0.4 + HEIGHT_IN * down) as figure:
        for number, load in enumerate(loads):
            panel = figure.add_subplot(down, across, number + 1)
            part = ranked[ranked["load"] == load].assign(
                _group=groups, _word=_words(ranked, varied)
            )
            _paint(panel, part, up, right, colours)
            if len(loads) > 1:
                panel.set_title(f"load x {load:g}")
        if len(colours) > 1:
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
    step = _step(part, right) if colours else 0.0
    middle = (len(colours) - 1) / 2
    shift = {word: step * (place - middle) for place, word in enumerate(colours)}
    shifts = part["_group"].map(lambda word: shift.get(word, 0.0))
    # too many to tell apart by colour: the front stands out from the rest
    shades = part["_group"].map(colours) if colours else part["front"].map(
        {True: COLOURS[0], False: MUTED}
    )  # fmt: skip
    for word, rows in part.groupby("_group" if colours else "front", sort=True):
        panel.errorbar(
            rows[right] + shifts[rows.index],
            rows[up],
            yerr=_bars(rows, up),
            xerr=_bars(rows, right),
            fmt="none",
            elinewidth=1,
            alpha=0.35,
            ecolor=shades[rows.index[0]],
        )
        panel.plot(
            rows[right] + shifts[rows.index], rows[up], "o", markersize=6,
            color=shades[rows.index[0]], label=str(word),
        )  # fmt: skip
    front = part[part["front"]].sort_values([right, up])
    panel.plot(
        front[right] + shifts[front.index], front[up],
        color=MUTED, linewidth=1, linestyle="--", zorder=1,
    )  # fmt: skip
    panel.set_xlabel(_label(right))
    panel.set_ylabel(_label(up))
    panel.margins(x=0.08, y=0.12)
    if (part[[name for name in (f"{up}_low", up) if name in part]].min() >= 0).all():
        panel.set_ylim(bottom=0)
    _number_front(panel, front, front[right] + shifts[front.index], up)
    for axis in (panel.xaxis, panel.yaxis):
        count_axis(axis)


def _step(part: pd.DataFrame, right: str) -> float:
    """Return how far policies with the very same value stand apart; 0 where values differ."""
    together = part[right].nunique() < len(part) and _bars(part, right) is None
    return 0.012 * float(part[right].max() - part[right].min()) if together else 0.0


def _number_front(panel: Axes, front: pd.DataFrame, at: pd.Series, up: str) -> None:
    """Put numbers at the combinations that nothing beats, and their names in a corner."""
    named = front.head(_LABELS)
    for number, row in enumerate(named.index, 1):
        note(
            panel,
            str(number),
            (at[row], named.loc[row, up]),
            (0, 7),
            9,
            ha="center",
            fontweight="bold",
            color=INK,
        )
    words = [f"{number}  {word}" for number, word in enumerate(named["_word"], 1) if word]
    if words:
        panel.text(
            0.98, 0.97, "\n".join(["no other beats:", *words]), transform=panel.transAxes,
            ha="right", va="top", fontsize=8, color=INK,
            bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8},
        )  # fmt: skip


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
    if "_hours." in measure:
        unit, _, which = measure.partition("_hours.")
        return f"{which.replace('_', ' ')} [{_HOURS.get(unit, unit)} h]"
    name, _, unit = measure.rpartition("_")
    units = {"s": "s", "pct": "%", "gib": "GiB"}
    words = f"{name} [{units[unit]}]" if unit in units else measure
    return words.replace("_", " ").replace("gpu", "GPU").replace("jct", "completion time")


def write_sweep(kept: SavedSweep, folder: Path) -> pd.DataFrame:
    """Write ``results.csv``, ``.parquet``, ``pareto.png``, ``.svg`` and the report; return ranks.

    The figure needs two measures.
    """
    ranked = kept.result.ranked(kept.measures)
    try:
        ranked.to_csv(folder / "results.csv", index=False)
        ranked.to_parquet(folder / "results.parquet", index=False)
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    report = sweep_result(kept, ranked)
    if len(kept.measures) > 1:
        figure = pareto_figure(ranked, kept.result.axes, kept.measures)
        save(figure, folder, "pareto")
        caption = "Bars are 95 % intervals; the front is joined."
        pareto = Picture("pareto", figure, caption, section="ranked")
        report = report.illustrated(lambda: [pareto])
    write_report(report, folder)
    return ranked
