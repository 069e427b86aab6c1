"""What a task should ask for, given the peaks of its runs so far.

The highest peak so far is no promise for the next one. Peaks that have not been seen yet get a
share of the sample; and where peaks rise from run to run, as in a workflow whose small samples
come first, the ladder assumes that they go on rising for a while.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy.stats import rankdata

from prophase.sizing.least_waste.ladder import Floats, Outlook
from prophase.sizing.least_waste.predictive_samples import tailed
from prophase.sizing.least_waste.settings import LeastWasteSettings
from prophase.sizing.resources import Resource

#: peaks as they were and a chance of 1 in (runs + 1) of more: shares of runs then come out right
_AS_SEEN = LeastWasteSettings(tail=1.0, smoothed_from=sys.maxsize)
#: runs of a task that count, the latest ones
REMEMBERED = 400
#: rank correlation of peaks with their order, in standard errors, from which they rise: steady
#: peaks look like that once in a hundred tasks
_RISING = 2.33
#: how far a rise is drawn on, as a share of the runs that show it, and how far at most
_DRAWN_ON, _MOST_GROWTH = 0.75, 4.0
#: room that is added while the first request stays below this share of today's
_ROOM, _CHEAP = 2.0, 0.05


def outlook_of(peaks: Floats) -> Outlook:
    """Return what the next peak may be, when nothing is known of the instance."""
    recent = peaks[-REMEMBERED:]
    # every run counts alike: a risk is a share of runs, not of hours
    values, weights = tailed(recent, np.ones(len(recent)), len(recent), _AS_SEEN)
    return Outlook(values, weights)


def growth_to_come(peaks: Floats) -> float:
    """Return the factor by which peaks are to be expected higher, as they have been rising.

    Examples
    --------
    >>> steady = np.tile([2.0, 2.3, 2.1, 2.4], 10)
    >>> growth_to_come(steady), round(growth_to_come(steady * np.linspace(1.0, 2.0, 40)), 2)
    (1.0, 1.71)
    """
    recent = peaks[-REMEMBERED:]
    runs = len(recent)
    order = np.arange(runs) - (runs - 1) / 2
    ranks = rankdata(recent) - (runs + 1) / 2
    spread = math.sqrt(float(order @ order) * float(ranks @ ranks))
    if spread == 0 or float(order @ ranks) / spread * math.sqrt(runs - 1) < _RISING:
        return 1.0
    slope = float(order @ np.log(recent)) / float(order @ order)
    return min(math.exp(max(slope, 0.0) * _DRAWN_ON * runs), _MOST_GROWTH)


def ladder_of(peaks: Floats, risk: float, now: float, what: Resource) -> tuple[float, ...]:
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
    """
    least = what.least
    outlook, growth = outlook_of(peaks), growth_to_come(peaks)
    first = growth * outlook.quantile(1.0 - risk)
    if now > 0:
        # where requests are far above use, room for peaks to come costs next to nothing
        first, least = max(first, min(_ROOM * first, _CHEAP * now)), min(least, now)
    first = what.allocatable(max(first, least))
    second = what.allocatable(max(first * 1.3, growth * outlook.quantile(1.0 - risk / 10)))
    third = what.allocatable(max(second * 1.5, now if now > 0 else 0.0))
    return float(first), float(second), float(third)
