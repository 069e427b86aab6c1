"""What a task should ask for, given the peaks of its runs so far.

The highest peak so far is no promise for the next one. Peaks that have not been seen yet get a
share of the sample, and of few runs the spread of the peaks says how far the next may go. Where
peaks rise from run to run, as in a workflow whose small samples come first, the ladder assumes that
they go on rising for a while. Where only the usual peaks rise and the highest do not, it does not.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from prophase.sizing.least_waste.history import growth_to_come
from prophase.sizing.least_waste.ladder import Floats, Outlook
from prophase.sizing.least_waste.predictive_samples import tailed
from prophase.sizing.least_waste.settings import LeastWasteSettings
from prophase.sizing.resources import Resource
from prophase.stats.blocks import DAY_S
from prophase.stats.interval_of_quantile import beyond_highest

#: peaks as they were and a chance of 1 in (runs + 1) of more: shares of runs then come out right
_AS_SEEN = LeastWasteSettings(tail=1.0, smoothed_from=sys.maxsize)
#: runs of a kind that count, the latest ones: large inputs may come back after many small ones
RUNS = 2000
#: how far a rise of the highest peak, from the earlier half of the runs to the later, is drawn on:
#: as this power. Of 3 to 8 on chipseq, eager and mag, also without any one of them
_DRAWN_ON = 5.0
#: of fewer independent runs than one kill is to be expected of, the highest peak gets this room
_EXPECTED_KILLS, MARGIN = 1.0, 1.15
#: up to this risk, runs of which nobody knows whether they are alike count as one in so many (the
#: rule of three: 95 % sure that no more exceed the highest). So many samples or executions show it
_SAFE_RISK, _ALIKE, _FEWEST_ORIGINS = 0.01, 3.0, 5
#: runs whose spread says something, and how many times the highest peak it may reach at most
_FEWEST, _FURTHEST = 3, 8.0
#: room that is added while the first request stays below this share of today's
_ROOM, _CHEAP = 2.0, 0.05


def outlook_of(peaks: Floats) -> Outlook:
    """Return what the next peak may be, when nothing is known of the instance."""
    recent = peaks[-RUNS:]
    # every run counts alike: a risk is a share of runs, not of hours
    values, weights = tailed(recent, np.ones(len(recent)), len(recent), _AS_SEEN)
    return Outlook(values, weights)


def rise_to_come(peaks: Floats) -> float:
    """Return the factor by which the highest peaks are to be expected higher.

    Examples
    --------
    >>> rising = np.tile([2.0, 2.3, 2.1, 2.4], 10) * np.linspace(1.0, 2.0, 40)
    >>> round(rise_to_come(rising), 2), rise_to_come(np.append(5.0, rising))
    (1.71, 1.0)
    """
    recent = peaks[-RUNS:]
    growth, middle = growth_to_come(recent), len(recent) // 2
    if growth == 1.0 or not middle:
        return growth
    higher = max(1.0, float(recent[middle:].max() / recent[:middle].max()))
    return float(min(growth, higher**_DRAWN_ON))


def beyond_seen(peaks: Floats, risk: float, days: int | None = None) -> float:
    """Return what the next peak exceeds with the risk, seen from the highest of a few peaks.

    The highest of n peaks is exceeded once in n + 1 times. From there on the distance is that of
    normal logarithms, of as many as there are, with the spread that they show around their mean
    or above their median, whichever is smaller: low peaks say nothing of high ones.

    Parameters
    ----------
    days : int, optional
        Days that the runs come from, if those of one day count as one; the larger spread counts
        then, since a day of short runs may be followed by one of long runs.

    Examples
    --------
    >>> steady, wide = np.tile([2.0, 2.1], 6), np.tile([0.1, 0.2, 0.8, 2.1], 3)
    >>> round(beyond_seen(steady, 0.01), 2), round(beyond_seen(wide, 0.01), 1)
    (2.17, 9.7)
    """
    if len(peaks) < _FEWEST:
        return 0.0
    # of one day the spread between days is not known; two are the fewest that say something of it
    runs = len(peaks) if days is None else max(days, 2)
    logs = np.log(peaks)
    middle = float(np.median(logs))
    above = logs[logs >= middle] - middle
    spreads = float(logs.std()), math.sqrt(float(above @ above) / len(above))
    spread = min(spreads) if days is None else max(spreads)
    reach = beyond_highest(runs, risk) * spread
    return float(peaks.max()) * math.exp(min(reach, math.log(_FURTHEST)))


def what_holds_cut_off(seen: Floats, cut_off: NDArray[np.bool_], risk: float) -> float:
    """Return what is exceeded with the risk by peaks of which some were cut off at a limit.

    Logarithms are taken as normal; those that were cut off count with what is to be expected of
    them beyond their limit (expectation and maximisation). Infinite where that does not explain
    how many were cut off, as of runs that need little or very much.

    Examples
    --------
    >>> needs = np.exp(np.random.default_rng(0).normal(2.45, 0.08, 400))
    >>> limit = np.minimum(needs, 12.0)
    >>> round(what_holds_cut_off(limit, needs > 12.0, 0.01)), round(np.quantile(needs, 0.99))
    (14, 14)
    >>> what_holds_cut_off(np.repeat([2.0, 8.0], [55, 5]), np.arange(60) >= 55, 0.01)
    inf
    """
    logs = np.log(seen)
    middle, spread = float(logs.mean()), max(float(logs.std()), _LEAST_SPREAD)
    for _ in range(_STEPS):
        beyond = (logs[cut_off] - middle) / spread
        hazard = np.exp(-0.5 * beyond**2 - log_ndtr(-beyond)) / math.sqrt(2 * math.pi)
        first, second = logs.copy(), logs**2
        first[cut_off] = middle + spread * hazard
        second[cut_off] = middle**2 + spread**2 + spread * hazard * (logs[cut_off] + middle)
        middle = float(first.mean())
        spread = max(math.sqrt(max(float(second.mean()) - middle**2, 0.0)), _LEAST_SPREAD)
    expected = float(ndtr((middle - logs[cut_off]) / spread).mean())
    if not 1 / _EXPLAINED <= expected / float(cut_off.mean()) <= _EXPLAINED:
        return math.inf
    return math.exp(middle + float(-ndtri(risk)) * spread)


#: how many times too many or too few a fit may expect to be cut off
_EXPLAINED = 2.0
#: steps of the fit, and the spread of logarithms below which peaks count as equal
_STEPS, _LEAST_SPREAD = 60, 1e-3


def independent_runs(peaks: Floats, origins: Floats | None = None) -> float:
    """Return how many independent runs say as much as these.

    Runs of one sample or execution may be alike. How much they are is seen in how far the mean
    logarithms of samples lie apart, against the spread within them (intraclass correlation).

    Parameters
    ----------
    origins : array, optional
        The sample or execution of each run, as a number; NaN where it is not known.

    Examples
    --------
    >>> peaks, of = np.repeat([1.0, 1.1, 1.3, 1.2, 1.15, 1.05], 20), np.repeat(np.arange(6.0), 20)
    >>> each, mixed = 1.0 * np.arange(120), np.tile(peaks[::20], 20)
    >>> independent_runs(peaks), independent_runs(peaks, each)
    (40.0, 120.0)
    >>> round(independent_runs(peaks, of)), round(independent_runs(mixed, of))
    (6, 120)
    """
    runs, unknown = len(peaks), len(peaks) / _ALIKE
    if origins is None or not np.isfinite(origins).all():
        return unknown
    _, place, counts = np.unique(origins, return_inverse=True, return_counts=True)
    groups = len(counts)
    if groups in (1, runs):
        return float(groups)
    logs = np.log(peaks)
    means = np.bincount(place, logs) / counts
    between = float(counts @ (means - logs.mean()) ** 2) / (groups - 1)
    within = float(((logs - means[place]) ** 2).sum()) / (runs - groups)
    squares = float(counts @ counts) / runs
    spread = between + ((runs - squares) / (groups - 1) - 1) * within
    alike = max(0.0, (between - within) / spread) if spread > 0 else 0.0
    found = runs / (1 + (squares - 1) * alike)
    return found if groups >= _FEWEST_ORIGINS else min(found, unknown)


def ladder_of(
    peaks: Floats,
    risk: float,
    now: float,
    what: Resource,
    when_s: Floats | None = None,
    origins: Floats | None = None,
    beyond: float = 1.0,
) -> tuple[float, ...]:
    """Return the rungs: one exceeded with the risk, a rarer one, and the request.

    Each is an amount that can be given.

    Parameters
    ----------
    peaks : array
        In the order in which the runs ended; all above 0.
    now : float
        Request of today; NaN if there is none.
    what : Resource
        No first rung is below its least, unless the request is.
    when_s : array, optional
        When each run was submitted; only time limits ask. Long runs come together, and one that
        is ended by its time limit has worked for nothing: the runs of one day count as one.
    origins : array, optional
        The sample or execution of each run, as :func:`independent_runs` has them.
    beyond : float, optional
        How many times the highest peak may be needed, as others of as few runs have shown.
    """
    least = what.least
    outlook, growth = outlook_of(peaks), rise_to_come(peaks)
    first = growth * outlook.quantile(1.0 - risk)
    recent = peaks[-RUNS:]
    days = None
    if not what.held and when_s is not None:
        days = len(np.unique(np.floor(when_s[-RUNS:] / DAY_S)))
    if days is not None:
        # days are counted, whatever ran in them
        count = days / _ALIKE if risk <= _SAFE_RISK else days
    else:
        of = None if origins is None else origins[-RUNS:]
        count = independent_runs(recent, of) if risk <= _SAFE_RISK else len(peaks)
    if what.kills and count * risk < _EXPECTED_KILLS:
        room = max(MARGIN, beyond)
        first = max(first, room * float(recent.max()), beyond_seen(recent, risk, days))
    first *= what.room
    if now > 0:
        # where requests are far above use, room for peaks to come costs next to nothing
        first, least = max(first, min(_ROOM * first, _CHEAP * now)), min(least, now)
    first = what.allocatable(max(first, least))
    second = what.allocatable(max(first * 1.3, growth * outlook.quantile(1.0 - risk / 10)))
    third = what.allocatable(max(second * 1.5, now if now > 0 else 0.0))
    return float(first), float(second), float(third)
