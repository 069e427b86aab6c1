"""Figures of sizing: one task with its ladder, its first runs, and waste against kills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.errors import ParameterError
from prophase.plots.style import (
    COLOURS,
    INK,
    MUTED,
    count_axis,
    draw,
    legend_below,
    line_style,
    note,
    save,
)
from prophase.result.short_names import short
from prophase.sizing.kind_recommendation import Recommendation

_ENDINGS = ("png", "svg")


def write_explained(one: Recommendation, unit: str, path: Path) -> None:
    """Write the figure to a PNG or SVG file."""
    ending = path.suffix.removeprefix(".").lower()
    if ending not in _ENDINGS:
        raise ParameterError(f"{path}: a figure is a .png or .svg file.")
    save(explained(one, unit), path.parent, path.stem, formats=[ending])


def explained(one: Recommendation, unit: str) -> Figure:
    """Draw peaks in the order the runs ended, the predicted range, and the rungs."""
    peaks = np.array(one.peaks)
    # a time limit is compared with run times, which have no peaks
    what = "run time" if unit == "h" else "peak"

    def paint(axes: Axes) -> None:
        assert one.outlook is not None
        runs = np.arange(1, len(peaks) + 1)
        axes.plot(runs, peaks, ".", color=COLOURS[0], markersize=4, label=f"{what} of a run")
        low, high = one.outlook.quantile(0.05), one.outlook.quantile(0.95)
        axes.axhspan(low, high, color=COLOURS[0], alpha=0.12, label=f"90 % of next {what}s")
        for place, rung in enumerate(one.ladder):
            axes.axhline(rung, color=COLOURS[1], linewidth=1.6 - 0.4 * place,
                         label="ladder" if place == 0 else None)  # fmt: skip
            note(
                axes,
                f"{place + 1}. {rung:.3g}",
                (1.0, rung),
                (3, 0),
                xycoords=("axes fraction", "data"),
                va="center",
                color=INK,
                annotation_clip=False,
            )
        if one.now > 0:
            axes.axhline(one.now, color=MUTED, linestyle="--", linewidth=1.2, label="request today")
        axes.set_ylim(0, 1.08 * max([*one.ladder, float(peaks.max()), np.nan_to_num(one.now)]))
        axes.set_xlabel("run, in the order they ended")
        axes.set_ylabel(f"{what} ({unit})")
        count_axis(axes.xaxis)
        legend_below(axes)

    return draw(paint, title=short(one.task, 60))


Point = Mapping[str, float]


def cold_start(curves: Mapping[str, Sequence[Point]]) -> Figure:
    """Draw waste relative to the request by the number of runs seen before, one line per sizer."""

    def paint(axes: Axes) -> None:
        for place, (name, points) in enumerate(curves.items()):
            axes.plot(
                [point["seen"] + 1 for point in points],
                [point["relative"] for point in points],
                label=name,
                marker="o",
                markersize=3,
                **line_style(place),
            )
        axes.set_xscale("log")
        count_axis(axes.xaxis)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("number of the run of its task")
        axes.set_ylabel("waste / waste of the request")
        legend_below(axes)

    return draw(paint, title="From the first run on")


def frontier(points: Mapping[str, Sequence[Point]], others: Mapping[str, Point]) -> Figure:
    """Draw waste against the share of killed tasks: a line over risks, a mark per other sizer."""

    def paint(axes: Axes) -> None:
        for place, (name, line) in enumerate(points.items()):
            axes.plot(
                [100 * point["oom_share"] for point in line],
                [point["relative"] for point in line],
                label=name,
                marker="o",
                markersize=3,
                **line_style(place),
            )
        for place, (name, point) in enumerate(others.items()):
            colour = COLOURS[(place + len(points)) % len(COLOURS)]
            axes.plot(100 * point["oom_share"], point["relative"], "s", color=colour, label=name)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("tasks killed at their first request (%)")
        axes.set_ylabel("waste / waste of the request")
        legend_below(axes)

    return draw(paint, title="Waste against kills")
