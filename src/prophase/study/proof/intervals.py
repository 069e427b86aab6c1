"""Shares with intervals: what is saved, by blocks of time, and how many are killed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from prophase.sim.signatures import Floats

_LEVEL = 0.95
_DAY_S = 86400.0
#: blocks that a bootstrap should have; a trace of fewer days is cut finer
_BLOCKS = 20
_DRAWS = 1000


@dataclass(frozen=True)
class Estimate:
    """A number, and the interval that holds the true one in ``level`` of all cases."""

    value: float
    low: float
    high: float
    method: str
    level: float = _LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON knows them."""
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(self).items()
        }


def block_length_s(when: Floats) -> float:
    """Return how much time stays together in a bootstrap: a day, or less of a short trace."""
    span = float(when.max() - when.min()) if len(when) else 0.0
    return min(_DAY_S, max(span / _BLOCKS, 1.0))


def share_saved(when: Floats, before: Floats, after: Floats, *, seed: int = 0) -> Estimate:
    """Return what share of ``before`` is not in ``after``, by a bootstrap over blocks of time.

    Jobs of an hour resemble each other, so blocks of time are drawn, not jobs.

    Examples
    --------
    >>> when = 86400.0 * np.arange(30.0)
    >>> found = share_saved(when, np.full(30, 10.0), np.full(30, 4.0))
    >>> round(found.value, 3), round(found.low, 3)
    (0.6, 0.6)
    """
    whole = float(before.sum())
    if not whole > 0:
        return Estimate(math.nan, math.nan, math.nan, "nothing was reserved")
    value = 1.0 - float(after.sum()) / whole
    length = block_length_s(when)
    block = _blocks(when, length)
    blocks = int(block.max()) + 1
    if blocks < 2:
        return Estimate(value, math.nan, math.nan, "one block of time: no interval")
    asked, got = np.bincount(block, before), np.bincount(block, after)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(blocks, size=(_DRAWS, blocks))
    sums = asked[drawn].sum(axis=1)
    shares = 1.0 - got[drawn].sum(axis=1)[sums > 0] / sums[sums > 0]
    low, high = np.quantile(shares, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    # few blocks spread too little when drawn anew
    widen = math.sqrt(blocks / (blocks - 1))
    # but no mean of blocks lies beyond the lowest or the highest of them
    of_blocks = 1.0 - got[asked > 0] / asked[asked > 0]
    return Estimate(
        value,
        max(value - (value - float(low)) * widen, float(of_blocks.min())),
        min(value + (float(high) - value) * widen, float(of_blocks.max())),
        f"bootstrap over {blocks} blocks of {length / 3600:.3g} h",
    )


def kill_share(killed: NDArray[np.bool_], when: Floats | None = None) -> Estimate:
    """Return the share of runs that were killed, with its Clopper-Pearson interval.

    Kills come together: a task that has grown is killed again and again. With ``when`` the runs
    count as only so many independent ones as the blocks of time they fall in bear out (Korn and
    Graubard 1998), so the interval is as wide as it must be.

    Examples
    --------
    >>> found = kill_share(np.array([True] + [False] * 99))
    >>> round(found.value, 3), round(found.low, 4), round(found.high, 3)
    (0.01, 0.0003, 0.054)
    >>> together = np.arange(400) < 20
    >>> alone, by_time = kill_share(together), kill_share(together, 3600.0 * np.arange(400))
    >>> by_time.low < alone.low < alone.high < by_time.high
    True
    """
    runs, kills = float(len(killed)), float(killed.sum())
    if not runs:
        return Estimate(math.nan, math.nan, math.nan, "no run")
    value, method = kills / runs, f"Clopper-Pearson, {len(killed):,} runs"
    fewer = 1.0 if when is None else _togetherness(killed.astype(float), when)
    if fewer > 1.0:
        runs, kills = runs / fewer, kills / fewer
        method += f" that count as {runs:,.0f}, as kills come together"
    rest = (1 - _LEVEL) / 2
    low = float(beta.ppf(rest, kills, runs - kills + 1)) if kills else 0.0
    high = float(beta.ppf(1 - rest, kills + 1, runs - kills)) if kills < runs else 1.0
    return Estimate(value, low, high, method)


def _togetherness(killed: Floats, when: Floats) -> float:
    """Return how many runs count as one: the variance over blocks against that of single runs."""
    runs, share = len(killed), float(killed.mean())
    block = _blocks(when, block_length_s(when))
    blocks = int(block.max()) + 1
    alone = share * (1.0 - share) / runs
    if blocks < 2 or alone <= 0:
        return 1.0
    excess = np.bincount(block, killed) - share * np.bincount(block)
    together = blocks / (blocks - 1) * float(excess @ excess) / runs**2
    return min(max(together / alone, 1.0), float(runs))


def _blocks(when: Floats, length_s: float) -> NDArray[np.intp]:
    """Number the blocks of time that hold anything."""
    return np.unique(np.floor((when - when.min()) / length_s), return_inverse=True)[1]
