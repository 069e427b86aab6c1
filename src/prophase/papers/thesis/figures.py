"""Confusion matrices of bins: right in green, under-estimates in red, over-estimates in grey."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from prophase.papers.thesis.reproduction import ThesisReproduction
from prophase.plots.assessment import write_assessment
from prophase.plots.style import COLOURS, MUTED, PAPER, canvas, save, save_table
from prophase.sizing.bins.experiments import Experiment, best_of

RIGHT, UNDER, OVER = COLOURS[2], COLOURS[1], MUTED


def confusion_matrices(found: Sequence[Experiment], title: str = "") -> Figure:
    """Draw matrices side by side, each with accuracy, u_score and u_rate (Figs. 15 and 16)."""
    with canvas(max(4.0, 3.3 * len(found)), 3.9) as figure:
        for axes, one in zip(figure.subplots(1, len(found), squeeze=False)[0], found, strict=True):
            _draw(axes, one)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    return figure


def _draw(axes: Axes, one: Experiment) -> None:
    names = [f"{edge:g}" for edge in one.binning.edges_gib]
    size = len(names)
    for true, row in enumerate(one.score.confusion.tolist()):
        for said, count in enumerate(row):
            colour = RIGHT if true == said else UNDER if said < true else OVER
            axes.add_patch(
                Rectangle(
                    (said - 0.47, true - 0.47), 0.94, 0.94, color=colour,
                    alpha=0.9 if count else 0.12, linewidth=0,
                )
            )  # fmt: skip
            axes.text(
                said, true, f"{count:,}", ha="center", va="center", fontsize=10,
                color=PAPER if count else colour,
            )  # fmt: skip
    axes.set_xlim(-0.55, size - 0.45)
    axes.set_ylim(size - 0.45, -0.55)
    axes.set_aspect("equal")
    axes.set_xticks(range(size), names)
    axes.set_yticks(range(size), names)
    axes.set_xlabel("predicted bin (GiB)")
    axes.set_ylabel("true bin (GiB)")
    axes.grid(visible=False)
    found = one.score
    axes.set_title(
        f"{one.classifier}, {_how(one)}\naccuracy {found.accuracy_pct:.1f} %, u_score "
        f"{found.u_score:.1f}\nu_rate {found.u_rate_pct:.2f} %",
        fontsize=9,
        fontweight="normal",
    )


def _how(one: Experiment) -> str:
    if one.split == "runs":
        return f"over-sampling {one.sampling}"
    return "tuned on scenarios" if one.predictor.unseen_scenarios else "tuned on runs"


def write_reproduction(found: ThesisReproduction, jobs: pd.DataFrame, folder: Path) -> list[str]:
    """Write figures, tables, tuning history and models of the thesis, and return their names."""
    written = write_assessment(found.assessment, jobs, folder)
    for number, task in enumerate(dict.fromkeys(one.task for one in found.experiments), start=1):
        mine = [one for one in found.experiments if one.task == task]
        best = [
            one
            for bins in dict.fromkeys(o.binning for o in mine)
            if (one := best_of(mine, binning=bins)) is not None
        ]
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
    save_table(pd.DataFrame(found.rows), folder / "comparison.csv")
    save_table(found.table(), folder / "models.csv")
    save_table(found.history(), folder / "tuning.csv")
    return [*written, "comparison.csv", "models.csv", "tuning.csv"]
