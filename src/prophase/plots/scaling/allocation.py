"""Allocation against usage, a strip per policy, for one series."""

from __future__ import annotations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from prophase.phase.scale import Comparison, Fleet
from prophase.plots.style import COLOURS, MUTED, short, styled

_STRIP_IN = 1.15


def allocation_figure(found: Comparison, series: str | None = None) -> Figure:
    """Draw what each policy allocates to a series and what the series uses.

    Parameters
    ----------
    series : str, optional
        Name of a test series. The one whose use varies most like the others' if not given.
    """
    run = _run_of(found.test, series)
    test = found.test
    inside = slice(int(test.run_start[run]), int(test.run_start[run] + test.lengths[run]))
    use = test.use[inside]
    hours = np.arange(len(use)) * test.step_s / 3600
    count = len(found.judged)
    with styled():
        figure = Figure(figsize=(8.0, _STRIP_IN * count + 0.8))
        FigureCanvasAgg(figure)
        strips = np.ravel(figure.subplots(count, 1, sharex=True, sharey=True))
        for axes, one in zip(strips, found.judged, strict=True):
            given = test.per_sample(one.allocation)[inside]
            above = use > given
            axes.fill_between(hours, use, step="post", color=MUTED, alpha=0.25, linewidth=0)
            axes.step(hours, use, where="post", color=MUTED, linewidth=0.8, label="use")
            axes.step(hours, given, where="post", color=COLOURS[0], linewidth=1.3)
            axes.plot(hours[above], use[above], ".", color=COLOURS[1], markersize=3)
            ratio = given.sum() / use.sum() if use.sum() > 0 else float("nan")
            axes.set_title(
                f"{one.policy}: {ratio:.2f} allocated per used, "
                f"{100 * (1 - above.mean()):.1f} % satisfied",
                fontsize=9,
                fontweight="normal",
            )
            axes.set_ylim(bottom=0)
        # a policy that gives ten times the use must not flatten all others
        top = max(
            float(use.max()) * 1.3,
            max(
                float(np.quantile(test.per_sample(one.allocation)[inside], 0.9)) * 1.05
                for one in found.judged
                if one.policy != "static"
            ),
        )
        strips[0].set_ylim(0, min(top, 3 * float(use.max()) or 1.0))
        strips[-1].set_xlabel("hours since the start of the run")
        figure.supylabel(test.metric, fontsize=10)
        figure.suptitle(
            f"Allocation (blue) and use (grey) of {short(test.series_id[run])}; "
            "orange: use above allocation",
            fontsize=11,
            fontweight="bold",
        )
    return figure


def _run_of(fleet: Fleet, series: str | None) -> int:
    """Return the run to draw: of the named series, or one of middling restlessness."""
    parts = list(fleet.runs())
    if series is not None:
        return max(
            (place for place, name in enumerate(fleet.series_id) if name == series),
            key=lambda place: fleet.lengths[place],
        )
    long = np.flatnonzero(fleet.lengths >= np.quantile(fleet.lengths, 0.5))
    restless = np.array(
        [fleet.use[parts[r]].std() / max(fleet.use[parts[r]].mean(), 1e-12) for r in long]
    )
    return int(long[np.argsort(restless)[len(long) // 2]])
