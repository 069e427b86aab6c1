"""What happens to a pod whose memory runs out: it is killed, restarted, and gets more.

The recorded use goes on by the clock as if nothing had happened. What a kill costs is counted
beside it: the pod is down for a while, and the work since its last checkpoint is done again, at
what was allocated then. From its restart on, the allocation is at least the use that killed it
and a margin, as VPA's recommender does it, for some time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.errors import ParameterError
from prophase.stats import Blocks, Estimate, share

_DAY_S = 86_400.0


@dataclass(frozen=True)
class KillRule:
    """What a kill costs, and what a pod gets after one."""

    #: seconds until a killed pod works again
    restart_s: float = 60.0
    #: seconds between checkpoints: at most this much work is done again
    checkpoint_s: float = 3600.0
    #: after a kill at least this many times the use that killed, ...
    bump: float = 1.2
    #: ... and at least this much more, where use is in GiB
    bump_gib: float = 100 / 1024
    #: seconds that this holds
    hold_s: float = 3600.0

    def __post_init__(self) -> None:
        if min(self.restart_s, self.checkpoint_s, self.hold_s, self.bump_gib) < 0 or self.bump < 1:
            raise ParameterError(
                "the rule for kills has times and amounts of 0 or more, and a bump of at least 1."
            )

    def least_after(self, use: float, metric: str) -> float:
        """Return the least allocation after a kill at some use.

        Examples
        --------
        >>> KillRule().least_after(2.0, "memory_gib"), KillRule().least_after(0.5, "memory_frac")
        (2.4, 0.6)
        """
        more = self.bump_gib if metric.endswith("_gib") else 0.0
        return max(self.bump * use, use + more)


@dataclass(frozen=True)
class KilledFleet:
    """A fleet under an allocation, with its kills."""

    fleet: Fleet
    #: (samples,) what was allocated, with what kills added
    given: Floats
    #: the samples that killed
    kills: Ints
    #: (samples,) whether the pod was down
    down: np.ndarray[tuple[int], np.dtype[np.bool_]]
    #: seconds of work done again, and of waiting for a restart
    lost_s: float
    #: allocation, in samples of the metric, of the work that was done again
    repeated: float

    @property
    def pod_days(self) -> float:
        return self.fleet.samples * self.fleet.step_s / _DAY_S

    @property
    def per_pod_day(self) -> float:
        return len(self.kills) / self.pod_days

    def rate(self) -> Estimate:
        """Return kills per pod-day on series like these, with an interval over series.

        Examples
        --------
        >>> fleet = Fleet.of_runs([[1.0] * 1440] * 8, series_id="abcdefgh", metric="memory_gib")
        >>> found = killed(fleet, np.full(fleet.decisions, 2.0)).rate()
        >>> found.value, round(found.high, 1)
        (0.0, 0.7)
        """
        hit = np.zeros(self.fleet.samples, np.bool_)
        hit[self.kills] = True
        series = np.unique(self.fleet.series_id, return_inverse=True)[1]
        blocks = Blocks.of(np.repeat(series, self.fleet.lengths), unit="series")
        return share(hit, blocks).scaled(_DAY_S / self.fleet.step_s)


def killed(
    fleet: Fleet, allocation: Floats, rule: KillRule | None = None, *, most: float = math.inf
) -> KilledFleet:
    """Return what becomes of pods under an allocation per decision.

    Parameters
    ----------
    most : float, optional
        Stop after this many kills: for somebody who only asks whether there are more.

    Examples
    --------
    >>> fleet = Fleet.of_runs([[1.0, 2.0, 5.0, 5.0, 5.9, 6.5]], every=2, metric="memory_gib")
    >>> found = killed(fleet, np.array([2.0, 2.0, 2.0]), KillRule(restart_s=0))
    >>> found.kills.tolist(), found.given.tolist()
    ([2, 5], [2.0, 2.0, 2.0, 6.0, 6.0, 6.0])
    """
    rule = rule or KillRule()
    given = fleet.per_sample(allocation)
    above = np.flatnonzero(fleet.use > given)
    down = np.zeros(fleet.samples, np.bool_)
    hold, restart = (math.ceil(s / fleet.step_s) for s in (rule.hold_s, rule.restart_s))
    kept = math.inf if math.isinf(rule.checkpoint_s) else rule.checkpoint_s / fleet.step_s
    run_of = np.searchsorted(fleet.run_start, above, side="right") - 1
    starts, ends = fleet.run_start.tolist(), (fleet.run_start + fleet.lengths).tolist()
    kills: list[int] = []
    run, least, until, up_from = -1, 0.0, -1, -1
    lost_s = repeated = 0.0
    for at, owner, use in zip(above.tolist(), run_of.tolist(), fleet.use[above].tolist(),
                              strict=True):  # fmt: skip
        if owner != run:
            run, least, until, up_from = owner, 0.0, -1, starts[owner]
        if at < up_from or (at < until and use <= least):
            continue
        kills.append(at)
        if len(kills) > most:
            break
        again = int(min(at - up_from, kept))
        lost_s += again * fleet.step_s + rule.restart_s
        repeated += float(given[at - again : at].sum())
        least = max(rule.least_after(use, fleet.metric), least if at < until else 0.0)
        # an allocation ends with its interval, never in the middle of one
        after = at + 1 + hold - starts[run]
        until = min(starts[run] + -(-after // fleet.every) * fleet.every, ends[run])
        up_from = at + 1 + restart
        np.maximum(given[at + 1 : until], least, out=given[at + 1 : until])
        down[at + 1 : min(up_from, ends[run])] = True
    return KilledFleet(fleet, given, np.array(kills, np.int64), down, lost_s, repeated)
