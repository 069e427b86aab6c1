"""What an allocation costs and how often it falls short."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats
from prophase.autoscale.memory_kills import KilledFleet, KillRule, killed
from prophase.errors import ParameterError
from prophase.json_types import JsonObject


@dataclass(frozen=True)
class Penalties:
    """What goes wrong, in samples of mean use: a cost to compare policies by."""

    #: a sample above its allocation costs as much as this many samples of mean use
    violation: float = 10.0
    #: a change of an allocation costs as much as this many samples of mean use
    resize: float = 1.0

    def __post_init__(self) -> None:
        if self.violation < 0 or self.resize < 0:
            raise ParameterError("penalties of violations and resizes are 0 or more.")


@dataclass(frozen=True)
class Measures:
    """How one policy did on a fleet."""

    #: sum of the allocation, also for work done again after kills, over the sum of use
    allocation_over_usage: float
    #: share of samples with use at or below the allocation
    satisfied_pct: float
    #: uninterrupted stretches above the allocation
    violation_episodes: int
    #: memory: times that a pod was killed, and restarted with more
    oom_events: int | None
    #: memory: kills per day of one pod
    kills_per_pod_day: float | None
    #: memory: share of the time that restarts and work done again took
    lost_pct: float | None
    #: use above the allocation over all use: work that had to wait, if it can wait
    unmet_pct: float
    resizes_per_1000: float
    #: resizes of one pod in an hour
    resizes_per_hour: float
    #: allocation, violations and resizes per sample, in units of mean use
    cost: float
    #: the series served worst
    worst_series_satisfied_pct: float
    #: median over series of allocation over use
    median_series_ratio: float
    samples: int

    def row(self) -> JsonObject:
        return asdict(self)


def is_memory(metric: str) -> bool:
    """Return whether exceeding the allocation of a metric kills instead of slowing down."""
    return "memory" in metric


def satisfied(fleet: Fleet, allocation: Floats, rule: KillRule | None = None) -> float:
    """Return the share of samples with use at or below the allocation of its decision."""
    return float(1 - np.mean(_lived(fleet, allocation, rule).above))


@dataclass(frozen=True)
class _Lived:
    """What was given, and which samples went without."""

    given: Floats
    above: np.ndarray[tuple[int], np.dtype[np.bool_]]
    kills: KilledFleet | None


def _lived(fleet: Fleet, allocation: Floats, rule: KillRule | None) -> _Lived:
    if not is_memory(fleet.metric):
        given = fleet.per_sample(allocation)
        return _Lived(given, fleet.use > given, None)
    found = killed(fleet, allocation, rule)
    return _Lived(found.given, (fleet.use > found.given) | found.down, found)


def allocated_by_run(fleet: Fleet, allocation: Floats, rule: KillRule | None = None) -> Floats:
    """Return the sum of the allocation of each run, with what kills added to it."""
    given = _lived(fleet, allocation, rule).given
    found: Floats = np.add.reduceat(given, fleet.run_start)
    return found


def measure(
    fleet: Fleet,
    allocation: Floats,
    penalties: Penalties | None = None,
    rule: KillRule | None = None,
) -> Measures:
    """Return how an allocation per decision does on a fleet.

    Examples
    --------
    >>> fleet = Fleet.of_runs([[1.0, 2.0, 5.0, 1.0]], every=2, metric="cpu_cores")
    >>> found = measure(fleet, np.array([2.0, 4.0]))
    >>> found.allocation_over_usage, found.satisfied_pct, found.resizes_per_1000
    (1.3333333333333333, 75.0, 250.0)
    >>> found.resizes_per_hour
    15.0
    >>> memory = Fleet.of_runs([[1.0, 2.0, 5.0, 1.0]], every=2, metric="memory_gib")
    >>> found = measure(memory, np.array([2.0, 4.0]))
    >>> found.oom_events, found.satisfied_pct, found.kills_per_pod_day
    (1, 50.0, 360.0)
    """
    penalties = penalties or Penalties()
    lived = _lived(fleet, allocation, rule)
    given, above, kills = lived.given, lived.above, lived.kills
    total = float(fleet.use.sum())
    first = np.zeros(fleet.samples, bool)
    first[fleet.run_start] = True
    begins = above & (first | ~np.concatenate([[False], above[:-1]]))
    resizes = int((~first[1:] & (np.diff(given) != 0)).sum())
    repeated = 0.0 if kills is None else kills.repeated
    ratio = (float(given.sum()) + repeated) / total if total > 0 else float("inf")
    share_above, resizes_each = float(above.mean()), resizes / fleet.samples
    names = np.unique(np.asarray(fleet.series_id), return_inverse=True)[1]
    of_sample = np.repeat(names, fleet.lengths)
    counts = np.bincount(of_sample)
    series_use = np.bincount(of_sample, fleet.use)
    series_given = np.bincount(of_sample, given)
    used = series_use > 0
    short = np.maximum(fleet.use - given, 0.0)
    return Measures(
        allocation_over_usage=ratio,
        satisfied_pct=100 * (1 - share_above),
        violation_episodes=int(begins.sum()),
        oom_events=None if kills is None else len(kills.kills),
        kills_per_pod_day=None if kills is None else kills.per_pod_day,
        lost_pct=None if kills is None else 100 * kills.lost_s / (fleet.samples * fleet.step_s),
        unmet_pct=100 * float(short.sum()) / total if total > 0 else 0.0,
        resizes_per_1000=1000 * resizes_each,
        resizes_per_hour=3600 * resizes_each / fleet.step_s,
        cost=ratio + penalties.violation * share_above + penalties.resize * resizes_each,
        worst_series_satisfied_pct=100
        * (1 - float((np.bincount(of_sample, above) / counts).max())),
        median_series_ratio=float(np.median(series_given[used] / series_use[used]))
        if used.any()
        else float("inf"),
        samples=fleet.samples,
    )
