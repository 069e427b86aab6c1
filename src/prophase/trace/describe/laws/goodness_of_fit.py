"""How far a law is from the values, and whether that is good, rough or bad."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import kolmogorov

from prophase.trace.describe.column_arrays import Floats
from prophase.trace.describe.laws.probability_laws import FitError, Law

Verdict = Literal["good", "rough", "bad"]
#: how a law of that verdict fits
MANNER: dict[Verdict, str] = {"good": "well", "rough": "roughly", "bad": "badly"}

#: fewer values than this carry no shape
LEAST_VALUES = 20
#: the test looks at no more values than this, so that its power is the same for every trace
TEST_VALUES = 1000
_BOOTSTRAPS = 99
_SIGNIFICANT = 0.05
#: greatest gap between the two distribution functions
GOOD_DISTANCE, ROUGH_DISTANCE = 0.05, 0.10
#: the law's 99th percentile over that of the values, either way
TAIL_FACTOR = 2.0
#: variance over mean of counts in rescaled time, 1 when the law explains every burst
GOOD_DISPERSION, ROUGH_DISPERSION = 1.5, 4.0


def ks_distance(shares: Floats) -> float:
    """Return the greatest gap between uniform and these shares (Kolmogorov-Smirnov).

    Examples
    --------
    >>> float(ks_distance(np.array([0.25, 0.75])))
    0.25
    """
    ordered = np.sort(shares)
    count = ordered.size
    above = np.arange(1, count + 1) / count - ordered
    below = ordered - np.arange(count) / count
    return float(max(above.max(), below.max()))


def tested_values(values: Floats, random: np.random.Generator) -> Floats:
    """Return the values the tests look at: all of them, or 1,000 drawn once for all laws."""
    if values.size <= TEST_VALUES:
        return values
    return random.choice(values, TEST_VALUES, replace=False)


def bootstrap_p(law: Law, tested: Floats, random: np.random.Generator) -> float:
    """Return how often values drawn from the law look worse than these do.

    The law is refitted to every drawn set, as it was to the values: without that the
    test would forgive a law for having been fitted.
    """
    family = type(law)
    try:
        observed = ks_distance(family.fit(tested, law).share_below(tested))
    except FitError:
        return float("nan")
    worse, drawn = 0, 0
    for _ in range(_BOOTSTRAPS):
        sample = law.sample(tested.size, random)
        try:
            worse += ks_distance(family.fit(sample, law).share_below(sample)) >= observed
        except FitError:
            continue
        drawn += 1
    return (1 + worse) / (1 + drawn) if drawn else float("nan")


def asymptotic_p(shares: Floats, random: np.random.Generator) -> float:
    """Return the large-sample p-value that these shares are uniform, for at most 1,000 of them."""
    tested = tested_values(shares, random)
    root = np.sqrt(tested.size)
    return float(kolmogorov(ks_distance(tested) * (root + 0.12 + 0.11 / root)))


def tail_is_off(law: Law, values: Floats, *, share: float = 0.99) -> tuple[float, bool]:
    """Return the law's 99th percentile over the values', and whether chance cannot explain it."""
    expected = float(law.quantile(np.array([share]))[0])
    seen = float(np.quantile(values, share))
    if not (np.isfinite(expected) and expected > 0 and seen > 0):
        return float("nan"), not np.isfinite(expected)
    density = float(np.exp(law.log_density(np.array([expected]))[0])) * expected
    error = np.sqrt(share * (1 - share) / values.size) / density if density > 0 else np.inf
    ratio = expected / seen
    return ratio, bool(abs(np.log(ratio)) > max(np.log(TAIL_FACTOR), 3 * error))


def judge(distance: float, p_value: float, *, off: bool = False) -> Verdict:
    """Call a fit good, rough or bad, by how far it is and whether chance could explain that.

    With many values every law is rejected, so a small distance is good whatever the test
    says; with few, a larger distance is forgiven if the test cannot tell it from chance.
    A law whose tail (or burstiness) is off is never good.
    """
    chance = p_value >= _SIGNIFICANT
    if distance <= GOOD_DISTANCE or (chance and distance <= ROUGH_DISTANCE):
        return "rough" if off else "good"
    return "rough" if distance <= ROUGH_DISTANCE or chance else "bad"
