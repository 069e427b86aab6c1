"""Which assumptions of queueing formulas a trace meets, with the numbers that say so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prophase.sim.queueing.parameter_checks import Floats

#: SCV of an exponential law is 1; estimates from thousands of jobs stray less than this
_SCV_RANGE = (0.7, 1.4)
#: variance over mean of busy servers; 1 for steady Poisson arrivals
_MOST_PEAKEDNESS = 2.0
_GRID = 20_000


@dataclass(frozen=True)
class Assumption:
    """One assumption, what the trace shows, and what follows if it fails."""

    name: str
    holds: bool
    measure: str
    value: float
    expected: str
    words: str


def check_assumptions(
    submit: Floats, duration: Floats, need: Floats, servers: int
) -> tuple[tuple[Assumption, ...], float, float]:
    """Return the assumptions of stationary formulas, checked, and the mean and peak load.

    The loads are busy servers if nobody had to wait, over the time of submissions.

    Parameters
    ----------
    submit, duration, need : arrays of shape (jobs,)
        Sorted by submission.
    """
    gaps = np.diff(submit)
    arrival_scv = float(gaps.var() / gaps.mean() ** 2)
    service_scv = float(duration.var() / duration.mean() ** 2)
    jobs_busy, units_busy = _busy(submit, duration, need)
    peakedness = float(jobs_busy.var() / jobs_busy.mean()) if jobs_busy.mean() > 0 else 1.0
    peak = float(units_busy.max())
    # what a steady rate would hardly ever reach: beyond it, and the servers, is overload
    steady = float(units_busy.mean()) + 4 * np.sqrt(
        float((duration * need**2).sum()) / float(np.ptp(submit))
    )
    # a mean beyond the servers is no chance
    limit = max(servers, steady) if units_busy.mean() < servers else servers
    overloaded = float((units_busy > limit).mean())
    wide = float((need * duration)[need != 1].sum() / (need * duration).sum())
    checked = (
        Assumption(
            "Poisson arrivals",
            _SCV_RANGE[0] <= arrival_scv <= _SCV_RANGE[1],
            "arrival SCV",
            arrival_scv,
            "about 1",
            f"gaps between arrivals have SCV {arrival_scv:.4g}"
            + (": jobs come in bursts" if arrival_scv > _SCV_RANGE[1] else "")
            + (": jobs come more evenly than at random" if arrival_scv < _SCV_RANGE[0] else ""),
        ),
        Assumption(
            "exponential service",
            _SCV_RANGE[0] <= service_scv <= _SCV_RANGE[1],
            "service SCV",
            service_scv,
            "about 1",
            f"durations have SCV {service_scv:.4g}"
            + (": a few jobs are most of the work" if service_scv > 10 else ""),
        ),
        Assumption(
            "steady rate",
            peakedness <= _MOST_PEAKEDNESS,
            "peakedness",
            peakedness,
            f"below {_MOST_PEAKEDNESS:g}",
            f"busy jobs vary {peakedness:.4g} times as much as under a steady rate "
            f"(mean load {units_busy.mean():,.4g} servers, peak {peak:,.4g})",
        ),
        Assumption(
            "load below the servers",
            overloaded <= 0.001,
            "share of time overloaded",
            overloaded,
            "0",
            f"the load exceeds {servers:,} servers, beyond chance, for {100 * overloaded:.3g} % "
            "of the time",
        ),
        Assumption(
            "one server each",
            wide < 0.01,
            "share of work by gangs or shares",
            wide,
            "0",
            f"jobs that take other than one server are {100 * wide:.3g} % of the work",
        ),
    )
    return checked, float(units_busy.mean()), peak


def _busy(submit: Floats, duration: Floats, need: Floats) -> tuple[Floats, Floats]:
    """Return jobs and servers busy if nobody had to wait, on an even grid of times."""
    ends = submit + duration
    order = np.argsort(ends)
    grid = np.linspace(submit[0], submit[-1], _GRID)
    begun = np.searchsorted(submit, grid, side="right")
    ended = np.searchsorted(ends[order], grid, side="right")
    begun_need = np.concatenate([[0.0], np.cumsum(need)])
    ended_need = np.concatenate([[0.0], np.cumsum(need[order])])
    jobs: Floats = (begun - ended).astype(float)
    units: Floats = begun_need[begun] - ended_need[ended]
    # a job that has run for its whole length fills the system only after a while
    settled = grid >= submit[0] + min(float(np.mean(duration)), float(np.ptp(submit)) / 10)
    return jobs[settled], units[settled]
