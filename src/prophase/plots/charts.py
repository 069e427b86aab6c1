"""Draw the charts of a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from prophase import units
from prophase.plots.style import WIDTH_IN, draw, legend_below, line_style, note, tooltip
from prophase.result.chart import Chart
from prophase.result.colours import COLOURS, INK, MUTED, PAPER
from prophase.result.short_names import short_names

#: characters of a title that fit into one line; names of rows leave less room
_TITLE_WIDTH = {"bars": 44, "intervals": 44, "lines": 62, "points": 62}

#: share of the longest bar below which a bar cannot be seen
_NOTHING = 1e-4
#: dots of a line that say their number
_MOST_TOOLTIPS = 200
#: characters of a row's name that fit into one line
_NAME_WIDTH = 34
#: of a figure for a phone: its width, and the share of letters that fit into a line
_NARROW_IN, _NARROW_SHARE = 4.0, 0.62


def draw_chart(chart: Chart, *, narrow: bool = False) -> Figure:
    """Return the figure of a chart; ``narrow`` is for a phone.

    Examples
    --------
    >>> rows = [{"order": "fifo", "wait_s": 60.0}, {"order": "shortest", "wait_s": 20.0}]
    >>> chart = Chart("waits", "Waits", "bars", rows, x="order", y=["wait_s"], unit="s")
    >>> draw_chart(chart).axes[0].get_xlabel()
    's'
    """
    paint = {"bars": _bars, "intervals": _intervals, "lines": _lines, "points": _points}
    height = 3.5
    if chart.kind == "bars":
        height = 1.2 + 0.3 * len(chart.rows) * max(1.0, 0.75 * len(chart.y))
    elif chart.kind == "intervals":
        height = 1.2 + 0.34 * len(chart.rows)
    share = _NARROW_SHARE if narrow else 1.0
    return draw(
        lambda axes: paint[chart.kind](axes, chart, share),
        title="\n".join(wrap(chart.title, int(share * _TITLE_WIDTH[chart.kind]))),
        width_in=_NARROW_IN if narrow else WIDTH_IN,
        height_in=min(9.0, max(2.0, height)),
    )


def _bars(axes: Axes, chart: Chart, share: float) -> None:
    """Draw a group of horizontal bars per row, with whiskers where there is an interval."""
    places = np.arange(len(chart.rows))
    width = 0.78 / len(chart.y)
    top = max((abs(_number(row.get(name))) for row in chart.rows for name in chart.y), default=0.0)
    for nth, column in enumerate(chart.y):
        at = places + (nth - (len(chart.y) - 1) / 2) * width
        values = [_number(row.get(column)) for row in chart.rows]
        colour = COLOURS[nth % len(COLOURS)]
        drawn = axes.barh(at, values, width * 0.92, color=colour, label=_words(column))
        for bar, row in zip(drawn, chart.rows, strict=True):
            tooltip(bar, _told(chart, row, column))
        for place, row, value in zip(at, chart.rows, values, strict=True):
            low, high = _ends(row, column)
            if not math.isnan(low):
                axes.plot([low, high], [place, place], color=INK, linewidth=1.2)
            edge = value if math.isnan(high) else max(value, high)
            if not math.isnan(edge):
                note(
                    axes,
                    _short_number(value, top),
                    (edge, place),
                    (4, 0),
                    8.5,
                    va="center",
                    color=INK,
                )
    _label_rows(axes, chart, share)
    axes.margins(x=0.14)
    legend_below(axes)


def _intervals(axes: Axes, chart: Chart, share: float) -> None:
    """Draw a dot per row and column on its interval."""
    gap = 0.5 / len(chart.y)
    for nth, column in enumerate(chart.y):
        colour = COLOURS[nth % len(COLOURS)]
        for place, row in enumerate(chart.rows):
            at = place + (nth - (len(chart.y) - 1) / 2) * gap
            low, high = _ends(row, column)
            if not math.isnan(low):
                axes.plot([low, high], [at, at], color=colour, linewidth=2.2, alpha=0.6)
            (dot,) = axes.plot(
                _number(row.get(column)), at, "o", color=colour, markersize=6,
                markeredgecolor=PAPER, label=_words(column) if place == 0 else None,
            )  # fmt: skip
            tooltip(dot, _told(chart, row, column))
    _label_rows(axes, chart, share)
    legend_below(axes)


def _lines(axes: Axes, chart: Chart, share: float) -> None:
    """Draw each column over x, with a band where there is an interval."""
    at = [_number(row.get(chart.x)) for row in chart.rows]
    for nth, column in enumerate(chart.y):
        style = line_style(nth)
        values = [_number(row.get(column)) for row in chart.rows]
        axes.plot(at, values, label=_words(column), **style)
        _dots(axes, chart, column, 3.5, style["color"])
        ends = [_ends(row, column) for row in chart.rows]
        if not all(math.isnan(low) for low, _ in ends):
            axes.fill_between(
                at, [low for low, _ in ends], [high for _, high in ends],
                color=style["color"], alpha=0.18, linewidth=0,
            )  # fmt: skip
    axes.set_xlabel(chart.x_title or _words(chart.x))
    axes.set_ylabel(chart.unit)
    if chart.log:
        axes.set_yscale("log")
    if chart.reference is not None:
        axes.axhline(chart.reference, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.2)
    legend_below(axes)


def _points(axes: Axes, chart: Chart, share: float) -> None:
    """Draw y against x with the diagonal on which both agree."""
    at = [_number(row.get(chart.x)) for row in chart.rows]
    seen: list[float] = [value for value in at if not math.isnan(value)]
    for nth, column in enumerate(chart.y):
        values = [_number(row.get(column)) for row in chart.rows]
        seen += [value for value in values if not math.isnan(value)]
        axes.plot([], [], "o", color=COLOURS[nth], markersize=6, label=_words(column))
        _dots(axes, chart, column, 6, COLOURS[nth])
    if seen:
        ends = [min(seen), max(seen)]
        axes.plot(ends, ends, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.2)
    if chart.log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_xlabel(chart.x_title or _words(chart.x))
    axes.set_ylabel(chart.unit)
    legend_below(axes)


def _dots(axes: Axes, chart: Chart, column: str, size: float, colour: str) -> None:
    """Draw a dot per row; up to so many of them that a page stays small, they say their number."""
    at = [_number(row.get(chart.x)) for row in chart.rows]
    values = [_number(row.get(column)) for row in chart.rows]
    if len(chart.rows) > _MOST_TOOLTIPS:
        axes.plot(at, values, "o", color=colour, markersize=size)
        return
    for x, y, row in zip(at, values, chart.rows, strict=True):
        (dot,) = axes.plot(x, y, "o", color=colour, markersize=size)
        tooltip(dot, _told(chart, row, column))


def _told(chart: Chart, row: Mapping[str, object], column: str) -> str:
    """Return what the pointer shows over a number: whose it is, which, its interval and unit."""
    low, high = _ends(row, column)
    value = units.estimate(_number(row.get(column)), low, high, missing="unknown")
    whose = units.cell(row[chart.x])
    name = "" if len(chart.y) == 1 else f", {_words(column)}"
    return f"{whose}{name}: {value} {chart.unit}".rstrip()


def _label_rows(axes: Axes, chart: Chart, share: float) -> None:
    """Name the rows on the left, the first on top, and put the unit below."""
    names = _row_names([str(row[chart.x]) for row in chart.rows], int(share * _NAME_WIDTH))
    axes.set_yticks(range(len(chart.rows)), names)
    axes.set_ylim(len(chart.rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(chart.unit)
    if chart.log:
        axes.set_xscale("log")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6 if share == 1 else 4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,.10g}"))
    if chart.reference is not None:
        axes.axvline(chart.reference, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.2)


def _row_names(names: list[str], width: int) -> list[str]:
    """Return each name on one line, or broken into two between words."""
    wrapped = [wrap(name, width) for name in names]
    cut = short_names(names, width)
    return [
        "\n".join(lines) if len(lines) == 2 else short_name
        for lines, short_name in zip(wrapped, cut, strict=True)
    ]


def _ends(row: Mapping[str, object], column: str) -> tuple[float, float]:
    return _number(row.get(f"{column}_low")), _number(row.get(f"{column}_high"))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _short_number(value: float, top: float) -> str:
    """Write the number at a bar; what is nothing beside the longest bar is told as that."""
    if 0 < abs(value) < _NOTHING * top:
        return "~0"
    return units.number(value)


def _words(column: str) -> str:
    return column.replace("_", " ")
