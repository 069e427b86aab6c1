"""Figures of a watcher: how near its monitors are to an alarm, and how wrong predictions are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.json_types import JsonMapping
from prophase.plots.style import (
    COLOURS,
    GRID,
    MUTED,
    count_axis,
    draw,
    legend_below,
    note,
    percent_axis,
    save,
)

Point = JsonMapping
#: profiles with a line of their own colour; the others are drawn in grey
_NAMED = 4
#: jobs over which the error of the chart is taken
_OVER = 200


def write_drift_figures(
    chart: Sequence[Point], steps: Sequence[JsonMapping], folder: Path
) -> list[str]:
    """Write the figures as PNG and SVG and return their names."""
    figures = {
        "monitors": monitor_levels(chart, steps),
        "error-over-time": error_over_time(chart, steps),
    }
    for name, figure in figures.items():
        save(figure, folder, name)
    return list(figures)


def monitor_levels(chart: Sequence[Point], steps: Sequence[JsonMapping] = ()) -> Figure:
    """Draw how near each monitor came to an alarm over the jobs watched."""
    jobs = np.array([point["jobs"] for point in chart], dtype=float)
    scopes = dict.fromkeys(name for point in chart for name in point["levels"])
    lines = {
        name: np.array([point["levels"].get(name, np.nan) for point in chart], dtype=float)
        for name in scopes
    }
    # a scope that learns what is usual has no level
    lines = {name: line for name, line in lines.items() if np.isfinite(line).any()}
    profiles = sorted(
        (name for name in lines if name != "overall"), key=lambda name: -np.nanmax(lines[name])
    )

    def paint(axes: Axes) -> None:
        for name in profiles[_NAMED:]:
            axes.plot(jobs, lines[name], color=GRID, linewidth=1.0)
        for place, name in enumerate(profiles[:_NAMED]):
            label = f"profile {name}"
            axes.plot(jobs, lines[name], color=COLOURS[place + 1], linewidth=1.2, label=label)
        if "overall" in lines:
            axes.plot(jobs, lines["overall"], color=COLOURS[0], label="overall")
        axes.axhline(1.0, color=MUTED, linestyle="--", linewidth=1.0)
        _mark(axes, steps, 1.08)
        axes.set_ylim(0, 1.2)
        percent_axis(axes.yaxis, whole=False)
        count_axis(axes.xaxis)
        axes.set_xlabel("jobs watched")
        axes.set_ylabel("way to an alarm")
        legend_below(axes)

    return draw(paint, title="How near the monitors are to an alarm")


def error_over_time(chart: Sequence[Point], steps: Sequence[JsonMapping] = ()) -> Figure:
    """Draw by which factor predictions are off, and how many outcomes lie outside their range."""
    jobs = np.array([point["jobs"] for point in chart], dtype=float)
    factor = np.exp([point["error"] for point in chart])
    outside = np.array([point["outside"] for point in chart], dtype=float)

    def paint(axes: Axes) -> None:
        axes.plot(jobs, factor, color=COLOURS[0], label="median factor (left)")
        axes.set_ylim(1.0, max(1.1 * float(factor.max(initial=1.0)), 1.5))
        axes.set_ylabel("median factor off")
        axes.set_xlabel(f"jobs watched; each point over the last {_OVER}")
        count_axis(axes.xaxis)
        _mark(axes, steps, axes.get_ylim()[1])
        right = axes.twinx()
        right.plot(jobs, outside, color=COLOURS[1], linestyle=(0, (5, 2)), linewidth=1.3)
        right.set_ylim(0, max(0.3, 1.1 * float(outside.max(initial=0.0))))
        right.grid(visible=False)
        right.spines["right"].set_visible(True)
        percent_axis(right.yaxis, whole=False)
        right.set_ylabel("outside the 90 % range")
        axes.plot([], [], color=COLOURS[1], linestyle=(0, (5, 2)), label="outside (right)")
        legend_below(axes)

    return draw(paint, title="How wrong predictions are")


def _mark(axes: Axes, steps: Sequence[JsonMapping], top: float) -> None:
    """Mark alarms by a line with the number of their step."""
    for step in steps:
        if step["kind"] == "alarm":
            axes.axvline(step["jobs"], color=MUTED, linewidth=0.8, linestyle=":")
            note(axes, str(step["step"]), (step["jobs"], top), (2, 0), va="top")
