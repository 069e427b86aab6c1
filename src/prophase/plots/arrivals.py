"""Figures of arrivals: over the trace, by hour, by weekday, and how bursty they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from prophase.plots.style import COLOURS, MUTED, count_axis, draw, note, time_axis
from prophase.trace.describe.arrivals import Arrivals
from prophase.trace.describe.trace_clock import DAY_S, WEEKDAYS, date_of, knows_weekdays

_BIN_WORDS = {60.0: "minute", 600.0: "10 minutes", 3600.0: "hour", 21600.0: "6 hours"}


def trace_time_axis(axes: Axes, first_s: float, last_s: float, clock: str) -> Any:
    """Label an axis with dates if the clock has them, else with days; returns what maps times."""
    if date_of(first_s, clock) is not None and date_of(last_s, clock) is not None:
        locator: Any = AutoDateLocator(maxticks=8)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(
            ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        )
        return lambda times: [date_of(float(time), clock) for time in times]
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    hours = last_s - first_s < 3 * DAY_S
    axes.set_xlabel("hours since the trace's zero" if hours else "days since the trace's zero")
    return lambda times: np.asarray(times) / (3600.0 if hours else DAY_S)


def arrivals_over_time(arrivals: Arrivals) -> Figure:
    """Draw arrivals per bin from the beginning of the trace to its end."""
    series = arrivals.over_time
    word = _BIN_WORDS.get(series.width_s, "day" if series.width_s == DAY_S else "bin")
    edges = series.first_s + series.width_s * np.arange(len(series.counts) + 1)

    def paint(axes: Axes) -> None:
        place = trace_time_axis(axes, float(edges[0]), float(edges[-1]), arrivals.clock)
        axes.stairs(series.counts, place(edges), fill=True, color=COLOURS[0], linewidth=0)
        axes.set_ylabel(f"{_what(arrivals)} per {word}")
        axes.set_ylim(bottom=0)
        count_axis(axes.yaxis)

    return draw(paint, title="Arrivals over time")


def arrivals_by_hour(arrivals: Arrivals) -> Figure:
    """Draw mean arrivals per hour at each hour of the day."""

    def paint(axes: Axes) -> None:
        axes.bar(np.arange(24) + 0.5, np.nan_to_num(arrivals.by_hour), 0.85, color=COLOURS[0])
        axes.axhline(arrivals.per_hour, color=MUTED, linestyle="--", linewidth=1)
        note(axes, "mean", (24, arrivals.per_hour), (4, 0), 9, va="center")
        axes.set_xlim(0, 24)
        axes.set_xticks(range(0, 25, 3))
        known = knows_weekdays(arrivals.clock)
        where = " (UTC)" if arrivals.clock == "unix" else ""
        axes.set_xlabel(f"hour of the day{where}" if known else "hour after the trace's zero")
        axes.set_ylabel(f"{_what(arrivals)} per hour")
        axes.grid(visible=False, axis="x")

    return draw(paint, title="Daily pattern")


def arrivals_by_weekday(arrivals: Arrivals) -> Figure:
    """Draw mean arrivals per day on each day of the week."""

    def paint(axes: Axes) -> None:
        axes.bar(range(7), 24 * np.nan_to_num(arrivals.by_weekday), 0.75, color=COLOURS[0])
        names = WEEKDAYS if knows_weekdays(arrivals.clock) else [f"day {n}" for n in range(1, 8)]
        axes.set_xticks(range(7), names)
        axes.set_ylabel(f"{_what(arrivals)} per day")
        count_axis(axes.yaxis)
        axes.grid(visible=False, axis="x")

    return draw(paint, title="Weekly pattern")


def _what(arrivals: Arrivals) -> str:
    return "starts" if arrivals.basis == "start_s" else "arrivals"


def burstiness(arrivals: Arrivals) -> Figure:
    """Draw variance over mean of counts against the width of the window."""
    widths = [window.width_s for window in arrivals.dispersion]
    values = [window.dispersion for window in arrivals.dispersion]

    def paint(axes: Axes) -> None:
        axes.plot(widths, values, marker="o", color=COLOURS[0])
        axes.axhline(1.0, color=COLOURS[1], linestyle="--", linewidth=1.2)
        axes.annotate(
            "Poisson", (widths[-1], 1.0), color=COLOURS[1], fontsize=9, va="bottom", ha="right"
        )
        time_axis(axes.xaxis, min(widths) / 1.5, max(widths) * 1.5)
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
        count_axis(axes.yaxis)
        top = max([*values, 1.0])
        axes.set_ylim(min([*values, 1.0]) / 2, max(top * 2, 20))
        axes.set_xlabel("width of the window")
        axes.set_ylabel("variance / mean of counts")

    return draw(paint, title="Burstiness")
