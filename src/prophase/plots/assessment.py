"""Figures and tables of an assessment: use of each request, and what drives a task's memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from prophase.errors import storage_error
from prophase.plots.assessment_boxes import cluster_boxes, memory_boxes
from prophase.plots.style import COLOURS, GRID, draw, save, short, styled
from prophase.sizing.assess.assessment import Assessment
from prophase.sizing.assess.utilisation import ALL

_MOST_TASKS = 40
_MOST_DRIVERS = 12


def utilisation_bars(used: pd.DataFrame) -> Figure:
    """Draw the used percentage of each resource, task by task (Table 5)."""
    resources = used["resource"].unique().tolist()
    sorted_by = "memory" if "memory" in resources else resources[0]
    first = used[used["resource"] == sorted_by]
    tasks = [ALL, *first[first["task"] != ALL]["task"].head(_MOST_TASKS)][::-1]
    with styled():
        figure = Figure(figsize=(3.2 + 2.4 * len(resources), 1.4 + 0.2 * len(tasks)))
        FigureCanvasAgg(figure)
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
                    axes.text(102, place, f"{value:.3g}", va="center", fontsize=7)
            axes.set_xlim(0, 118)
            axes.set_title(resource)
            axes.set_xlabel("% of the request used")
            axes.grid(visible=False)
        many[0].set_yticks(range(len(tasks)), [short(task, 26) for task in tasks], fontsize=8)
    return figure


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
        axes.set_yticks(at, [short(name, 40) for name in shown["driver"]])
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
    write_table(found.tasks, folder / "tasks.csv")
    write_table(found.utilisation, folder / "utilisation.csv")
    written = [f"{name}.png" for name in figures] + ["tasks.csv", "utilisation.csv"]
    if len(found.binnings):
        write_table(found.binnings, folder / "binnings.csv")
        written.append("binnings.csv")
    return written


def write_table(table: pd.DataFrame, target: Path) -> None:
    """Write a table as CSV, or say why it cannot be."""
    try:
        table.to_csv(target, index=False)
    except OSError as cause:
        raise storage_error(cause, target) from cause
