"""Autopilot's moving windows: a statistic of use that fades, a margin, and the most of an hour.

Rzadca et al., "Autopilot: workload autoscaling at Google", EuroSys 2020: the rule-based
recommenders. A sample counts half after 12 hours for CPU and 48 hours for memory; the statistic is
the mean, a percentile of the load (a sample counts by what it used), or the maximum of the window;
limits keep the highest recommendation of the last hour. The paper says which statistic a class of
jobs takes and adds 10 to 15 %; here both are chosen on the fit series, as for every other policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from prophase.autoscale.allocation_measures import is_memory
from prophase.autoscale.fleet import Fleet, Floats
from prophase.autoscale.past_use import recent_peak, startup_level, windowed
from prophase.autoscale.policy import Plan, Scaled, ScalingPolicy

_HOUR_S = 3600.0
#: buckets grow by 5 % and reach from a ten-thousandth of the highest use to four times it
_GROWTH, _LOWEST, _HIGHEST = 1.05, 1e-4, 4.0
#: of the load; 0 stands for the mean of use, 1 for its maximum
_SHARES = (0.0, 0.6, 0.9, 0.95, 0.98, 1.0)


class Autopilot(ScalingPolicy):
    """Give a fading percentile of the load, times a margin.

    Parameters
    ----------
    share : float, default=0.95
        Percentile of the load, as a share; 0 is the mean of use, 1 its maximum.
    """

    name: ClassVar[str] = "autopilot"

    def __init__(self, *, share: float = 0.95) -> None:
        self.share = share

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        self.highest_ = float(fleet.use.max()) or 1.0
        return self

    def plan(self, fleet: Fleet) -> Plan:
        half_life_s = (48 if is_memory(fleet.metric) else 12) * _HOUR_S
        if self.share == 1.0:
            window = max(round(half_life_s / fleet.step_s), fleet.every)
            level = recent_peak(fleet, min(window, int(fleet.lengths.max())))
        else:
            level = _faded(fleet, self.share, half_life_s, self.highest_)
        kept = max(round(_HOUR_S / (fleet.step_s * fleet.every)), 1)
        by_decision = Fleet(fleet.series_id, level, fleet.decisions_per_run, 1, fleet.step_s)
        return Scaled(fleet, windowed(by_decision, kept), self.startup_)

    def variants(self) -> Sequence[Autopilot]:
        return [type(self)(share=share) for share in _SHARES]

    def settings(self) -> dict[str, float | int | str]:
        said = {0.0: "mean of use", 1.0: "maximum"}
        return {"statistic": said.get(self.share, f"{100 * self.share:g} % of the load")}


def _faded(fleet: Fleet, share: float, half_life_s: float, highest: float) -> Floats:
    """Return the statistic of the past before each decision; 0 at a start."""
    count = int(np.ceil(np.log(_HIGHEST / _LOWEST) / np.log(_GROWTH)))
    edges = highest * _LOWEST * _GROWTH ** np.arange(1, count + 1)
    bucket = np.minimum(np.searchsorted(edges, fleet.use), count - 1)
    runs = len(fleet.lengths)
    load, weight = np.zeros((runs, count)), np.zeros(runs)
    fading = 2.0 ** (-fleet.every * fleet.step_s / half_life_s)
    found = np.zeros(fleet.decisions)
    for wave, before in fleet.in_waves():
        now, last = fleet.wave_order[wave], fleet.wave_order[before]
        rows = fleet.run_of_decision[now]
        load[rows] *= fading
        weight[rows] *= fading
        for place in range(fleet.every):
            at = fleet.first_sample[last] + place
            load[rows, bucket[at]] += fleet.use[at]
            weight[rows] += 1.0
        total = load[rows].cumsum(axis=1)
        if share == 0.0:
            found[now] = total[:, -1] / weight[rows]
            continue
        reached = (total >= share * total[:, -1:]).argmax(axis=1)
        found[now] = np.where(total[:, -1] > 0, edges[reached], 0.0)
    return found
