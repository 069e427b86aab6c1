"""Series with a colour per phase: plain, two overlaid, with phases, and both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase import units
from prophase.errors import ParameterError, storage_error
from prophase.phase.stays import stays_of
from prophase.plots.style import COLOURS, GRID, WIDTH_IN, canvas, count_axis
from prophase.result.short_names import short
from prophase.trace.describe.trace_clock import date_of
from prophase.trace.series.usage_series import Floats, Ints

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
    begins = np.cumsum(stays.samples) - stays.samples - 0.5
    for phase in np.unique(stays.phase):
        own = stays.phase == phase
        spans = list(zip(begins[own].tolist(), stays.samples[own].tolist(), strict=True))
        colour = phase_colour(int(phase) - 1, palette)
        # one piece of the drawing per phase: a long series has thousands of stays
        across = axes.get_xaxis_transform()
        axes.broken_barh(spans, (0, 1), transform=across, color=colour, alpha=alpha, lw=0)


Values = Floats | pd.DataFrame


def plot_series(
    *series: Values,
    phases: Sequence[Ints] = (),
    names: Sequence[str] | None = None,
    palette: Mapping[int, str] | None = None,
    words: tuple[str, ...] = ("true", "other"),
    shaded: bool = True,
    time_s: Floats | None = None,
    file: Path | str | None = None,
) -> Figure:
    """Draw a series, one row per metric, or two over each other, with strips of phases above.

    Parameters
    ----------
    series : array or DataFrame
        One, or two such as a true and a generated one.
    phases : sequence of arrays
        None, or those of each series.
    words : tuple of str
        What to call each of two series.
    shaded : bool, default=True
        Colour the background of a single series by phase.
    time_s : array, optional
        When the samples were taken: the axis has dates, or the time since the first one, instead
        of numbers of samples.
    """
    words = words if len(series) > 1 else ()
    arrays, columns = _checked(series, phases, names)
    strips = len(phases)
    with canvas(1.5 * WIDTH_IN, 0.45 * strips + 1.5 * len(columns) + 0.5) as figure:
        grid = figure.add_gridspec(
            strips + len(columns), 1, height_ratios=[0.3] * strips + [1.0] * len(columns)
        )
        first: Axes | None = None
        for row in range(strips + len(columns)):
            axes = figure.add_subplot(grid[row], sharex=first)
            first = first or axes
            last = row == strips + len(columns) - 1
            axes.tick_params(labelbottom=last)
            axes.set_xlim(-0.5, max(map(len, arrays)) - 0.5)
            if row < strips:
                _strip(axes, phases[row], palette, words[row] if words else "phase")
                continue
            place = row - strips
            for number, values in enumerate(arrays):
                told = words[number] if words else None
                axes.plot(values[:, place], lw=1.3, ls=("-", (0, (4, 2)))[number], label=told)
            if shaded and len(phases) == 1:
                shade(axes, np.asarray(phases[0]), palette, 0.12)
            axes.set_title(short(columns[place], 60))
            if words and place == 0:
                axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=len(words))
            if last:
                sample_clock(axes, time_s)
        if phases:
            phase_legend(figure, phases, palette)
    if file:
        save_file(figure, file)
    return figure


#: seconds between ticks of a clock
_TICKS_S = (
    1, 2, 5, 10, 15, 30, *(60 * n for n in (1, 2, 5, 10, 15, 30)),
    *(3600 * n for n in (1, 2, 3, 6, 12)), *(86400 * n for n in (1, 2, 7, 14, 30, 90, 365)),
)  # fmt: skip
_MOST_TICKS = 7


def sample_clock(axes: Axes, time_s: Floats | None) -> None:
    """Label an axis of samples with their times: dates if these are dates, else time since then."""
    if time_s is None or len(time_s) < 2:
        axes.set_xlabel("sample")
        return
    first, last = float(time_s[0]), float(time_s[-1])
    dated = date_of(first, "unix") is not None
    zero = 0.0 if dated else first
    step = next((one for one in _TICKS_S if (last - first) / one <= _MOST_TICKS), _TICKS_S[-1])
    wanted = np.arange(np.ceil((first - zero) / step), np.floor((last - zero) / step) + 1) * step
    places = np.interp(wanted + zero, time_s, np.arange(len(time_s)))
    # the ticks of a pause in the series would lie on each other
    apart = np.diff(places, prepend=-np.inf) > 0.04 * len(time_s)
    axes.set_xticks(places[apart], _moments(wanted[apart], step, dated))
    axes.set_xlabel("date and time" if dated else "time since the first sample")


def _moments(times: Floats, step: float, dated: bool) -> list[str]:
    """Return the words at ticks; the day where it begins."""
    if not dated:
        return [units.duration(float(one)) for one in times]
    told, day = [], ""
    for moment in filter(None, (date_of(float(one), "unix") for one in times)):
        today = f"{moment:%Y-%m-%d}"
        clock = f"{moment:%H:%M:%S}" if step < 60 else f"{moment:%H:%M}"
        told.append(today if step >= 86400 else clock if today == day else f"{clock}\n{today}")
        day = today
    return told


def plot_phase_boxes(
    values: Floats,
    phases: Ints,
    *,
    names: Sequence[str] = ("CPU", "memory"),
    palette: Mapping[int, str] | None = None,
    file: Path | str | None = None,
) -> Figure:
    """Draw boxes of each metric by phase, and bars of how often each phase occurs."""
    present = [int(one) for one in np.unique(phases) if one >= 0]
    colours = [phase_colour(one, palette) for one in present]
    labels = [str(one) for one in present]
    with canvas(2.2 * WIDTH_IN, 3.6) as figure:
        *boxed, counted = figure.subplots(1, len(names) + 1)
        for place, (axes, name) in enumerate(zip(boxed, names, strict=True)):
            boxes = axes.boxplot(
                [values[phases == one, place] for one in present],
                tick_labels=labels,
                patch_artist=True,
                flierprops={"markersize": 2},
                medianprops={"color": "#1f2328"},
            )
            for box, colour in zip(boxes["boxes"], colours, strict=True):
                box.set_facecolor(colour)
            axes.set_title(name)
            axes.set_xlabel("phase")
            axes.set_ylabel("standard score")
        counted.bar(labels, [int((phases == one).sum()) for one in present], color=colours)
        count_axis(counted.yaxis)
        counted.set_title("Samples by phase")
        counted.set_xlabel("phase")
    if file:
        save_file(figure, file)
    return figure


def _checked(
    series: Sequence[Values], phases: Sequence[Ints], names: Sequence[str] | None
) -> tuple[list[Floats], list[str]]:
    arrays = []
    columns = list(names) if names else None
    for one in series:
        if isinstance(one, pd.DataFrame):
            columns = columns or [str(name) for name in one.columns]
        values = np.asarray(one, dtype=np.float64)
        arrays.append(values[:, None] if values.ndim == 1 else values)
    width = arrays[0].shape[1]
    columns = columns or [f"metric {place}" for place in range(width)]
    if any(one.shape[1] != width for one in arrays) or len(columns) != width:
        raise ParameterError(
            f"the series have {' and '.join(str(one.shape[1]) for one in arrays)} metrics and "
            f"there are {len(columns)} names. Give as many of each."
        )
    for values, labels in zip(arrays, phases, strict=False):
        if len(values) != len(labels):
            raise ParameterError(
                f"a series has {len(values)} samples and {len(labels)} phases. Give one per sample."
            )
    return arrays, columns


def _strip(axes: Axes, phases: Ints, palette: Mapping[int, str] | None, words: str) -> None:
    shade(axes, np.asarray(phases), palette, 1.0)
    axes.set_yticks([])
    axes.grid(False)
    axes.set_ylabel(words, rotation=0, ha="right", va="center")


def phase_legend(
    figure: Figure, phases: Sequence[Ints], palette: Mapping[int, str] | None = None
) -> None:
    """Say below a figure which colour is which phase."""
    from matplotlib.patches import Patch

    present = sorted({int(one) for labels in phases for one in np.unique(labels)})
    handles = [
        Patch(color=phase_colour(one, palette), label=str(one) if one >= 0 else "none yet")
        for one in present
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 12))


def save_file(figure: Figure, file: Path | str) -> None:
    """Write a figure to a file of any format that matplotlib knows."""
    try:
        figure.savefig(Path(file), dpi=120)
    except OSError as cause:
        raise storage_error(cause, Path(file)) from cause
