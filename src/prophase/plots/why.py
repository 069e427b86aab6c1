"""Figures of ``prophase why``: causes beside effects, classes, who blocks, idle hours."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from prophase.json_types import JsonObject
from prophase.plots.style import COLOURS, INK, MUTED, PAPER, draw, legend_below
from prophase.result import Picture
from prophase.result.short_names import short
from prophase.sim.why.causes import LABELS, NAMES
from prophase.sim.why.explanation import Why
from prophase.trace.describe.trace_clock import WEEKDAYS, knows_weekdays

_COLOUR = dict(zip(NAMES, (*COLOURS[6:7], *COLOURS[:6]), strict=True))
_MOST_CLASSES, _MOST_TYPES, _MOST_NODES = 12, 6, 60
#: percent below which a bar cannot be seen
_LEAST_SHARE = 0.2
#: where the axis of effects ends; what makes waiting longer than that is written out
_LEAST_SAVED = -60.0


def causes_figure(why: Why) -> Figure:
    """Draw the share of each cause, and what total waiting loses when the cause is removed."""
    rows = [row for row in why.side_by_side() if row["share_pct"] or row.get("change_pct")]
    effects = {effect.change: effect for effect in why.effects if effect.change_pct is not None}

    def paint(axes: Axes) -> None:
        for place, row in enumerate(rows):
            if row["share_pct"] is not None:
                colour = _COLOUR[row["cause"]]
                axes.barh(place - 0.16, row["at_root_pct"], 0.5, color=colour, alpha=0.3)
                axes.barh(place - 0.16, row["share_pct"], 0.3, color=colour)
            effect = effects.get(row.get("without_it", ""))
            if effect is None or effect.change_pct is None:
                continue
            change = effect.change_pct
            saved = -change.value
            if saved < _LEAST_SAVED:
                words = f"\u25c0 {-saved:,.0f} % more waiting"
                axes.text(_LEAST_SAVED, place + 0.25, words, fontsize=8, va="center")
                continue
            if change.known:
                ends = [max(_LEAST_SAVED, -change.high), -change.low]
                axes.plot(ends, [place + 0.25] * 2, color=MUTED, linewidth=1.2)
            axes.plot(saved, place + 0.25, "o", color=INK, markersize=5)
        axes.plot([], [], "o", color=INK, markersize=5, label="saved without it, 95 %")
        axes.bar(0, 0, color=MUTED, label="share of waiting")
        axes.bar(0, 0, color=MUTED, alpha=0.3, label="with jobs held up behind")
        axes.axvline(0, color=MUTED, linewidth=1)
        axes.set_yticks(range(len(rows)), [_row_label(row) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("% of all waiting")
        axes.grid(visible=False, axis="y")
        changes = [one.change_pct for one in effects.values() if one.change_pct is not None]
        worst = max([0.0, *(one.high if one.known else one.value for one in changes)])
        axes.set_xlim(max(_LEAST_SAVED - 2, -1.1 * worst), 104)
        legend_below(axes)

    height = 1.5 + 0.5 * max(1, len(rows))
    return draw(paint, title="Why jobs wait", height_in=height, width_in=7.0)


def classes_figure(why: Why) -> Figure:
    """Draw the causes of each class of jobs as parts of its waiting."""
    waiting = [row for row in why.classes if row["wait_h"]][:_MOST_CLASSES]

    def paint(axes: Axes) -> None:
        for place, row in enumerate(waiting):
            left = 0.0
            for name in NAMES:
                share = row[f"{name}_pct"]
                axes.barh(place, share, 0.7, left=left, color=_COLOUR[name])
                left += share
        for name in NAMES:
            if any(row[f"{name}_pct"] for row in waiting):
                axes.bar(0, 0, color=_COLOUR[name], label=LABELS[name])
        labels = [
            f"{short(str(next(iter(row.values()))))}\n{row['wait_h']:,.0f} h" for row in waiting
        ]
        axes.set_yticks(range(len(waiting)), labels)
        axes.set_ylim(len(waiting) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the waiting of the class")
        axes.grid(visible=False, axis="y")
        legend_below(axes)

    height = 1.5 + 0.45 * max(1, len(waiting))
    return draw(paint, title="By class of jobs", height_in=height)


def blockers_figure(why: Why) -> Figure:
    """Draw whose jobs held up others, and how long."""
    by = next(iter(why.held_up_by[0]))
    rows = [row for row in why.held_up_by if row["share_pct"] >= _LEAST_SHARE]

    def paint(axes: Axes) -> None:
        places = np.arange(len(rows))
        lost = [[row[f"{kind}_jobs_lost_h"] for row in rows] for kind in ("short", "long")]
        axes.barh(places, lost[0], 0.7, color=COLOURS[1], label="short jobs")
        axes.barh(places, lost[1], 0.7, left=lost[0], color=COLOURS[0], label="long jobs")
        axes.set_yticks(places, [_named(by, row[by]) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("hours that others waited although they would have fitted")
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(lambda at, _: f"{at:,.0f}" if at >= 1 else f"{at:g}")
        axes.grid(visible=False, axis="y")
        legend_below(axes)

    return draw(paint, title="Who holds others up", height_in=1.5 + 0.35 * len(rows))


def idle_figure(why: Why, gpu_type: str) -> Figure:
    """Draw mean idle GPUs of a type at every hour of the week."""
    rows = [row for row in why.idle_hours if row["gpu_type"] == gpu_type]
    values = [np.nan if row["mean_idle_gpus"] is None else row["mean_idle_gpus"] for row in rows]
    grid = np.array(values).reshape(7, 24)
    gpus = next(row["gpus"] for row in why.idle if row["gpu_type"] == gpu_type)
    known = knows_weekdays(why.clock)

    def paint(axes: Axes) -> None:
        axes.grid(visible=False)
        mesh = axes.pcolormesh(
            np.arange(25), np.arange(8), grid, cmap="Blues", vmin=0, edgecolor=PAPER
        )
        axes.set_ylim(7, 0)
        axes.set_yticks(
            np.arange(7) + 0.5, WEEKDAYS if known else [f"day {n}" for n in range(1, 8)]
        )
        axes.set_xticks(range(0, 25, 3))
        axes.set_xlabel("hour of the day" if known else "hour after the trace's zero")
        axes.figure.colorbar(mesh, ax=axes, label=f"idle of {gpus:,} GPUs")

    return draw(paint, title=f"Idle {_gpus(gpu_type)}", height_in=3.0)


def idle_map_figure(why: Why) -> Figure:
    """Draw nodes by hour of the day: GPUs that nobody holds, beside those held but idle."""
    table = why.idle_map
    wasted = table.groupby("node_id", sort=False)["allocated_idle_gpu_h"].sum()
    nodes = wasted.sort_values(ascending=False, kind="stable").index[:_MOST_NODES]
    sides = {"nobody holds": "unallocated_gpu_h", "held, but idle": "allocated_idle_gpu_h"}

    def grid(column: str) -> NDArray[np.float64]:
        share = 100 * table[column] / table["owned_gpu_h"].where(table["owned_gpu_h"] > 0)
        by_node = table.assign(share=share).pivot(index="node_id", columns="hour", values="share")
        return by_node.loc[nodes].to_numpy(np.float64)

    def paint(axes: Axes) -> None:
        axes.grid(visible=False)
        both = np.hstack([grid(column) for column in sides.values()])
        mesh = axes.pcolormesh(
            np.arange(49), np.arange(len(nodes) + 1), both, cmap="Blues", vmin=0, vmax=100
        )
        axes.axvline(24, color=PAPER, linewidth=4)
        axes.set_ylim(len(nodes), 0)
        shown = range(0, len(nodes), max(1, len(nodes) // 20))
        axes.set_yticks([place + 0.5 for place in shown], [str(nodes[place]) for place in shown])
        axes.set_xticks(range(0, 49, 6), ["0", "6", "12", "18", "0", "6", "12", "18", "24"])
        axes.set_xlabel("hour of the day: " + "  |  ".join(sides))
        axes.figure.colorbar(mesh, ax=axes, label="% of the node's GPUs")

    return draw(paint, title="Idle GPUs by node", height_in=2.0 + 0.12 * len(nodes))


def why_figures(why: Why) -> Iterator[Picture]:
    """Yield every figure that has something to show."""
    if any(row["wait_h"] for row in why.causes):
        yield Picture(
            "causes",
            causes_figure(why),
            "Bars: share of all waiting; pale: jobs held up by the queue count for what the job "
            "in the way lacks. Dots: how much less is waited in a replay without the cause; left "
            "of zero more is waited.",
            section="causes",
        )
        caption = "Causes within the waiting of each class."
        yield Picture("classes", classes_figure(why), caption, section="classes")
    if why.held_up_by:
        yield Picture(
            "blockers",
            blockers_figure(why),
            "Waiting of jobs that would have fitted, booked on the first job in the queue that "
            "did not.",
            section="held_up",
        )
    largest = sorted(why.idle, key=lambda row: -row["gpus"])[:_MOST_TYPES]
    for number, row in enumerate(largest):
        name = row["gpu_type"]
        yield Picture(
            f"idle_{number}",
            idle_figure(why, name),
            f"Mean idle {_gpus(name)} at each hour of the week, until the last submission.",
            section="idle",
        )
    if why.idle_map["allocated_idle_gpu_h"].any():
        yield Picture(
            "idle_map",
            idle_map_figure(why),
            "Each node at each hour of the day, until the last submission: GPUs that nobody holds, "
            "and GPUs that jobs held without using them, by their mean use.",
            section="idle",
        )


def _gpus(gpu_type: str) -> str:
    """Name the GPUs of a type; a cluster without types calls it just that."""
    return "GPUs" if gpu_type == "GPU" else f"{gpu_type} GPUs"


def _named(by: str, value: str) -> str:
    if value in ("all others", "no waiting job"):
        return value
    return f"{value} GPUs" if by == "gpus" else short(f"{by} {value}", 20)


def _row_label(row: JsonObject) -> str:
    label = LABELS[row["cause"]]
    return f"{label}\n{short(row['without_it'], 34)}" if row.get("without_it") else label
