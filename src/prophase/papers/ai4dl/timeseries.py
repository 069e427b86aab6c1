"""Series of AI4DL with the names of its module ``timeseries``: read, made longer, drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, MissingColumnError, ParameterError, not_among
from prophase.phase.augmentation import compressed, duplicated, side_by_side, stretched
from prophase.plots.phase_series import plot_series, save_file
from prophase.plots.style import WIDTH_IN, canvas
from prophase.trace.series.usage_series import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Floats | pd.DataFrame


@dataclass(frozen=True)
class PlotOptions:
    """How figures look; the names and defaults of the original."""

    column_names: Sequence[str] = ()
    fig_size: tuple[float, float] = (20, 10)
    #: of titles
    color: str = "red"
    font_size: float = 20
    #: of the numbers along the axes
    label_size: float = 15
    dist_between_subplots: float = 3.0
    y_lim: tuple[float, float] = (0, 1)
    y_ticks_delta: float = 0.25
    #: where ticks stand beside the strips of phases
    y_phase_values: Sequence[float] = ()
    #: phases also behind the series
    merge_phases: bool = False
    file_to_save: str = ""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> PlotOptions:
        """Return options by name; an unknown one is refused."""
        known = [one.name for one in fields(cls)]
        for name in options:
            if name not in known:
                raise ParameterError(not_among(f"there is no plot option {name!r}.", name, known))
        return cls(**options)


def read_triplets(path: Path | str) -> list[list[pd.DataFrame]]:
    """Return executions in threes: two alone, and both of them at once.

    Files are taken in the order of their names; hidden ones are no executions.
    """
    files = sorted(one for one in Path(path).glob("*") if not one.name.startswith("."))
    if not files or len(files) % 3:
        raise InputError(
            f"{path}: has {len(files)} files. Executions come in threes: one, another, and both "
            "at once."
        )
    tables = [pd.read_csv(one) for one in files]
    return [tables[place : place + 3] for place in range(0, len(tables), 3)]


def build_duplicated_workloads(workloads: Sequence[Values]) -> list[Floats]:
    """Return every workload twice in a row."""
    return [duplicated(np.asarray(one, np.float64)) for one in workloads]


def build_streched_workloads(workloads: Sequence[Values]) -> list[Floats]:
    """Return workloads at half the speed; the name is the original's."""
    return [stretched(np.asarray(one, np.float64)) for one in workloads]


def build_compressed_workloads(
    workloads: Sequence[Values], compression_rate: int = 4, add_noise: bool = False
) -> list[Floats]:
    """Return workloads at a multiple of their speed; what is left over at the end counts too."""
    noise = 0.5 if add_noise else 0.0
    values = [np.asarray(one, np.float64) for one in workloads]
    return [compressed(one, compression_rate, noise=noise) for one in values]


def hstack_with_padding(timeseries_a: Floats, timeseries_b: Floats) -> Floats:
    """Return two series beside each other, the shorter one filled with zeros."""
    return side_by_side(timeseries_a, timeseries_b)


def plot_barplots_triplets(
    datasets: Sequence[Sequence[pd.DataFrame]], resource: str, function: str
) -> Figure:
    """Draw the maximum or mean of a column for each execution of each triplet."""
    if function not in ("max", "mean"):
        raise ParameterError(f"function is {function!r}. Pass max or mean.")
    for one in datasets:
        if any(resource not in table for table in one):
            raise MissingColumnError(f"some executions have no column {resource!r}.")
    rows = [[getattr(table[resource], function)() for table in one] for one in datasets]
    found = pd.DataFrame(rows, columns=[f"{resource}_{name}" for name in ("A", "B", "AB")])
    with canvas(WIDTH_IN, 3.0) as figure:
        found.plot(kind="bar", ax=figure.subplots())
    return figure


def plot_timeseries(timeseries: Values, **options: Any) -> Figure:
    """Draw a series, one row per metric; see `PlotOptions`."""
    return _drawn([timeseries], [], None, options)


def plot_timeseries_overlaped(timeseries_1: Values, timeseries_2: Values, **options: Any) -> Figure:
    """Draw two series over each other; the name is the original's."""
    return _drawn([timeseries_1, timeseries_2], [], None, options)


def plot_timeseries_with_phases(
    timeseries: Values, phases: Ints, num_to_color: Mapping[int, str] | None = None, **options: Any
) -> Figure:
    """Draw a series under a strip of its phases; see `PlotOptions`."""
    return _drawn([timeseries], [phases], num_to_color, options)


def plot_timeseries_overlaped_with_phases(
    timeseries_1: Values,
    timeseries_2: Values,
    phases_1: Ints,
    phases_2: Ints,
    num_to_color: Mapping[int, str] | None = None,
    **options: Any,
) -> Figure:
    """Draw a true and a generated series over each other, under strips of their phases."""
    series, phases = [timeseries_1, timeseries_2], [phases_1, phases_2]
    return _drawn(series, phases, num_to_color, options)


def _drawn(
    series: Sequence[Values],
    phases: Sequence[Ints],
    palette: Mapping[int, str] | None,
    options: Mapping[str, Any],
) -> Figure:
    asked = PlotOptions.of(options)
    labels = [np.asarray(one).reshape(-1) for one in phases]
    figure = plot_series(
        *series, phases=labels, names=asked.column_names or None, palette=palette,
        words=("true trace", "generated trace"), shaded=asked.merge_phases,
    )  # fmt: skip
    figure.set_size_inches(*asked.fig_size)
    engine: Any = figure.get_layout_engine()
    if engine is not None:
        # in font sizes, as the original has it
        engine.set(h_pad=asked.dist_between_subplots * asked.font_size / 72 / 2)
    for place, axes in enumerate(figure.axes):
        axes.tick_params(labelsize=asked.label_size)
        if place < len(phases):
            axes.set_yticks(list(asked.y_phase_values))
            continue
        # the house writes titles to the left
        title = axes.get_title() or axes.get_title("left")
        axes.set_title("", loc="left")
        axes.set_title(title, loc="center", color=asked.color, fontsize=asked.font_size)
        axes.set_yticks(np.arange(*asked.y_lim, asked.y_ticks_delta))
        axes.set_ylim(*asked.y_lim)
    if asked.file_to_save:
        save_file(figure, asked.file_to_save)
    return figure
