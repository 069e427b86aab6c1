"""How many resampled traces does an interval need?

Histories of 5 to 30 days. Waits of a day before and after a change are lognormal with a spread of
1, and their factor lognormal with a spread of 0.3 around 1 (`skewed`); or one day in four gets an
exponential wait on top and all others none (`rare`). A trace is resampled as `sweep`, `whatif` and
`prove` do, 3 to 50 times, and its waits go through `interval_of_resamples` and `paired_change`.
Below the least number of draws these give no interval; for this measurement alone that limit is
taken away.

One row per kind of days, number of days and number of resampled traces: coverage of the 95 %
interval of the change; beside it that of the mean wait, how much the lengths of two intervals of
the same history differ when only the draws differ (95 % of histories differ by less than that
factor), and how often all draws were equal although days differ, so that there was no interval.

Coverage hardly depends on the number of draws, because few of them are answered by a longer
interval on average. What depends on it is luck: with three draws some intervals are many times
shorter than others of the same history, and it is the short ones that are wrong and believed.

    python benchmarks/quality/resampled_coverage.py [HISTORIES]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import numpy as np
from numpy.typing import NDArray

from prophase.sim.sweep.resampled_traces import interval_of_resamples, paired_change
from prophase.stats import Estimate, bootstrap
from record import Measurement, record

Floats = NDArray[np.float64]
#: waits of each day before and after
Days = Callable[[np.random.Generator, int], tuple[Floats, Floats]]

BLOCKS = (5, 8, 14, 30)
SEEDS = (3, 5, 8, 10, 20, 50)
HISTORIES = 1000
SPREAD = 0.3


def skewed(rng: np.random.Generator, days: int) -> tuple[Floats, Floats]:
    """Every day has a factor of its own; they are 1 in the mean."""
    before = rng.lognormal(0.0, 1.0, days)
    return before, before * rng.lognormal(-(SPREAD**2) / 2, SPREAD, days)


def rare(rng: np.random.Generator, days: int) -> tuple[Floats, Floats]:
    """One day in four waits longer, by 4 in the mean."""
    before = 1.0 + rng.exponential(0.2, days)
    return before, before + np.where(rng.random(days) < 0.25, rng.exponential(4.0, days), 0.0)


#: days, true mean before, true change
KINDS: dict[str, tuple[Days, float, float]] = {
    "skewed": (skewed, math.exp(0.5), 0.0),
    "rare": (rare, 1.2, 1.0),
}


def main() -> None:
    histories = int(sys.argv[1]) if len(sys.argv) > 1 else HISTORIES
    bootstrap.LEAST_DRAWS = 2
    for kind in KINDS:
        for blocks in BLOCKS:
            for seeds in SEEDS:
                measure(kind, blocks, seeds, histories)


def measure(kind: str, blocks: int, seeds: int, histories: int) -> None:
    make, true_mean, true_change = KINDS[kind]
    rng = np.random.default_rng([blocks, seeds])
    of_mean, of_change, factors = [], [], []
    equal = 0
    for _ in range(histories):
        before, after = make(rng, blocks)
        mean, change = replayed(rng, before, after, seeds)
        _, other = replayed(rng, before, after, seeds)
        of_mean.append(mean.holds(true_mean))
        if change.known:
            of_change.append(change.holds(true_change))
        else:
            equal += bool((before != after).any())
        if change.known and other.known:
            factors.append(abs(math.log(change.half_width / other.half_width)))
    apart = math.exp(np.quantile(factors, 0.95))
    record(
        Measurement(
            f"coverage of the 95 % interval of a change, {kind} days, {blocks} blocks, "
            f"{seeds} resampled traces",
            "%",
            [round(100 * float(np.mean(of_change)), 1)],
            data=f"{histories} invented histories",
            remark=f"of the mean wait {100 * float(np.mean(of_mean)):.1f} %; lengths of two "
            f"intervals of a history differ by a factor of {apart:.1f}; all draws equal by luck "
            f"{equal}, days all equal {histories - equal - len(of_change)} of {histories}",
        )
    )


def replayed(
    rng: np.random.Generator, before: Floats, after: Floats, seeds: int
) -> tuple[Estimate, Estimate]:
    """Return the mean wait before and its change, from traces of days drawn with replacement."""
    days = rng.integers(len(before), size=(seeds, len(before)))
    then, now = before[days].mean(axis=1), after[days].mean(axis=1)
    return (
        interval_of_resamples(then, len(before)),
        paired_change(then, now, len(before)),
    )


if __name__ == "__main__":
    main()
