"""Curves of a replay: the first runs of a task, and waste against kills by risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.plots.style import COLOURS, count_axis, draw, legend_below, line_style

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
