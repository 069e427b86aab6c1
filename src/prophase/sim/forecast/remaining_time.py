"""How long will it still run? Draws from jobs of the same kin that ran at least as long.

Jobs that still run count as well: they have lasted so far (Kaplan and Meier 1958). Without
them, history would hold too few long jobs. Jobs that came together tend to run alike, so their
draws are tied to each other as closely as those of the past were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from prophase.sim.signatures import Floats, Ints

#: from the closest kin to everybody
LEVELS: tuple[tuple[str, ...], ...] = (
    ("user", "group", "request_gpus", "request_cpu_cores", "instances"),
    ("user", "request_gpus", "request_cpu_cores", "instances"),
    ("user",),
    ("queue", "request_gpus", "request_cpu_cores", "instances"),
    ("queue",),
    ("request_gpus", "instances"),
    (),
)
#: kin count only if so many of them ran longer than the job has; among everybody fewer will do
_LEAST_KIN, _LEAST_ALL = 20, 5
#: habits change: of each kin the latest so many count, of everybody more
_RECENT_KIN, _RECENT_ALL = 300, 3000
#: jobs of one kin submitted within this time came together
_BATCH_S, _DAY_S = 6 * 3600.0, 86_400.0
#: what outlives all others has a Pareto tail of this exponent, cut at so many times the longest
_TAIL, _LONGEST = 2.0, 10.0


@dataclass(frozen=True)
class Survival:
    """The share of jobs that run longer than each time, known up to the last of them."""

    time_s: Floats
    #: share that runs longer than time_s
    share: Floats

    @classmethod
    def of(cls, length_s: Floats, ended: Floats) -> Self:
        """Estimate from lengths of which some are only a lower bound (not ``ended``)."""
        # at equal times, ends come before those that go on
        order = np.lexsort((-ended, length_s))
        at_risk = np.arange(len(order), 0, -1)
        events = ended[order] > 0
        share = np.cumprod(np.where(events, 1.0 - 1.0 / at_risk, 1.0))
        return cls(length_s[order][events], np.asarray(share[events], np.float64))

    def longer_than(self, elapsed_s: float) -> int:
        """Return how many of the jobs that ended ran longer."""
        return len(self.time_s) - int(np.searchsorted(self.time_s, elapsed_s, side="right"))

    def left_s(self, elapsed_s: float, luck: Floats) -> Floats:
        """Return how much longer a job runs that has run so long; luck 0 is the least."""
        first = int(np.searchsorted(self.time_s, elapsed_s, side="right"))
        alive = self.share[first - 1] if first else 1.0
        wanted = alive * (1.0 - luck)
        place = np.searchsorted(-self.share, -wanted, side="left")
        inside = np.minimum(place, len(self.time_s) - 1)
        ends = self.time_s[inside]
        beyond = (place >= len(self.time_s)) | (first >= len(self.time_s))
        if beyond.any():
            # nobody is known to have ended that late
            last = max(self.time_s[-1], elapsed_s, 1.0)
            rest = self.share[-1]
            part = wanted[beyond] / rest if rest > 0 else 1.0 - luck[beyond]
            factor = np.maximum(part, 1e-12) ** (-1 / _TAIL)
            ends = ends.copy()
            ends[beyond] = last * np.clip(factor, 1.0, _LONGEST)
        return np.maximum(ends - elapsed_s, 0.0)


@dataclass(frozen=True)
class RunTimes:
    """Run times that jobs are drawn from, by groups of kin.

    Attributes
    ----------
    together, same_day : float
        Correlation of run times, within their kin, of jobs of one kin that came together, and
        of jobs of any kind that came on one day.

    Examples
    --------
    >>> done = pd.DataFrame({"user": ["ann"] * 30, "duration_s": np.arange(30.0), "submit_s": 0.0})
    >>> history = RunTimes.of(done)
    >>> jobs = pd.DataFrame({"user": ["ann"], "elapsed_s": [9.0], "submit_s": [0.0]})
    >>> left = history.draw(jobs, np.random.default_rng(0), 100)
    >>> left.shape, bool((left > 0).all() and (left < 21).all())
    ((1, 100), True)
    """

    #: per level: columns, and the survival of each group
    levels: tuple[tuple[tuple[str, ...], dict[tuple[object, ...], Survival]], ...]
    together: float
    same_day: float

    @classmethod
    def of(
        cls,
        finished: pd.DataFrame,
        running: pd.DataFrame | None = None,
        levels: Sequence[tuple[str, ...]] = LEVELS,
    ) -> Self:
        """Learn from finished jobs, and from running ones that they last longer so far.

        Columns that the table lacks are left out of the kin.
        """
        seen = finished[finished["duration_s"].notna()].assign(_ended=1.0)
        if running is not None and len(running):
            lasting = running.rename(columns={"elapsed_s": "duration_s"}).assign(_ended=0.0)
            seen = pd.concat([seen, lasting], ignore_index=True)
        if "submit_s" in seen:
            seen = seen.sort_values("submit_s", kind="stable")
        length = seen["duration_s"].to_numpy(np.float64)
        ended = seen["_ended"].to_numpy(np.float64)
        kept: list[tuple[tuple[str, ...], dict[tuple[object, ...], Survival]]] = []
        finest: Ints | None = None
        for wanted in levels:
            columns = tuple(name for name in wanted if name in seen)
            if wanted and (not columns or any(columns == level for level, _ in kept)):
                continue
            code, names = _groups(seen, columns)
            finest = code if finest is None else finest
            most = _RECENT_KIN if columns else _RECENT_ALL
            rows = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code))[:-1])
            groups = {
                name: Survival.of(length[part[-most:]], ended[part[-most:]])
                for name, part in zip(names, rows, strict=True)
                if ended[part[-most:]].any()
            }
            kept.append((columns, groups))
        together, same_day = _ties(seen, length, ended, finest)
        return cls(tuple(kept), together, same_day)

    def draw(self, jobs: pd.DataFrame, rng: np.random.Generator, draws: int) -> Floats:
        """Return how much longer each job runs, ``draws`` times; time limits are kept.

        ``elapsed_s`` says how long a job has run; without it, it has not begun.
        """
        count = len(jobs)
        elapsed = jobs["elapsed_s"].to_numpy(np.float64) if "elapsed_s" in jobs else np.zeros(count)
        luck = self._luck(jobs, rng, draws)
        keys = [_keys(jobs, columns) for columns, _ in self.levels]
        left = np.empty((count, draws))
        for row in range(count):
            found = self._kin([level[row] for level in keys], float(elapsed[row]))
            left[row] = found.left_s(float(elapsed[row]), luck[row])
        if "time_limit_s" in jobs:
            limit = jobs["time_limit_s"].to_numpy(np.float64, na_value=np.nan) - elapsed
            # a job past its limit is about to be ended
            left = np.fmin(left, np.maximum(limit, 1.0)[:, None])
        return left

    def _kin(self, keys: Sequence[tuple[object, ...] | None], elapsed: float) -> Survival:
        for (columns, groups), key in zip(self.levels, keys, strict=True):
            found = groups.get(key) if key is not None else None
            least = _LEAST_KIN if columns else _LEAST_ALL
            if found is not None and found.longer_than(elapsed) >= least:
                return found
        return self.levels[-1][1][()]

    def _luck(self, jobs: pd.DataFrame, rng: np.random.Generator, draws: int) -> Floats:
        """Return luck from 0 to 1 per job and draw, alike for jobs that belong together."""
        own = 1.0 - self.together
        z = np.sqrt(own) * rng.standard_normal((len(jobs), draws))
        submit = jobs["submit_s"].to_numpy(np.float64) if "submit_s" in jobs else None
        if submit is None:
            return np.asarray(ndtr(z / np.sqrt(own)))
        columns = self.levels[0][0]
        kin, _ = _groups(jobs, tuple(name for name in columns if name in jobs))
        batch = pd.factorize(kin * (1 << 32) + np.floor(submit / _BATCH_S).astype(np.int64))[0]
        day = pd.factorize(np.floor(submit / _DAY_S))[0]
        for code, part in ((batch, self.together - self.same_day), (day, self.same_day)):
            shared = rng.standard_normal((int(code.max(initial=-1)) + 1, draws))
            z += np.sqrt(part) * shared[code]
        return np.asarray(ndtr(z))


def _groups(jobs: pd.DataFrame, columns: tuple[str, ...]) -> tuple[Ints, list[tuple[object, ...]]]:
    """Number the kin of each job; without columns all are kin."""
    if not columns:
        return np.zeros(len(jobs), np.int64), [()]
    code, names = pd.factorize(pd.MultiIndex.from_arrays([_plain(jobs[name]) for name in columns]))
    return code.astype(np.int64), [tuple(name) for name in names]


def _keys(jobs: pd.DataFrame, columns: tuple[str, ...]) -> list[tuple[object, ...] | None]:
    if not set(columns) <= set(jobs.columns):
        return [None] * len(jobs)
    if not columns:
        return [()] * len(jobs)
    return list(zip(*(_plain(jobs[name]) for name in columns), strict=True))


def _plain(values: pd.Series) -> list[object]:
    """Return values that match each other in look-ups; what is missing is a group too."""
    return ["" if missing else value for value, missing in zip(values, values.isna(), strict=True)]


def _ties(
    seen: pd.DataFrame, length: Floats, ended: Floats, kin: Ints | None
) -> tuple[float, float]:
    """Measure how alike run times of batches and of days are, each ranked within its kin."""
    if kin is None or "submit_s" not in seen:
        return 0.0, 0.0
    done = np.flatnonzero(ended > 0)[-_RECENT_ALL:]
    submit = seen["submit_s"].to_numpy(np.float64)[done]
    code = pd.factorize(kin[done])[0]
    order = np.lexsort((length[done], code))
    counts = np.bincount(code)
    place = np.arange(len(done)) - np.repeat(np.cumsum(counts) - counts, counts)
    score = np.empty(len(done))
    score[order] = ndtri((place + 0.5) / np.repeat(counts, counts))
    known = counts[code] >= _LEAST_KIN
    day = np.floor(submit / _DAY_S).astype(np.int64)
    batch = code * (1 << 32) + np.floor(submit / _BATCH_S).astype(np.int64)
    together = _pair_correlation(score[known], batch[known])
    same_day = _pair_correlation(score[known], day[known])
    same_day = min(same_day, together)
    return together, same_day


def _pair_correlation(score: Floats, group: Ints) -> float:
    """Return the mean product of scores over all pairs within a group, from 0 to 0.95."""
    code = pd.factorize(group)[0]
    sizes = np.bincount(code)
    sums, squares = np.bincount(code, score), np.bincount(code, score**2)
    pairs = float((sizes * (sizes - 1.0)).sum())
    if pairs < _LEAST_KIN:
        return 0.0
    return float(np.clip((sums**2 - squares).sum() / pairs, 0.0, 0.95))
