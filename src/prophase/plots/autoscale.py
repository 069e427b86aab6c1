"""Figures of allocations: one series under each policy, and what satisfaction costs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from prophase.autoscale.fleet import Fleet
from prophase.autoscale.policy_comparison import PolicyComparison
from prophase.plots.style import COLOURS, DASHES, INK, MUTED, canvas, draw
from prophase.result.short_names import short

_STRIP_IN = 1.15


def allocation_figure(found: PolicyComparison, series: str | None = None) -> Figure:
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
    with canvas(8.0, _STRIP_IN * count + 0.8) as figure:
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


_TICKS = (50.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9)
_MARKERS = "osD^vP*X<>dp"


def frontier_figure(points: pd.DataFrame, found: PolicyComparison) -> Figure:
    """Draw satisfaction against allocation, a line per policy; up and left is better.

    Parameters
    ----------
    points : DataFrame
        What `frontier` returns.
    """

    def paint(axes: Axes) -> None:
        place = 0
        for policy, rows in points.groupby("policy", sort=False):
            unmet = np.maximum(100 - rows["satisfied_pct"].to_numpy(), 0.05)
            ratio = rows["allocation_over_usage"].to_numpy()
            if policy == "oracle":
                axes.axvline(ratio[0], color=INK, linewidth=1, linestyle=":", label="oracle")
                continue
            axes.plot(
                ratio,
                unmet,
                color=COLOURS[place % len(COLOURS)],
                linestyle=DASHES[place // len(COLOURS)] if len(rows) > 1 else "",
                marker=_MARKERS[place % len(_MARKERS)],
                markersize=4,
                linewidth=1.4,
                label=str(policy),
            )
            place += 1
        axes.axhline(100 - 100 * found.target, color=MUTED, linestyle="--", linewidth=1)
        axes.set_yscale("log")
        axes.invert_yaxis()
        low, high = axes.get_ylim()
        shown = [tick for tick in _TICKS if high <= 100 - tick <= low]
        axes.yaxis.set_major_locator(FixedLocator([100 - tick for tick in shown]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{100 - at:g} %"))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("allocation / usage")
        axes.set_ylabel("samples satisfied (log scale)")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    title = f"{found.test.metric}: what satisfaction costs"
    return draw(paint, title=title, width_in=7.5, height_in=4.2)
