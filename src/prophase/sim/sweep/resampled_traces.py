"""Other traces like this one: whole days resampled, and more or fewer jobs per day.

Policies and clusters that are compared meet the same jobs: what a seed draws depends on the
seed alone, and a larger load keeps every job of a smaller one. So differences are paired.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from prophase import units
from prophase.errors import ParameterError
from prophase.plural import counted
from prophase.sim.cluster import Cluster
from prophase.sim.measures.backlog_blocks import LEAST_BLOCKS, days_of_backlog
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import Floats, Ints
from prophase.sim.simulation import simulate
from prophase.sim.workload import Workload
from prophase.stats import Estimate, from_draws
from prophase.stats.blocks import why_too_short
from prophase.stats.bootstrap import why_too_few

#: the seed that leaves the days of a trace as they were
AS_RECORDED = 0
_HOUR_S, _DAY_H = 3600.0, 24.0
#: spread of logarithms up to which a factor is the better description of a change
_STEADY = 1.0
#: blocks below which intervals are called rough
_ENOUGH = 30
#: multiples of it lie evenly between whole numbers, wherever they begin and end
_GOLDEN = (5**0.5 - 1) / 2
#: so much later than its model a job that a higher load adds comes at most
_APART_S = 3600.0
_CLOCKS = ("submit_s", "start_s", "end_s")


@dataclass(frozen=True)
class Resampler:
    """Draws workloads from the blocks of hours (by default days) of one workload.

    Parameters
    ----------
    workload : Workload
        The trace; not changed.
    block_h : float, default=24
        Hours that stay together. Jobs of a block share its bursts; longer blocks keep weekly
        patterns and backlogs that last for days, but leave fewer to draw from.

    Examples
    --------
    >>> import pandas as pd
    >>> jobs = pd.DataFrame({"job_id": list("abc"), "submit_s": [0.0, 90_000.0, 180_000.0]})
    >>> draw = Resampler(Workload.from_jobs(jobs.assign(duration_s=60.0)))
    >>> draw.blocks
    3
    >>> draw(seed=0, load=1.0).submit_s.tolist()
    [0.0, 90000.0, 180000.0]
    >>> len(draw(seed=0, load=2.0))
    6
    """

    workload: Workload
    block_h: float = 24.0
    #: blocks in a row that stay together, wherever they begin; the last is followed by the first
    run: int = 1
    #: the workload drawn last, which the next policy is likely to ask for again
    _last: dict[tuple[int, float], Workload] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not self.block_h > 0:
            raise ParameterError(f"block_h is {self.block_h}, but a block lasts more than 0 hours.")
        if not self.run >= 1:
            raise ParameterError(f"run is {self.run}, but at least 1 block stays together.")

    @property
    def blocks(self) -> int:
        """Number of blocks the trace covers, empty ones included."""
        return int(self._block_of[-1]) + 1

    def __call__(self, seed: int, load: float = 1.0) -> Workload:
        """Return the workload of a seed at a load.

        Parameters
        ----------
        seed : int
            0 keeps the days as they were; any other seed fills each day of the trace with the
            jobs of a day drawn with replacement, at the hours they had.
        load : float
            Work of every day against the trace: 0.8 drops a fifth of the jobs of every size; 1.3
            has three tenths of them come once more within the hour.
        """
        if not 0 < load < 1000:
            raise ParameterError(f"load is {load}, but lies above 0, such as 0.8 or 1.3.")
        if seed == AS_RECORDED and load == 1.0:
            return self.workload
        if (seed, load) not in self._last:
            self._last.clear()
            self._last[seed, load] = self._drawn(seed, load)
        return self._last[seed, load]

    def _drawn(self, seed: int, load: float) -> Workload:
        rows, moved = self._days(np.random.default_rng([seed, 0]), recorded=seed == AS_RECORDED)
        parts: list[tuple[Ints, Floats]] = []
        for layer in range(int(np.ceil(load))):
            # layers and seeds have streams of their own: a load never changes another's draws
            rng = np.random.default_rng([seed, 1, layer])
            # with the job that it stands for at the same instant, a job would wait in any case
            shift = moved + rng.uniform(0, _APART_S, len(rows)) if layer else moved
            whole = load - layer >= 1
            kept = np.s_[:] if whole else np.flatnonzero(self._turns(rng, rows) < load - layer)
            parts.append((rows[kept], shift[kept]))
        return self._take(
            np.concatenate([rows for rows, _ in parts]),
            np.concatenate([shift for _, shift in parts]),
        )

    @property
    def _block_of(self) -> Ints:
        block = np.floor(self.workload.submit_s / (_HOUR_S * self.block_h)).astype(np.int64)
        first: Ints = block - block[0]
        return first

    def _turns(self, rng: np.random.Generator, rows: Ints) -> Floats:
        """Give each job a number from 0 to 1: those below a share do that share of all work.

        Jobs of like work are spread evenly over the numbers. By lot, the few jobs that are most of
        a trace's work would decide how much a load of 1.2 asks for.
        """
        one = self.workload
        amount = next((held for held in (one.gpus, one.cores) if held.any()), np.ones(len(one)))
        rank = np.empty(len(rows))
        rank[np.argsort((amount * one.duration_s)[rows], kind="stable")] = np.arange(len(rows))
        turns: Floats = (rank * _GOLDEN + rng.random()) % 1.0
        return turns

    def _days(self, rng: np.random.Generator, *, recorded: bool) -> tuple[Ints, Floats]:
        """Fill every block of the trace; return the rows taken and how far each moves."""
        block_of, blocks = self._block_of, self.blocks
        first = rng.integers(blocks, size=(-(-blocks // self.run), 1))
        runs = (first + np.arange(self.run)).ravel()[:blocks] % blocks
        drawn = np.arange(blocks) if recorded else runs
        begin = np.searchsorted(block_of, np.arange(blocks))
        count = np.bincount(block_of, minlength=blocks)[drawn]
        ends = np.cumsum(count)
        rows = np.arange(count.sum()) - np.repeat(ends - count, count)
        rows += np.repeat(begin[drawn], count)
        moved = (np.arange(blocks) - drawn) * _HOUR_S * self.block_h
        return rows, np.repeat(moved, count)

    def _take(self, rows: Ints, shift: Floats) -> Workload:
        if not len(rows):
            raise ParameterError("no job is left at this load. Use a larger load.")
        order = np.argsort(self.workload.submit_s[rows] + shift, kind="stable")
        rows, shift = rows[order], shift[order]
        jobs = self.workload.jobs.iloc[rows].reset_index(drop=True)
        moved = {name: jobs[name] + shift for name in _CLOCKS if name in jobs}
        return replace(
            self.workload,
            jobs=jobs.assign(**moved),
            submit_s=self.workload.submit_s[rows] + shift,
            duration_s=self.workload.duration_s[rows],
            asks=self.workload.asks[rows],
        )


@dataclass(frozen=True)
class DrawnBlocks:
    """How a trace is drawn anew: blocks of ``block_h`` hours, ``run`` of them in a row.

    ``why_not`` says why there is no interval: the trace is too short for blocks of that length.
    ``broken`` says why resampled traces tell how a change varies, but not how long jobs wait.
    """

    block_h: float
    run: int
    blocks: int
    why_not: str = ""
    broken: str = ""

    @property
    def independent(self) -> int:
        """Whole runs that the trace has to draw from."""
        return self.blocks // self.run

    def told(self) -> str:
        """Return the blocks in words, such as ``12 blocks of 7 d``."""
        length = units.duration(self.run * self.block_h * 3600)
        return f"{counted(self.independent, 'block')} of {length}"


def blocks_for(
    workload: Workload,
    cluster: Cluster,
    policy: Mapping[str, Any],
    block_h: float | None = None,
) -> DrawnBlocks:
    """Return blocks that hold the backlog of a replay, or blocks of so many hours."""
    return replayed_blocks(workload, cluster, policy, block_h)[0]


def replayed_blocks(
    workload: Workload,
    cluster: Cluster,
    policy: Mapping[str, Any],
    block_h: float | None = None,
) -> tuple[DrawnBlocks, Schedule | None]:
    """Return the blocks of :func:`blocks_for`, and the replay that they were chosen from.

    The trace is replayed as recorded. Days in a row stay together for as long as the load and the
    waiting remember themselves: see ``prophase.stats.block_length``.
    """
    if policy.get("depends"):
        torn = "jobs wait for others, and resampled days would tear them apart"
        return DrawnBlocks(_DAY_H, 1, Resampler(workload).blocks, torn, torn), None
    if block_h is not None:
        return DrawnBlocks(block_h, 1, Resampler(workload, block_h).blocks), None
    settings = {**policy, "leave_out_unfit": True}
    replay = simulate(workload, cluster, **settings)
    days = days_of_backlog(replay)
    whole = f"the trace has only {counted(days.all, 'day')}"
    if days.all < LEAST_BLOCKS:
        why_not = f"{whole}: fewer than {LEAST_BLOCKS} blocks that could be drawn from"
        return DrawnBlocks(_DAY_H, days.drawn, days.all, why_not, why_not), replay
    broken = ""
    if days.all // days.together < LEAST_BLOCKS:
        broken = (
            f"the load and the backlog hold together for {days.together} days, and {whole}: "
            "resampled traces break up the backlog, and wait less"
        )
    return DrawnBlocks(_DAY_H, days.drawn, days.all, "", broken), replay


def interval_of_resamples(values: Floats, blocks: int) -> Estimate:
    """Return the mean of a measure over resampled traces, and its interval.

    More seeds make the ends steadier, not closer: what limits them is the number of days. A
    measure that is never negative has no negative end.

    With days that are alike it holds the true mean in 95 % of all cases; with few days of very
    different waits in fewer (exponential days: 94 % of 40, 91 % of 8; lognormal ones with a
    spread of 1: 89 % of 40, 86 % of 8), because the worst days are not in the trace. Below eight
    seeds, and where all seeds give the same, there is no interval.

    Parameters
    ----------
    values : array of shape (seeds,)
        The measure of each seed.
    blocks : int
        Blocks that the trace has to draw from.

    Examples
    --------
    >>> interval = interval_of_resamples(np.arange(6.0, 15.0), blocks=30)
    >>> round(interval.value, 4), round(interval.half_width, 2)
    (10.0, 7.11)
    """
    found = from_draws(values, blocks, unit="block")
    return found.within(0.0) if (values >= 0).all() else found


def recorded_change(
    recorded: tuple[float, float], drawn: tuple[Floats, Floats], blocks: int
) -> Estimate:
    """Return after - before on the trace as recorded, and its interval from resampled traces.

    The value is what the replays of the trace itself say. The interval says what the same change
    is in the mean of traces like this one: where the factor between after and before is steady
    over resampled traces (see :func:`paired_change`), it is that factor's, times what was recorded
    before; else that of the differences. ``benchmarks/quality/backlog_coverage.py`` measures how
    often it holds the truth under backlogs.

    Parameters
    ----------
    recorded : tuple of float
        Before and after, on the trace as recorded.
    drawn : tuple of arrays
        The same on resampled traces.
    blocks : int
        Independent blocks that the trace has to draw from.

    Examples
    --------
    >>> before = np.geomspace(10.0, 1000.0, 9)
    >>> after = 0.5 * before * np.tile([0.9, 1.0, 1.1], 3)
    >>> change = recorded_change((400.0, 200.0), (before, after), blocks=30)
    >>> change.value, -400 < change.low < -200 < change.high < 0
    (-200.0, True)
    """
    then, now = recorded
    found = from_draws(drawn[1] - drawn[0], blocks, unit="block", recorded=now - then)
    if not found.known:
        return found
    both = np.isfinite(drawn[1] - drawn[0])
    before, after = drawn[0][both], drawn[1][both]
    if min(then, now, float(before.min()), float(after.min())) > 0:
        factors = np.log(after / before)
        spread = from_draws(factors, blocks, unit="block", recorded=math.log(now / then))
        if spread.known and np.std(factors, ddof=1) < _STEADY:
            low, high = (then * (math.exp(end) - 1) for end in (spread.low, spread.high))
            return replace(found, low=low, high=high, method=f"paired factor, {spread.method}")
    return found


def recorded_level(recorded: float, drawn: Floats, blocks: int) -> Estimate:
    """Return a measure of the trace as recorded, and its interval from resampled traces.

    Examples
    --------
    >>> level = recorded_level(50.0, np.linspace(30.0, 60.0, 9), blocks=30)
    >>> level.value, 0 < level.low < 50 < level.high
    (50.0, True)
    """
    found = recorded_change((1.0, recorded), (np.ones(len(drawn)), drawn), blocks)
    found = replace(found, value=recorded, low=found.low + 1.0, high=found.high + 1.0)
    return found.within(0.0) if recorded >= 0 and (drawn >= 0).all() else found


def paired_change(before: Floats, after: Floats, blocks: int) -> Estimate:
    """Return the mean of after - before over resampled traces, and its interval.

    Busy days lengthen all waits alike, so policies differ by a factor that is steadier than the
    difference. Where it is (the logarithms of the factors spread by less than one), the interval
    is that of the factor, expressed at the mean of ``before``; else it is that of the differences.

    Examples
    --------
    >>> before = np.geomspace(10.0, 1000.0, 9)
    >>> change = paired_change(before, 0.5 * before + np.tile([0.1, -0.1, 0.2], 3), blocks=30)
    >>> round(change.value), change.high < 0
    (-126, True)
    """
    difference = from_draws(after - before, blocks, unit="block")
    both = np.isfinite(after - before)
    before, after = before[both], after[both]
    if not difference.known or not ((before > 0).all() and (after > 0).all()):
        return difference
    factors = np.log(after / before)
    if np.std(factors, ddof=1) >= _STEADY:
        return difference
    half = from_draws(factors, blocks, unit="block").half_width
    if math.isnan(half):
        return difference
    base, factor = float(np.mean(before)), float(np.mean(after) / np.mean(before))
    low, high = (base * (factor * math.exp(side) - 1) for side in (-half, half))
    return replace(difference, low=low, high=high, method=f"paired factor, {difference.method}")


def interval_remark(
    blocks: int, seeds: int, rows: Iterable[Mapping[str, Any]] = (), measure: str = ""
) -> str:
    """Say why there are no intervals, or that few blocks make them rough; else nothing.

    Parameters
    ----------
    rows : iterable of mappings
        What is shown; a ``measure`` without ends is explained.

    Examples
    --------
    >>> interval_remark(blocks=75, seeds=3)
    'Replays give no intervals: only 3 resampled traces, at least 8 needed: use --seeds 10.'
    """
    why = why_too_short(np.ones(blocks), "block") or why_too_few(seeds)
    if why:
        return f"Replays give no intervals: {why}."
    said = []
    if any(row[f"{measure}_low"] is None for row in rows):
        said.append(
            f"Without an interval: {measure} that is the same on all resampled traces, which do "
            "not say how much it may vary."
        )
    if blocks < _ENOUGH:
        said.append(
            f"Only {blocks} blocks to draw from: intervals are rough. If days differ much, they "
            "hold the truth less often than in 95 % of cases."
        )
    return " ".join(said)


def require_blocks(draw: Resampler, seeds: int, *, chosen: bool = False) -> None:
    """Refuse fewer seeds than none, and a trace too short for blocks that somebody asked for."""
    if seeds < 0:
        raise ParameterError(f"seeds is {seeds}: give 0 for no interval; 10 give one.")
    if seeds and draw.blocks < 2 and not chosen:
        raise ParameterError(
            f"the trace is shorter than two blocks of {draw.block_h:g} h, so seeds have nothing "
            "to draw from. Shorten the blocks, e.g. --block 1h."
        )
