"""Every figure of a schedule, by name, in the order they are shown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from prophase.plots.distributions import curves
from prophase.plots.schedule_gantt import gantt
from prophase.plots.schedule_over_time import queue_over_time, states_by_type, states_over_time
from prophase.result import Picture
from prophase.sim import Schedule
from prophase.sim.measures.job_classes import groups_of
from prophase.sim.measures.state_curves import queue_curves, state_curves
from prophase.sim.signatures import Floats
from prophase.trace.describe.distribution import Curve, curve_of

_MOST_CURVES = 7
#: with so few jobs a smooth line would claim too much
_FEW = 100


def schedule_figures(
    schedule: Schedule, *, by: str | None = None, clock: str = ""
) -> Iterator[Picture]:
    """Yield the figures that the schedule has numbers for, one at a time.

    Parameters
    ----------
    by : str, optional
        Classes that waits and bars are told apart by; length and GPUs if not given.
    clock : str
        What the trace's seconds count from: decides between dates and days.
    """
    states, last_s = state_curves(schedule), float(schedule.workload.submit_s.max())
    if states:
        yield _picture(
            "states",
            states_over_time(states[0], clock, last_s),
            f"{states[0].unit} in use and idle, averaged over {len(states[0].used):,} bins of "
            "time.",
        )
    if len(states) > 2:
        yield _picture(
            "states-by-type",
            states_by_type(states[1:], clock),
            "The same by GPU type, most GPUs first; every type has a scale of its own.",
        )
    if np.nanmax(schedule.wait_s, initial=0.0) > 0:
        jobs, gpus = queue_curves(schedule)
        yield _picture(
            "queue",
            queue_over_time(jobs, gpus, schedule.edges, clock, last_s),
            "Jobs that wait, between attempts too, and the GPUs they ask for; after the last "
            "submission the queue only empties.",
        )
        yield _waits(schedule, by or "class")
    drawn = gantt(schedule, clock, by=by or "class")
    if drawn is not None:
        yield _picture("nodes", drawn, "When each node was busy: dark is full, light is idle.")


def _picture(key: str, figure: Figure, caption: str) -> Picture:
    return Picture(key, figure, caption, section="over_time")


def _waits(schedule: Schedule, by: str) -> Picture:
    """Draw the distribution of waits, of all jobs and of the largest classes."""
    rows = {"all jobs": np.arange(len(schedule.workload))}
    classes = sorted(groups_of(schedule.workload, by).rows(), key=lambda pair: -len(pair[1]))
    if len(classes) > 1:
        rows |= dict(classes[:_MOST_CURVES])
    longest = float(np.nanmax(schedule.wait_s))
    found = {name: _cdf(schedule.wait_s[some], longest) for name, some in rows.items()}
    return _picture(
        "waits",
        curves(found, what="wait", title=f"Waits by {by}" if len(found) > 1 else "Waits"),
        "Share of jobs that waited at most so long; where a line comes in on the left is the "
        "share that did not wait at all. Jobs per class in brackets.",
    )


def _cdf(waits: Floats, longest: float) -> Curve:
    """Return the distribution of waits up to the longest of all classes, few jobs as steps."""
    known = np.sort(waits[np.isfinite(waits)])
    if known.size > _FEW:
        curve = curve_of(known)
        return Curve((*curve.shares, 1.0), (*curve.values, longest), curve.count)
    steps = np.repeat(np.arange(known.size + 1) / max(known.size, 1), 2)[1:]
    values = np.r_[np.repeat(known, 2), longest]
    return Curve(tuple(steps.tolist()), tuple(values.tolist()), known.size)
