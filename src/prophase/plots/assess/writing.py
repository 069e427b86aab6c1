"""Figures and tables of an assessment, or of the thesis, into a folder."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from prophase.errors import storage_error
from prophase.plots.assess.bars import driver_bars, utilisation_bars
from prophase.plots.assess.boxes import cluster_boxes, memory_boxes
from prophase.plots.assess.confusion import confusion_matrices
from prophase.plots.style import save
from prophase.sizing.assess.assessment import Assessment
from prophase.sizing.thesis.experiments import best_of
from prophase.sizing.thesis.reproducing import Reproduction


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
    _write(found.tasks, folder / "tasks.csv")
    _write(found.utilisation, folder / "utilisation.csv")
    written = [f"{name}.png" for name in figures] + ["tasks.csv", "utilisation.csv"]
    if len(found.binnings):
        _write(found.binnings, folder / "binnings.csv")
        written.append("binnings.csv")
    return written


def write_reproduction(found: Reproduction, jobs: pd.DataFrame, folder: Path) -> list[str]:
    """Write figures, tables, tuning history and models of the thesis, and return their names."""
    written = write_assessment(found.assessment, jobs, folder)
    for number, task in enumerate(dict.fromkeys(one.task for one in found.experiments), start=1):
        mine = [one for one in found.experiments if one.task == task]
        best = [best_of(mine, binning=bins) for bins in dict.fromkeys(o.binning for o in mine)]
        title = f"Heavy task {number} ({task}): best models, runs held out at random"
        save(confusion_matrices(best, title), folder, f"confusion-{number}", formats=("png",))
        unseen = [one for one in found.unseen if one.task == task]
        title = f"Heavy task {number} ({task}): scenarios never seen before"
        save(confusion_matrices(unseen, title), folder, f"unseen-{number}", formats=("png",))
        for one in best:
            name = f"heavy-{number}-{len(one.binning)}-bins.model"
            one.predictor.save(folder / name)
            written.append(name)
        written += [f"confusion-{number}.png", f"unseen-{number}.png"]
    _write(pd.DataFrame(found.rows), folder / "comparison.csv")
    _write(found.table(), folder / "models.csv")
    _write(found.history(), folder / "tuning.csv")
    return [*written, "comparison.csv", "models.csv", "tuning.csv"]


def _write(table: pd.DataFrame, target: Path) -> None:
    try:
        table.to_csv(target, index=False)
    except OSError as cause:
        raise storage_error(cause, target) from cause
