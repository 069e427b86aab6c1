"""How density made the profiles: the condensed tree of HDBSCAN, the reachability of OPTICS."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase import units
from prophase.array_types import Floats, Ints
from prophase.plots.profiles.labels import OUTLIER_COLOUR, profile_colour
from prophase.plots.style import COLOURS, GRID, MUTED, count_axis, draw
from prophase.profile.clusters.clustering import CondensedTree, Reachability
from prophase.profile.clusters.quality import OUTLIERS

#: bars of a reachability plot; more cannot be seen
_MOST_BARS = 4_000


def condensed_tree(tree: CondensedTree) -> Figure:
    """Draw how groups split as density grows: width is jobs, chosen profiles are numbered."""
    spans = tree.spans()

    def paint(axes: Axes) -> None:
        groups: list[dict[Any, Any]] = spans.to_dict("records")
        sizes = {row["node"]: row["jobs"] for row in groups}
        children: dict[int, list[int]] = {}
        for row in sorted(groups, key=lambda one: -one["jobs"]):
            children.setdefault(row["parent"], []).append(row["node"])
        place = _places(groups[0]["node"], sizes, children)
        for row in groups:
            left = place[row["node"]]
            # a group thins out while single jobs leave it
            density, jobs = np.array(row["densities"]), np.array(row["left_over"], dtype=float)
            middle = left + row["jobs"] / 2
            chosen = pd.notna(row["profile"])
            axes.fill_betweenx(
                density,
                middle - jobs / 2,
                middle + jobs / 2,
                step="post",
                color=COLOURS[0] if chosen else GRID,
                linewidth=0.4 if chosen else 0,
                edgecolor=MUTED,
            )
            below = children.get(row["node"], [])
            ends = [place[one] + sizes[one] / 2 for one in below]
            if ends:
                axes.plot(
                    [min(*ends, middle), max(*ends, middle)],
                    [row["death"]] * 2,
                    color=MUTED,
                    linewidth=0.6,
                )
            if chosen:
                axes.annotate(
                    str(int(row["profile"])),
                    (middle, density[-1]),
                    xytext=(0, -2),
                    textcoords="offset points",
                    ha="center",
                    va="top",
                    fontsize=7,
                )
        axes.set_ylim(spans["death"].max() * 1.08, 0)
        axes.set_ylabel("density (1 / distance)")
        axes.set_xlabel("jobs, side by side; blue: chosen profiles with their numbers")
        axes.grid(visible=False)
        count_axis(axes.xaxis)

    return draw(paint, title="Condensed tree", width_in=9.0, height_in=5.0)


def _places(root: int, sizes: dict[int, int], children: dict[int, list[int]]) -> dict[int, float]:
    """Return where each group begins from the left: children stand inside their parent."""
    place = {root: 0.0}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        below = children.get(node, [])
        spare = sizes[node] - sum(sizes[one] for one in below)
        at = place[node]
        for one in below:
            place[one] = at
            # what left the parent as single jobs keeps the children apart
            at += sizes[one] + spare / max(1, len(below) - 1)
            waiting.append(one)
    return place


def reachability_plot(found: Reachability, labels: Ints) -> Figure:
    """Draw the distance at which each job was reached, in the order of visit.

    Valleys are groups; each profile has a colour, outliers their own.
    """
    distance, owner = _thinned(found, labels)

    def paint(axes: Axes) -> None:
        at = np.arange(len(distance))
        colours = [profile_colour(int(one)) for one in owner]
        axes.vlines(at, 0, distance, colors=colours, linewidth=max(0.3, 350 / len(at)))
        edges = np.flatnonzero(np.diff(owner)) + 1
        parts = np.split(at, edges)
        for part in parts:
            profile = int(owner[part[0]])
            if profile == OUTLIERS or len(part) < len(at) / 80:
                continue
            axes.annotate(
                str(profile),
                (part.mean(), 0),
                xytext=(0, -2),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=7,
                annotation_clip=False,
            )
        axes.set_xticks([])
        axes.set_xlim(-len(at) / 100, len(at) * 1.01)
        axes.set_ylim(0)
        axes.set_ylabel("reachability distance")
        told = "" if len(labels) == len(at) else f" ({len(at):,} of {len(found.order):,} shown)"
        axes.set_xlabel(f"jobs in the order of visit{told}; numbers: profiles", labelpad=12)
        axes.plot([], [], color=OUTLIER_COLOUR, linewidth=4, label="outliers")
        axes.legend(loc="upper right")
        axes.yaxis.set_major_formatter(lambda value, _: units.compact(value))

    return draw(paint, title="Reachability", width_in=9.0, height_in=4.0)


def _thinned(found: Reachability, labels: Ints) -> tuple[Floats, Ints]:
    """Return at most some thousand jobs; a start that nothing reached is drawn to the top."""
    step = max(1, -(-len(found.order) // _MOST_BARS))
    distance, owner = found.distance[::step].copy(), labels[found.order][::step]
    known = np.isfinite(distance)
    distance[~known] = 1.05 * distance[known].max() if known.any() else 1.0
    return distance, owner
