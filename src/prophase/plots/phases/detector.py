"""Figures of learnt phases, into a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from prophase.phase.detect import PhaseDetector
from prophase.plots.phases.series import plot_series_with_phases
from prophase.plots.phases.transitions import transition_graph
from prophase.plots.style import save, short

#: series that are drawn
_STRIPS = 3
#: samples that are drawn of each
_MOST_SAMPLES = 2_000


def save_figures(detector: PhaseDetector, usage: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw the transition graph, and a strip of phases above all metrics of some series."""
    written = [save_transitions(detector, folder)]
    found = detector.series_in(usage).series
    longest = sorted(found, key=len, reverse=True)[:_STRIPS]
    for number, one in enumerate(longest):
        figure = plot_series_with_phases(
            one.values[:_MOST_SAMPLES],
            detector.labels(one)[:_MOST_SAMPLES],
            names=detector.metrics_,
        )
        figure.suptitle(short(one.series_id, 60), fontsize=10, x=0.01, ha="left")
        save(figure, folder, f"phases-{number}", formats=("png",))
        written.append(folder / f"phases-{number}.png")
    return written


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
