"""Figures of a validation: observed against simulated waits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prophase.plots.style import (
    COLOURS,
    MUTED,
    draw,
    legend,
    line_style,
    percent_axis,
    time_axis,
)
from prophase.result import Picture
from prophase.result.short_names import short
from prophase.sim.validation.wait_validation import ALL, Validation

#: waits below a second are drawn at one: a log scale has no zero
_SHORTEST_S = 1.0
_SHARES = np.r_[np.linspace(0.01, 0.99, 99), 0.995, 0.999]
_MOST_CLASSES = 6


def validation_figures(found: Validation) -> Iterator[Picture]:
    """Yield each figure."""
    yield Picture(
        "wait-distributions",
        wait_distributions(found.jobs),
        "Share of all jobs that waited at most this long; waits under a second are drawn there.",
        section="waits",
    )
    yield Picture(
        "wait-quantiles",
        wait_quantiles(found),
        "Quantiles of simulated against observed waits: a right simulation lies on the line.",
        section="waits",
    )


def wait_distributions(jobs: pd.DataFrame) -> Figure:
    """Draw both distribution functions of the wait."""
    waits = {"observed": jobs["observed_s"].to_numpy(), "simulated": jobs["simulated_s"].to_numpy()}
    high = max(60.0, *(float(values.max()) for values in waits.values()))

    def paint(axes: Axes) -> None:
        shares = np.arange(1, len(jobs) + 1) / len(jobs)
        for place, (name, values) in enumerate(waits.items()):
            # from the left edge, so that those who did not wait show as a step
            x = np.r_[_SHORTEST_S, np.maximum(np.sort(values), _SHORTEST_S), high]
            axes.step(x, np.r_[0, shares, 1], where="post", label=name, **line_style(place))
        time_axis(axes.xaxis, _SHORTEST_S, high)
        percent_axis(axes.yaxis)
        axes.set_xlabel("wait (log scale)")
        axes.set_ylabel("share of jobs at or below")
        legend(axes, loc="upper left")

    return draw(paint, title="Distribution of the wait")


def wait_quantiles(found: Validation) -> Figure:
    """Draw quantiles of simulated against observed waits, all jobs and the largest classes."""
    jobs = found.jobs
    sizes = jobs["class"].value_counts()
    enough = sizes.index[sizes >= found.thresholds.least_jobs]
    shown = [ALL, *enough[:_MOST_CLASSES]] if len(enough) > 1 else [ALL]
    curves = {}
    for name in shown:
        rows = jobs if name == ALL else jobs[jobs["class"] == name]
        # beyond this, quantiles of few jobs are single jobs
        shares = _SHARES[(1 - _SHARES) * len(rows) >= 1]
        curves[name] = [
            np.maximum(np.quantile(rows[column], shares), _SHORTEST_S)
            for column in ("observed_s", "simulated_s")
        ]
    high = max(60.0, *(float(side.max()) for curve in curves.values() for side in curve)) * 1.5

    def paint(axes: Axes) -> None:
        ends = np.array([_SHORTEST_S, high])
        limit = found.thresholds.quantile_error
        axes.fill_between(
            ends, ends * (1 - limit), ends * (1 + limit), color=MUTED, alpha=0.15, linewidth=0
        )
        axes.plot(ends, ends, color=MUTED, linewidth=1)
        for place, (name, (observed, simulated)) in enumerate(curves.items()):
            style = line_style(place) if name != ALL else {"color": COLOURS[0], "linewidth": 2.4}
            axes.plot(observed, simulated, label=short(name), **style)
        time_axis(axes.xaxis, _SHORTEST_S, high)
        time_axis(axes.yaxis, _SHORTEST_S, high)
        axes.set_xlabel("observed wait")
        axes.set_ylabel("simulated wait")
        legend(axes, loc="upper left")

    return draw(paint, title="Simulated against observed quantiles", height_in=4.4)
