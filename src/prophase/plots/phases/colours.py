"""A colour per phase, the same in every figure."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from prophase.phase.series import Ints
from prophase.phase.stays import stays_of
from prophase.plots.style import COLOURS, GRID

#: after the eight colours of the house, their paler sisters
_MORE = ("#7fb8d8", "#ea9e7f", "#7fceb9", "#e5bcd3", "#f2cf7f", "#aad9f4", "#bfb5d9", "#c5b698")


def phase_colour(phase: int, palette: Mapping[int, str] | None = None) -> str:
    """Return the colour of a phase; samples without one are pale."""
    if phase < 0:
        return GRID
    if palette and phase in palette:
        return palette[phase]
    return (*COLOURS, *_MORE)[phase % (len(COLOURS) + len(_MORE))]


def shade(axes: Axes, phases: Ints, palette: Mapping[int, str] | None, alpha: float) -> None:
    """Colour the background of axes by phase."""
    stays = stays_of([phases + 1])
    begin = 0
    for phase, samples in zip(stays.phase, stays.samples, strict=True):
        colour = phase_colour(int(phase) - 1, palette)
        axes.axvspan(begin - 0.5, begin + samples - 0.5, color=colour, alpha=alpha, lw=0)
        begin += int(samples)
