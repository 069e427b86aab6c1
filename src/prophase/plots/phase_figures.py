"""Figures of a phase detector: transitions as a graph, and all of its figures into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.phase.detector import PhaseDetector
from prophase.phase.prototypes import prototypes_of
from prophase.plots.phase_series import phase_colour, phase_legend, plot_series, sample_clock, shade
from prophase.plots.style import INK, MUTED, PAPER, WIDTH_IN, canvas, draw, save
from prophase.plural import counted
from prophase.result.short_names import short
from prophase.trace.series.usage_series import Floats, Series

#: arrows that stand for a smaller share of the changes out of a phase are left out
_LEAST = 0.05
#: paper behind a number, so that arrows do not cross it
_BEHIND = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0}


def transition_graph(transitions: Floats, samples: Floats) -> Figure:
    """Draw phases by how many samples they hold, and changes by how likely they are.

    Parameters
    ----------
    transitions : array (phases, phases)
        How often each phase was followed by each other.
    samples : array (phases,)
        Samples in each phase; the area of its circle.
    """
    return draw(
        lambda axes: _paint(axes, transitions, samples),
        title="Which phase follows which",
        width_in=6.0,
        height_in=5.6,
    )


def _paint(axes: Axes, transitions: Floats, samples: Floats) -> None:
    count = len(transitions)
    angle = np.pi / 2 - 2 * np.pi * np.arange(count) / max(count, 1)
    x, y = np.cos(angle), np.sin(angle)
    share = samples / max(float(samples.sum()), 1.0)
    # points: the largest circle leaves room for its neighbours
    radius = 12 + 22 * np.sqrt(share)
    leaving = transitions.sum(axis=1)
    for one in range(count):
        for other in range(count):
            chance = transitions[one, other] / leaving[one] if leaving[one] else 0.0
            if one == other or chance < _LEAST:
                continue
            arrow = axes.annotate(
                "",
                xy=(x[other], y[other]),
                xytext=(x[one], y[one]),
                arrowprops={
                    "arrowstyle": "-|>",
                    "connectionstyle": "arc3,rad=0.18",
                    "shrinkA": radius[one] + 1,
                    "shrinkB": radius[other] + 1,
                    "color": MUTED,
                    "lw": 0.6 + 3.4 * chance,
                    "alpha": 0.35 + 0.65 * chance,
                },
            )
            arrow.set_zorder(1)
            # beside the arrow, nearer to where it begins, so that two ways do not share a place
            across = np.array([y[other] - y[one], x[one] - x[other]])
            at = 0.62 * np.array([x[one], y[one]]) + 0.38 * np.array([x[other], y[other]])
            at = at + 0.11 * across
            axes.text(
                float(at[0]),
                float(at[1]),
                f"{100 * chance:.0f} %",
                fontsize=8,
                color=INK,
                bbox=_BEHIND,
                ha="center",
                va="center",
            )
    for one in range(count):
        axes.plot(x[one], y[one], "o", ms=2 * radius[one], color=phase_colour(one), zorder=2)
        axes.text(
            x[one], y[one], f"{one}\n{100 * share[one]:.0f} %", ha="center", va="center",
            color="white", fontsize=9, fontweight="bold", zorder=3,
        )  # fmt: skip
    axes.set_xlim(-1.45, 1.45)
    axes.set_ylim(-1.45, 1.45)
    axes.set_aspect("equal")
    axes.axis("off")


#: series and prototypes that are drawn
_STRIPS, _PROTOTYPES = 3, 6


def save_figures(detector: PhaseDetector, usage: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw the transition graph, and a strip of phases above all metrics of some series."""
    written = [save_transitions(detector, folder)]
    found = detector.series_in(usage).series
    if len(found) > 1:
        save(prototype_strips(detector, found), folder, "prototypes", formats=("png",))
        written.append(folder / "prototypes.png")
    longest = sorted(found, key=len, reverse=True)[:_STRIPS]
    for number, one in enumerate(longest):
        figure = plot_series(
            one.values,
            phases=[detector.labels(one)],
            names=detector.metrics_,
            time_s=one.time_s,
        )
        figure.suptitle(short(one.series_id, 60), fontsize=10, x=0.01, ha="left")
        save(figure, folder, f"phases-{number}", formats=("png",))
        written.append(folder / f"phases-{number}.png")
    return written


def prototype_strips(detector: PhaseDetector, found: Sequence[Series]) -> Figure:
    """Draw the phases of the executions that stand for most, a strip each."""
    labels = [detector.labels(one) for one in found]
    shown = prototypes_of(labels).prototypes[:_PROTOTYPES]
    steps = [found[one.series].step_s for one in shown]
    longest_s = max(len(labels[one.series]) * step for one, step in zip(shown, steps, strict=True))
    with canvas(1.5 * WIDTH_IN, 0.55 * len(shown) + 1.2) as figure:
        for row, one in enumerate(shown):
            axes = figure.add_subplot(len(shown), 1, row + 1)
            shade(axes, labels[one.series], None, 1.0)
            # series may differ in their steps: all strips are of one clock
            clock = np.arange(0.0, longest_s + steps[row], steps[row])
            sample_clock(axes, clock)
            axes.set_xlim(-0.5, longest_s / steps[row] - 0.5)
            axes.set_yticks([])
            axes.grid(False)
            last = row == len(shown) - 1
            axes.tick_params(labelbottom=last)
            if not last:
                axes.set_xlabel("")
            alike = counted(len(one.stands_for), "execution")
            axes.set_title(f"{short(found[one.series].series_id, 50)}: {alike}", fontsize=8)
        phase_legend(figure, [labels[one.series] for one in shown])
    return figure


def save_transitions(detector: PhaseDetector, folder: Path) -> Path:
    """Draw which phase follows which."""
    samples = np.array(
        [
            float(detector.statistics_[detector.statistics_["phase"] == n]["samples"].iloc[0])
            for n in range(detector.n_phases_)
        ]
    )
    save(transition_graph(detector.transitions_, samples), folder, "transitions", formats=("png",))
    return folder / "transitions.png"
