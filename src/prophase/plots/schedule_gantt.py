"""Who ran where and when: bars per GPU on a small cluster, a heat map on a large one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from prophase.plots.schedule_over_time import clock_axis
from prophase.plots.style import (
    COLOURS,
    INK,
    MUTED,
    PAPER,
    draw,
    legend_below,
    percent_axis,
)
from prophase.result.short_names import short, short_names
from prophase.sim import Schedule
from prophase.sim.measures.job_classes import groups_of
from prophase.sim.measures.state_curves import NodeUse, node_use
from prophase.sim.signatures import ASK_MILLI, GPUS, Ints

#: beyond this many lines or bars nobody can tell them apart: the heat map takes over
_MOST_LINES, _MOST_BARS = 64, 1500
_MOST_ROWS, _BINS, _MOST_NAMES, _MOST_COLOURS = 128, 300, 16, 7
#: transparent to blue, so that idle nodes have the colour of the paper, light or dark
_HEAT = LinearSegmentedColormap.from_list("use", [COLOURS[0] + "00", COLOURS[0] + "ff"])


def gantt(schedule: Schedule, clock: str = "", *, by: str = "class") -> Figure | None:
    """Draw which job held which GPU when; None if nothing that nodes state was held.

    Parameters
    ----------
    clock : str
        What the trace's seconds count from.
    by : str
        What colours tell apart on a small cluster: see ``Schedule.metrics``.
    """
    if 0 < schedule.cluster.gpus <= _MOST_LINES and 0 < _bars_needed(schedule) <= _MOST_BARS:
        return _bars(schedule, clock, by)
    found = node_use(schedule, most_rows=_MOST_ROWS, bins=_BINS)
    return None if found is None else _heat(found, clock)


def _bars_needed(schedule: Schedule) -> int:
    return int(np.bitwise_count(schedule.occupancy.gpu_bits).sum())


def _bars(schedule: Schedule, clock: str, by: str) -> Figure:
    groups = groups_of(schedule.workload, by)
    gpus = schedule.cluster.matrix[:, GPUS]
    first_line = np.cumsum(gpus) - gpus
    lines = int(gpus.sum())
    several = min(len(groups.names), _MOST_COLOURS)
    names = schedule.cluster.nodes["node_id"].astype(str)

    def paint(axes: Axes) -> None:
        place = clock_axis(axes, schedule.edges, clock)
        boxes: list[list[list[tuple[float, float]]]] = [[] for _ in range(several + 1)]
        for job, begin, end, low, high in _boxes(schedule, first_line):
            left, right = place(np.array([begin, end]))
            box = [(left, low), (left, high), (right, high), (right, low)]
            boxes[min(int(groups.code[job]), several)].append(box)
        for number, found in enumerate(boxes):
            named = number < several
            if found:
                axes.add_collection(
                    PolyCollection(
                        found,
                        facecolor=COLOURS[number] if named else MUTED,
                        edgecolor=PAPER,
                        linewidth=0.4,
                        label=short(groups.names[number]) if named else "others",
                    )
                )
        axes.set_ylim(lines, 0)
        with_gpus = np.flatnonzero(gpus)
        axes.set_yticks(
            first_line[with_gpus] + gpus[with_gpus] / 2, [short(names[n], 18) for n in with_gpus]
        )
        for line in first_line[with_gpus][1:]:
            axes.axhline(line, color=MUTED, linewidth=0.6)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        legend_below(axes)

    height = min(9.0, max(2.6, 1.4 + 0.16 * lines))
    return draw(paint, title="Who ran where: a line per GPU", height_in=height)


def _boxes(
    schedule: Schedule, first_line: Ints
) -> Iterator[tuple[int, float, float, float, float]]:
    """Yield job, begin, end, upper and lower edge of every bar; shares of a GPU stand in it."""
    held = schedule.occupancy
    shares: dict[int, list[tuple[float, float, float]]] = {}
    for row in np.argsort(held.start_s[held.attempt], kind="stable"):
        attempt = held.attempt[row]
        job, begin, end = int(held.job[attempt]), held.start_s[attempt], held.end_s[attempt]
        high = float(schedule.workload.asks[job, ASK_MILLI]) / 1000
        for gpu in range(int(held.gpu_bits[row]).bit_length()):
            if not int(held.gpu_bits[row]) >> gpu & 1:
                continue
            line = int(first_line[held.node[row]]) + gpu
            beside = [share for share in shares.get(line, []) if share[0] > begin]
            low = _lowest_gap(beside, high)
            shares[line] = [*beside, (end, low, low + high)]
            yield job, begin, end, line + low, line + low + high


def _lowest_gap(beside: list[tuple[float, float, float]], high: float) -> float:
    """Return where in a GPU's line a share fits; 0 where jobs hold more than there is."""
    low = 0.0
    for _, begin, end in sorted(beside, key=lambda share: share[1]):
        if begin >= low + high - 1e-9:
            break
        low = max(low, end)
    return low if low + high <= 1 + 1e-9 else 0.0


def _heat(found: NodeUse, clock: str) -> Figure:
    rows = len(found.names)

    def paint(axes: Axes) -> None:
        place = clock_axis(axes, found.edges, clock)
        left, right = place(found.edges[[0, -1]])
        axes.grid(visible=False)
        drawn = axes.imshow(
            found.share,
            aspect="auto",
            interpolation="nearest",
            extent=(float(left), float(right), rows, 0),
            cmap=_HEAT,
            vmin=0.0,
            vmax=1.0,
        )
        _name_rows(axes, found)
        scale = axes.figure.colorbar(drawn, ax=axes, pad=0.02, aspect=25)
        scale.outline.set_visible(False)
        percent_axis(scale.ax.yaxis, whole=False)
        scale.set_label(f"{found.unit} in use", color=INK)

    height = min(4.5, max(2.8, 1.2 + 0.12 * rows))
    return draw(paint, title="How busy each node was", height_in=height)


def _name_rows(axes: Axes, found: NodeUse) -> None:
    """Name every node where there is room, else every stretch of one GPU type."""
    rows = len(found.names)
    if rows <= _MOST_NAMES:
        axes.set_yticks(np.arange(rows) + 0.5, short_names(list(found.names), 18))
        axes.tick_params(axis="y", length=0)
        return
    kinds = np.array(found.kinds)
    firsts = np.r_[0, np.flatnonzero(kinds[1:] != kinds[:-1]) + 1, rows]
    per = f" (a row is {found.nodes_per_row} nodes)" if found.nodes_per_row > 1 else ""
    axes.set_ylabel(f"nodes{per}")
    if len(firsts) == 2:
        axes.set_yticks([])
        return
    for line in firsts[1:-1]:
        axes.axhline(line, color=MUTED, linewidth=0.6)
    # names of narrow stretches would lie on top of each other
    middles: list[float] = []
    names: list[str] = []
    for begin, end in pairwise(firsts):
        middle = (begin + end) / 2
        if not middles or middle - middles[-1] >= rows / 22:
            middles.append(float(middle))
            names.append(short(str(kinds[begin]) or "no type", 14))
    axes.set_yticks(middles, names)
    axes.tick_params(axis="y", length=0)
