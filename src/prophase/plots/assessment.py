"""Figures and tables of an assessment: use of each request, and what drives a task's memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from prophase import units
from prophase.plots.style import COLOURS, GRID, INK, MUTED, canvas, draw, save, save_table
from prophase.plural import counted
from prophase.result.short_names import short, short_names
from prophase.sizing.assess.assessment import Assessment
from prophase.sizing.assess.utilisation import ALL, task_names
from prophase.sizing.resources import round_up
from prophase.trace.describe.column_arrays import Floats, numbers

_MOST_TASKS = 40
_MOST_DRIVERS = 12


def utilisation_bars(used: pd.DataFrame) -> Figure:
    """Draw the used percentage of each resource, task by task (Table 5)."""
    resources = used["resource"].unique().tolist()
    sorted_by = "memory" if "memory" in resources else resources[0]
    first = used[used["resource"] == sorted_by]
    tasks = [ALL, *first[first["task"] != ALL]["task"].head(_MOST_TASKS)][::-1]
    with canvas(3.6 + 2.4 * len(resources), 1.4 + 0.2 * len(tasks)) as figure:
        many = figure.subplots(1, len(resources), sharey=True, squeeze=False)[0]
        for axes, resource in zip(many, resources, strict=True):
            rows = used[used["resource"] == resource].set_index("task")["utilisation_pct"]
            values = rows.reindex(tasks).to_numpy(float)
            at = np.arange(len(tasks))
            axes.barh(at, np.full(len(tasks), 100.0), 0.7, color=GRID)
            colours = [COLOURS[1] if task == ALL else COLOURS[0] for task in tasks]
            axes.barh(at, np.minimum(np.nan_to_num(values), 100.0), 0.7, color=colours)
            for place, value in enumerate(values.tolist()):
                if np.isfinite(value):
                    axes.text(102, place, _percent(value), va="center", fontsize=7)
            axes.set_xlim(0, 118)
            axes.set_ylim(-0.7, len(tasks) - 0.3)
            axes.set_title(resource)
            axes.set_xlabel("% of the request used")
            axes.grid(visible=False)
        many[0].set_yticks(range(len(tasks)), short_names(tasks, 34), fontsize=8)
    return figure


def _percent(value: float) -> str:
    return f"{value:.3g}" if value >= 0.01 or value == 0 else "<0.01"


def driver_bars(task: str, drivers: pd.DataFrame) -> Figure:
    """Draw what drives a task's memory: importance, and correlation or effect as text."""
    shown = drivers.head(_MOST_DRIVERS).iloc[::-1]
    has_importance = shown["importance"].notna().any()
    values = (
        shown["importance"]
        if has_importance
        else shown["correlation"].abs().fillna(shown["effect"])
    )

    def paint(axes: Axes) -> None:
        at = np.arange(len(shown))
        axes.barh(at, np.maximum(values.fillna(0.0), 0.0), 0.65, color=COLOURS[0])
        reach = max(float(np.nan_to_num(values.max())), 0.05)
        for place, row in enumerate(shown.to_dict("records")):
            length = float(values.fillna(0.0).iloc[place])
            figure = row["effect" if row["kind"] == "category" else "correlation"]
            word = (
                f"effect {100 * figure:.0f} %"
                if row["kind"] == "category"
                else (f"correlation {figure:.2f}")
            )
            word = word if np.isfinite(figure) else ""
            axes.text(max(length, 0.0) + 0.02 * reach, place, word, va="center", fontsize=8)
        axes.set_yticks(at, short_names(shown["driver"].tolist(), 40))
        axes.set_xlim(0, 1.4 * reach)
        axes.set_xlabel(
            "R² of unseen runs lost when the column is shuffled"
            if has_importance
            else "absolute rank correlation, or effect"
        )
        axes.grid(visible=False, axis="y")

    return draw(
        paint, title=f"What drives {short(task, 40)}", width_in=8, height_in=1.4 + 0.32 * len(shown)
    )


def write_assessment(found: Assessment, jobs: pd.DataFrame, folder: Path) -> list[str]:
    """Write the figures that the assessment has numbers for, and return their names."""
    figures = {"utilisation": utilisation_bars(found.utilisation)}
    if len(found.clusters):
        figures["memory-boxes"] = memory_boxes(jobs, found.tasks)
        figures["clusters"] = cluster_boxes(jobs, found.tasks, found.clusters)
    driven = {task: table for task, table in found.drivers.items() if len(table)}
    for number, (task, table) in enumerate(driven.items()):
        figures[f"drivers-{number}"] = driver_bars(task, table)
    for name, figure in figures.items():
        save(figure, folder, name, formats=("png",))
    save_table(found.tasks, folder / "tasks.csv")
    save_table(found.utilisation, folder / "utilisation.csv")
    written = [f"{name}.png" for name in figures] + ["tasks.csv", "utilisation.csv"]
    if len(found.binnings):
        save_table(found.binnings, folder / "binnings.csv")
        written.append("binnings.csv")
    return written


#: more tasks than this are not drawn; those that reach the most are
_MOST_TASKS = 40
#: share of the tasks that the low end shows in full
_MOST_BELOW = 0.75
#: far runs drawn per task: the farthest and a sample of the others
_MOST_FAR = 150
CLUSTER_COLOURS = {"light": COLOURS[2], "moderate": COLOURS[4], "heavy": COLOURS[1]}


def memory_boxes(jobs: pd.DataFrame, tasks: pd.DataFrame) -> Figure:
    """Draw the peaks of every task: all of them, and beside it where most tasks are.

    The second panel is drawn if it shows more than the first: its end is what three of four tasks
    stay below, and at most half of what the largest run reached.

    Parameters
    ----------
    tasks : DataFrame
        What ``sizing.assess.task_groups.cluster_tasks`` returns; the heaviest task is on top.
    """
    shown = tasks.tail(_MOST_TASKS)
    peaks = _peaks(jobs, shown["task"].tolist())
    largest = max(float(values.max()) for values in peaks.values())
    zoom = round_up(float(np.quantile([_whisker(one) for one in peaks.values()], _MOST_BELOW)))
    zooms = zoom <= largest / 2
    with canvas(10.0 if zooms else 6.5, 1.6 + 0.2 * len(shown)) as figure:
        panels = figure.subplots(1, 1 + zooms, sharey=True, squeeze=False)[0]
        for axes in panels:
            _draw(axes, peaks, shown["cluster"].tolist())
            axes.set_xlabel("peak memory of a run (GiB)")
            axes.set_xlim(left=0)
        panels[0].set_title("All runs")
        if zooms:
            panels[1].set_title(f"The low end: 0 to {zoom:g} GiB")
            panels[1].set_xlim(0, zoom)
        panels[0].set_yticks(range(len(shown)), short_names(list(peaks), 34), fontsize=8)
    return figure


def _peaks(jobs: pd.DataFrame, tasks: list[str]) -> dict[str, Floats]:
    peak = numbers(jobs, "memory_peak_gib")
    names = task_names(jobs).to_numpy()
    known = ~np.isnan(peak)
    return {task: peak[known & (names == task)] for task in tasks}


def _whisker(values: Floats) -> float:
    low, high = np.quantile(values, [0.25, 0.75])
    return float(values[values <= high + 1.5 * (high - low)].max())


def _draw(axes: Axes, peaks: dict[str, Floats], clusters: list[str]) -> None:
    at = np.arange(len(peaks))
    boxes = np.array([np.quantile(values, [0.25, 0.5, 0.75]) for values in peaks.values()])
    ends = np.array([_whisker(values) for values in peaks.values()])
    least = np.array([values.min() for values in peaks.values()])
    colours = [CLUSTER_COLOURS[name] for name in clusters]
    axes.hlines(at, least, ends, colors=MUTED, linewidth=0.9)
    axes.barh(at, boxes[:, 2] - boxes[:, 0], 0.6, boxes[:, 0], color=colours, zorder=2)
    axes.vlines(boxes[:, 1], at - 0.3, at + 0.3, colors=INK, linewidth=1.2, zorder=3)
    for place, (values, end) in enumerate(zip(peaks.values(), ends, strict=True)):
        far = np.sort(values[values > end])
        if len(far) > _MOST_FAR:
            far = far[np.linspace(0, len(far) - 1, _MOST_FAR).astype(int)]
        axes.scatter(far, np.full(len(far), place), s=5, color=colours[place], alpha=0.5, zorder=1)
    axes.set_ylim(-0.7, len(peaks) - 0.3)
    axes.grid(visible=False, axis="y")


def cluster_boxes(jobs: pd.DataFrame, tasks: pd.DataFrame, clusters: pd.DataFrame) -> Figure:
    """Draw the groups of tasks on a log axis, their statistics below (Fig. 13)."""
    of_task = dict(zip(tasks["task"], tasks["cluster"], strict=True))
    group = task_names(jobs).map(of_task).to_numpy()
    peak = numbers(jobs, "memory_peak_gib")
    names = clusters["cluster"].tolist()
    with canvas(7.5, 5.0) as figure:
        axes = figure.add_subplot()
        # logarithms are drawn, so that densities are those of what the eye sees
        held = [np.log10(peak[(group == name) & (peak > 0)]) for name in names]
        parts: Any = axes.violinplot(held, showextrema=False, widths=0.75, points=200)
        for body, name in zip(parts["bodies"], names, strict=True):
            body.set_facecolor(CLUSTER_COLOURS[name])
            body.set_alpha(0.35)
        axes.boxplot(
            held,
            widths=0.18,
            showfliers=False,
            medianprops={"color": INK},
            boxprops={"color": MUTED},
            whiskerprops={"color": MUTED},
            capprops={"color": MUTED},
        )
        for place, values in enumerate(held, start=1):
            axes.scatter(place, values.max(), marker="_", s=200, color=INK, zorder=3)
        axes.yaxis.set_major_locator(MultipleLocator(1))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{10.0**at:g}"))
        axes.set_ylabel("peak memory of a run (GiB), log scale")
        axes.set_xticks(
            range(1, len(names) + 1), [_statistics(row) for row in clusters.to_dict("records")]
        )
        axes.grid(visible=False, axis="x")
        axes.set_title("Groups of tasks by the memory they reach")
    return figure


def _statistics(row: dict[Any, Any]) -> str:
    mean, std, median, p95, largest = (
        units.memory(row[f"{name}_gib"]) for name in ("mean", "std", "median", "p95", "max")
    )
    return (
        f"{row['cluster']}: {counted(row['tasks'], 'task')}, {counted(row['runs'], 'run')}\n"
        f"mean {mean}, std {std}\nmedian {median}, p95 {p95}\nlargest {largest}"
    )
