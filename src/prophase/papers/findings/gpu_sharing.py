"""What sharing of GPUs saves, and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prophase.papers.findings.finding import (
    FigureDefinition,
    PublishedFinding,
    column,
    published_only,
)
from prophase.trace.describe.column_arrays import Floats
from prophase.trace.describe.job_counts import instances_of
from prophase.trace.trace_tables import Trace

_STEPS = 2000
_COLUMNS = ("request_gpus", "start_s|submit_s", "duration_s")


@dataclass(frozen=True)
class Demand:
    """GPUs that run at evenly spaced times: as asked for, and if none were shared."""

    shared: Floats
    whole: Floats


def sharing_saves(trace: Trace) -> PublishedFinding:
    """Say how many more GPUs would be needed if every instance had its own."""
    shares = "no running instance asks for a GPU"
    asked = (
        FigureDefinition(
            "GPUs saved on average", "%", _COLUMNS, _saved(_on_average), (50.0,), "", shares
        ),
        FigureDefinition(
            "GPUs saved at the time when most are saved, as a share",
            "%",
            _COLUMNS,
            _saved(_at_most_saved),
            (73.0,),
            "up to",
            shares,
        ),
        FigureDefinition(
            "GPUs saved at that time",
            "GPUs",
            _COLUMNS,
            _saved(lambda demand: float((demand.whole - demand.shared).max())),
            (2500.0,),
            "about",
            shares,
        ),
    )
    return PublishedFinding(
        "sharing_saves",
        "GPUs saved by sharing",
        tuple(one.of(trace) for one in asked),
        "Sum of requests against sum of requests rounded up to whole GPUs, over the instances "
        "that run at the same time; shares are thought to be packed without gaps. Where no start "
        "is known, jobs are taken to start when submitted.",
    )


def sharing_costs(trace: Trace) -> PublishedFinding:
    """Name what only a measurement of each GPU, or of each pair of jobs, can show."""
    return PublishedFinding(
        "sharing_costs",
        "Contention on shared GPUs",
        (
            published_only(
                "GPUs at 95 % use or more that have two or more workers",
                "%",
                (4.0,),
                "column of the use of each single GPU over time missing",
            ),
            published_only(
                "slowdown of a job beside another one on the same GPU, at most",
                "%",
                (28.0,),
                "run times of the same job alone and beside others missing",
            ),
        ),
    )


def _saved(measure: Callable[[Demand], float | None]) -> Callable[[Trace], float | None]:
    def saved(trace: Trace) -> float | None:
        demand = _demand(trace)
        return measure(demand) if demand is not None and demand.whole.max() > 0 else None

    return saved


def _on_average(demand: Demand) -> float:
    return 100 * (1 - float(demand.shared.sum() / demand.whole.sum()))


def _at_most_saved(demand: Demand) -> float | None:
    most = int(np.argmax(demand.whole - demand.shared))
    whole = demand.whole[most]
    return 100 * (1 - float(demand.shared[most] / whole)) if whole > 0 else None


def _demand(trace: Trace) -> Demand | None:
    start, submit = column(trace, "start_s"), column(trace, "submit_s")
    begin = np.where(np.isnan(start), submit, start)
    end = begin + column(trace, "duration_s")
    gpus = column(trace, "request_gpus")
    rows = (gpus > 0) & (end > begin)
    if not rows.any():
        return None
    begin, end, gpus = begin[rows], end[rows], gpus[rows]
    count = instances_of(trace.jobs)[rows]
    # in the middle of equal steps, so that even a short trace has somebody running
    edges = np.linspace(begin.min(), end.max(), _STEPS + 1)
    times = (edges[1:] + edges[:-1]) / 2
    return Demand(
        _running(begin, end, gpus * count, times),
        _running(begin, end, np.ceil(gpus) * count, times),
    )


def _running(begin: Floats, end: Floats, amount: Floats, times: Floats) -> Floats:
    """Sum an amount over those that run at each time."""
    begun, ended = np.argsort(begin), np.argsort(end)
    more = np.concatenate([[0.0], np.cumsum(amount[begun])])
    less = np.concatenate([[0.0], np.cumsum(amount[ended])])
    running: Floats = (
        more[np.searchsorted(begin[begun], times, side="right")]
        - less[np.searchsorted(end[ended], times, side="right")]
    )
    # differences of long sums leave rounding where nobody runs
    return np.where(np.abs(running) < 1e-9 * max(more[-1], 1.0), 0.0, running)
