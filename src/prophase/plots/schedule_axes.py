"""The time axis of a schedule: dates where the trace has them, else hours or days."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import date2num

from prophase.plots.arrivals import trace_time_axis
from prophase.sim.signatures import Floats


def clock_axis(axes: Axes, edges: Floats, clock: str) -> Callable[[Floats], Floats]:
    """Label the x axis from the first edge to the last; return what maps seconds to places."""
    mapped = trace_time_axis(axes, float(edges[0]), float(edges[-1]), clock)

    def place(times: Floats) -> Floats:
        found = mapped(times)
        # dates come as a list; boxes and images are drawn in numbers
        places = date2num(found) if isinstance(found, list) else found  # type: ignore[no-untyped-call]
        return np.asarray(places, np.float64)

    axes.set_xlim(*place(edges[[0, -1]]))
    return place
