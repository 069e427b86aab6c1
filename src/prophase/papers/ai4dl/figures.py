"""AI4DL's two figures: a trace with its phases, and how phases differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from prophase.errors import storage_error
from prophase.plots.phase_series import phase_colour, plot_series_with_phases
from prophase.plots.style import WIDTH_IN, count_axis, styled
from prophase.trace.series.usage_series import Floats, Ints


def print_trace(
    values: Floats,
    phases: Ints,
    *,
    palette: Mapping[int, str] | None = None,
    names: Sequence[str] | None = None,
    file: Path | str | None = None,
) -> Figure:
    """Draw a strip of phases above two metrics."""
    return plot_series_with_phases(values, phases, names=names, palette=palette, file=file)


def print_variance(
    values: Floats,
    phases: Ints,
    *,
    palette: Mapping[int, str] | None = None,
    names: Sequence[str] | None = None,
    file: Path | str | None = None,
) -> Figure:
    """Draw boxes of each metric by phase, and bars of how often each phase occurs."""
    present = [int(one) for one in np.unique(phases) if one >= 0]
    colours = [phase_colour(one, palette) for one in present]
    words = list(names or ("CPU", "memory"))
    with styled():
        figure = Figure(figsize=(2.2 * WIDTH_IN, 3.6))
        FigureCanvasAgg(figure)
        for place, word in enumerate(words):
            axes = figure.add_subplot(1, len(words) + 1, place + 1)
            boxes = axes.boxplot(
                [values[phases == one, place] for one in present],
                tick_labels=[str(one) for one in present],
                patch_artist=True,
                flierprops={"markersize": 2},
                medianprops={"color": "#1f2328"},
            )
            for box, colour in zip(boxes["boxes"], colours, strict=True):
                box.set_facecolor(colour)
            axes.set_title(word)
            axes.set_xlabel("phase")
            axes.set_ylabel("standard score")
        axes = figure.add_subplot(1, len(words) + 1, len(words) + 1)
        counts = [int((phases == one).sum()) for one in present]
        axes.bar([str(one) for one in present], counts, color=colours)
        count_axis(axes.yaxis)
        axes.set_title("Samples by phase")
        axes.set_xlabel("phase")
    if file:
        try:
            figure.savefig(Path(file), dpi=120)
        except OSError as cause:
            raise storage_error(cause, Path(file)) from cause
    return figure
