"""What decides about profiles: importance of values, and SHAP over jobs and of one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.errors import storage_error
from prophase.plots.style import COLOURS, MUTED, draw, save, short
from prophase.profile.classify.explaining import JobExplanation, ShapSummary

#: profiles with a colour of their own in the stacked bars
_MOST_PROFILES = 7


def importance_bars(table: pd.DataFrame) -> Figure:
    """Draw the share of the gain of each value, with the number of its splits."""
    shown = table.iloc[::-1]
    names = [short(f"{c} = {v}", 34) for c, v in shown[["column", "value"]].to_numpy()]

    def paint(axes: Axes) -> None:
        shares = shown["total_gain_pct"].to_numpy(float)
        axes.barh(range(len(names)), shares, color=COLOURS[0], height=0.7)
        for place, (share, weight) in enumerate(zip(shares, shown["weight"], strict=True)):
            axes.annotate(
                f"{int(weight)} splits", (share, place), xytext=(4, 0),
                textcoords="offset points", va="center", fontsize=7.5, color=MUTED,
            )  # fmt: skip
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_xlim(0, 1.16 * max(float(shares.max(initial=0)), 1e-9))
        axes.set_xlabel("share of the gain of all splits, %")
        axes.grid(visible=False, axis="y")

    return draw(paint, title="What the trees split on", height_in=_tall(len(names)), width_in=7.0)


def shap_bars(summary: ShapSummary) -> Figure:
    """Draw the mean absolute SHAP value of each value, stacked by profile (the paper's Fig.)."""
    shown = summary.per_profile.iloc[::-1]
    order = shown.sum(axis=0).sort_values(ascending=False, kind="stable").index
    named, others = order[:_MOST_PROFILES], order[_MOST_PROFILES:]
    names = [short(str(one).replace("=", " = ", 1), 34) for one in shown.index]

    def paint(axes: Axes) -> None:
        left = np.zeros(len(names))
        for place, profile in enumerate(named):
            values = shown[profile].to_numpy(float)
            axes.barh(
                range(len(names)), values, left=left, height=0.7,
                color=COLOURS[place], label=f"profile {short(str(profile), 16)}",
            )  # fmt: skip
            left += values
        if len(others):
            rest = shown[others].sum(axis=1).to_numpy(float)
            axes.barh(
                range(len(names)), rest, left=left, height=0.7,
                color=MUTED, label=f"{len(others)} others",
            )  # fmt: skip
        axes.margins(x=0.05)
        axes.set_xlim(left=0)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_xlabel(f"mean absolute SHAP value over {summary.jobs:,} jobs, log-odds")
        axes.grid(visible=False, axis="y")
        axes.legend(loc="lower right", fontsize=8)

    tall = _tall(len(names))
    return draw(paint, title="What tells profiles apart", height_in=tall, width_in=7.0)


def job_bars(found: JobExplanation, job: str) -> Figure:
    """Draw what pushed one job towards its profile, and what away from it."""
    shown = found.pushes.iloc[::-1]
    names = [
        short(f"{column} = {value}" if value is not None else f"no {column}", 34)
        for column, value in shown[["column", "value"]].to_numpy()
    ]

    def paint(axes: Axes) -> None:
        pushes = shown["push"].to_numpy(float)
        colours = [COLOURS[0] if push >= 0 else COLOURS[1] for push in pushes]
        axes.barh(range(len(names)), pushes, color=colours, height=0.6)
        axes.axvline(0, color=MUTED, linewidth=0.8)
        reach = 1.25 * max(float(np.abs(pushes).max(initial=0)), 0.1)
        # room for the number left of a bar
        least = float(pushes.min(initial=0))
        axes.set_xlim(least - 0.14 * reach if least < 0 else -0.02 * reach, reach)
        for place, push in enumerate(pushes):
            axes.annotate(
                f"{push:+.2f}", (push, place), xytext=(4 if push >= 0 else -4, 0),
                textcoords="offset points", va="center", ha="left" if push >= 0 else "right",
                fontsize=8, color=MUTED,
            )  # fmt: skip
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_xlabel(f"push towards profile {found.profile}, log-odds")
        axes.grid(visible=False, axis="y")

    told = f"Job {short(job, 16)}: profile {found.profile}, probability {found.probability:.2f}"
    return draw(paint, title=told, height_in=1.4 + 0.34 * len(names), width_in=7.0)


def write_explanation(
    importance: pd.DataFrame, summary: ShapSummary | None, folder: Path
) -> list[str]:
    """Write the figures over all jobs with their numbers as CSV, and return their names."""
    names = ["importance.png"]
    save(importance_bars(importance), folder, "importance")
    tables = {"importance.csv": importance}
    if summary is not None:
        save(shap_bars(summary), folder, "shap-summary")
        tables["shap-summary.csv"] = summary.per_profile.reset_index(names="value")
        names.append("shap-summary.png")
    try:
        for name, table in tables.items():
            table.to_csv(folder / name, index=False)
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    return names


def write_job(found: JobExplanation, job: str, folder: Path) -> str:
    """Write the figure of one job and return its name."""
    save(job_bars(found, job), folder, "shap-job")
    return "shap-job.png"


def _tall(rows: int) -> float:
    return 1.3 + 0.27 * max(rows, 3)
