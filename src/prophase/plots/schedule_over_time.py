"""Figures of a schedule over time: what is used, free or of no use, and who waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from prophase.plots.arrivals import trace_time_axis
from prophase.plots.style import (
    COLOURS,
    GRID,
    INK,
    WIDTH_IN,
    canvas,
    count_axis,
    draw,
    legend_below,
)
from prophase.sim.measures.state_curves import StateCurve
from prophase.sim.signatures import Floats


def clock_axis(axes: Axes, edges: Floats, clock: str) -> Callable[[Floats], Floats]:
    """Label the x axis from the first edge to the last; return what maps seconds to places."""
    mapped = trace_time_axis(axes, float(edges[0]), float(edges[-1]), clock)

    def place(times: Floats) -> Floats:
        found = mapped(times)
        # dates come as a list; boxes and images are drawn in numbers
        places = date2num(found) if isinstance(found, list) else found  # type: ignore[no-untyped-call]
        return np.asarray(places, np.float64)

    axes.set_xlim(*place(edges[[0, -1]]))
    return place


_MOST_TYPES = 6
#: low panels need no finer bins
_COARSER = 3


def states_over_time(curve: StateCurve, clock: str = "", last_s: float | None = None) -> Figure:
    """Draw what is used, fragmented and free, one above the other up to what is owned.

    ``last_s`` marks the last submission: afterwards the cluster only empties.
    """

    def paint(axes: Axes) -> None:
        _layers(axes, curve, clock)
        _mark(axes, curve.edges, clock, last_s)
        axes.set_ylabel(curve.unit)
        legend_below(axes)

    return draw(paint, title=f"{curve.unit[0].upper()}{curve.unit[1:]} over time")


def states_by_type(curves: Sequence[StateCurve], clock: str = "") -> Figure:
    """Draw the same for the types with most GPUs, each on a scale of its own."""
    shown = curves[:_MOST_TYPES]
    with canvas(WIDTH_IN, 1.1 + 1.05 * len(shown)) as figure:
        rows: list[Axes] = list(figure.subplots(len(shown), sharex=True, squeeze=False)[:, 0])
        for axes, curve in zip(rows, shown, strict=True):
            _layers(axes, curve.coarser(_COARSER), clock)
            axes.set_ylabel(curve.name)
            axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
        for axes in rows[:-1]:
            axes.set_xlabel("")
        rows[0].set_title("GPUs over time, by type")
        legend_below(rows[0])
    return figure


def queue_over_time(
    jobs: Floats, gpus: Floats, edges: Floats, clock: str = "", last_s: float | None = None
) -> Figure:
    """Draw how many jobs wait, and how many GPUs they ask for; mark the last submission."""

    def paint(axes: Axes) -> None:
        place = clock_axis(axes, edges, clock)
        several = bool(gpus.any())
        axes.stairs(jobs, place(edges), color=COLOURS[0], label="jobs", linewidth=1.4)
        if several:
            axes.stairs(
                gpus, place(edges), color=COLOURS[1], label="GPUs they ask for", linewidth=1.0
            )
        axes.set_ylabel("waiting" if several else "jobs waiting")
        axes.set_ylim(bottom=0)
        count_axis(axes.yaxis)
        _mark(axes, edges, clock, last_s)
        legend_below(axes)

    return draw(paint, title="The queue over time")


def _mark(axes: Axes, edges: Floats, clock: str, last_s: float | None) -> None:
    if last_s is not None and edges[0] < last_s < edges[-1]:
        at = float(clock_axis(axes, edges, clock)(np.array([last_s, last_s]))[0])
        axes.axvline(at, color=INK, linestyle=(0, (4, 3)), linewidth=1.2, label="last submission")


def _layers(axes: Axes, curve: StateCurve, clock: str) -> None:
    place = clock_axis(axes, curve.edges, clock)
    at = place(curve.edges)
    layers = [("used", curve.used, COLOURS[0]), ("free", curve.free, GRID)]
    if curve.fragmented.any():
        layers.insert(1, ("idle, but of no use to typical jobs", curve.fragmented, COLOURS[1]))
    base = np.zeros(len(at) - 1)
    for name, values, colour in layers:
        top = base + np.maximum(values, 0.0)
        axes.stairs(top, at, baseline=base, fill=True, color=colour, linewidth=0, label=name)
        base = top
    axes.set_ylim(0, max(float(base.max()), 1e-9) * 1.02)
    count_axis(axes.yaxis)
