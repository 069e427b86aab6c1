"""Fit every law to the durations and say which is best, and whether even that one is bad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prophase import units
from prophase.plural import counted
from prophase.trace.describe.column_arrays import Floats, NotComputable
from prophase.trace.describe.laws.goodness_of_fit import (
    LEAST_VALUES,
    MANNER,
    Verdict,
    bootstrap_p,
    judge,
    ks_distance,
    tail_is_off,
    tested_values,
)
from prophase.trace.describe.laws.hyperexponential import Hyperexponential2, Hyperexponential3
from prophase.trace.describe.laws.probability_laws import (
    Exponential,
    FitError,
    Gamma,
    Law,
    Lognormal,
    Lomax,
    Pareto,
    Weibull,
)

#: the baseline first
SERVICE_LAWS: tuple[type[Law], ...] = (
    Exponential,
    Lognormal,
    Weibull,
    Gamma,
    Hyperexponential2,
    Hyperexponential3,
    Lomax,
    Pareto,
)
#: where laws and values are compared for drawing
SHARES = np.r_[0.001, 0.005, np.linspace(0.01, 0.99, 50), 0.995, 0.999]
_LEAST_DISTINCT = 5


@dataclass(frozen=True)
class Fit:
    """One law at its best, and how good that is."""

    law: str
    parameters: Mapping[str, float]
    mean_s: float
    aic: float
    #: above the best law's; 10 and more is decisive
    aic_above_best: float
    #: greatest gap between the two distribution functions, 0..1
    ks: float
    p_value: float
    #: number of values the test looked at
    p_values_used: int
    #: the law's 99th percentile over that of the values
    p99_ratio: float
    verdict: Verdict
    words: str
    #: quantiles of the law at the shares of the whole result
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class ServiceLaws:
    """All laws, best (least AIC) first."""

    what: str
    #: positive values there are, and how many of them were fitted
    positive: int
    fitted: int
    zeros: int
    missing: int
    seed: int
    fits: tuple[Fit, ...]
    not_fitted: Mapping[str, str]
    shares: tuple[float, ...]
    quantiles: tuple[float, ...]

    @property
    def best(self) -> Fit:
        return self.fits[0]


def fit_service(
    durations: Floats,
    *,
    sample: int = 50_000,
    random_state: int = 0,
    laws: Sequence[type[Law]] = SERVICE_LAWS,
    what: str = "durations",
) -> ServiceLaws | NotComputable:
    """Fit laws to durations and judge each of them.

    Zero durations are left out (no continuous law has them) and counted.

    Parameters
    ----------
    durations : array of float
        Seconds; NaN where missing.
    sample : int, default=50_000
        Fit at most this many values, drawn with the seed.

    Examples
    --------
    >>> drawn = np.random.default_rng(1).lognormal(5, 2, 4000)
    >>> found = fit_service(drawn)
    >>> found.best.law, found.best.verdict
    ('lognormal', 'good')
    """
    known = durations[~np.isnan(durations)]
    positive = known[known > 0]
    if positive.size < LEAST_VALUES:
        return NotComputable(
            f"{positive.size} {what} above zero are known; a law needs {LEAST_VALUES}"
        )
    distinct = np.unique(positive).size
    if distinct < _LEAST_DISTINCT:
        return NotComputable(
            f"the {what} take {counted(distinct, 'distinct value')}; no continuous law applies"
        )
    random = np.random.default_rng(random_state)
    fitted = positive
    if positive.size > sample:
        fitted = random.choice(positive, sample, replace=False)
    fits, failed = fit_all(fitted, laws, random)
    if not fits:
        return NotComputable(f"no law could be fitted: {next(iter(failed.values()))}")
    return ServiceLaws(
        what=what,
        positive=int(positive.size),
        fitted=int(fitted.size),
        zeros=int((known == 0).sum()),
        missing=int(durations.size - known.size),
        seed=random_state,
        fits=tuple(fits),
        not_fitted=failed,
        shares=tuple(SHARES.tolist()),
        quantiles=tuple(float(q) for q in np.quantile(fitted, list(SHARES))),
    )


def fit_all(
    values: Floats, laws: Sequence[type[Law]], random: np.random.Generator
) -> tuple[list[Fit], dict[str, str]]:
    """Return the fits, best first, and why a law could not be fitted."""
    fits: list[Fit] = []
    failed: dict[str, str] = {}
    tested = tested_values(values, random)
    # absurd values overflow inside a density; the check for finite results catches them
    with np.errstate(all="ignore"):
        for family in laws:
            try:
                fits.append(_fit_one(family, values, tested, random))
            except FitError as cause:
                failed[family.name] = str(cause)
    best = min((fit.aic for fit in fits), default=0.0)
    relative = [Fit(**{**vars(fit), "aic_above_best": fit.aic - best}) for fit in fits]
    return sorted(relative, key=lambda fit: fit.aic), failed


def _fit_one(family: type[Law], values: Floats, tested: Floats, random: np.random.Generator) -> Fit:
    law = family.fit(values)
    aic = law.aic(values)
    if not np.isfinite(aic):
        raise FitError("the values are out of the range that can be computed")
    distance = ks_distance(law.share_below(values))
    p_value = bootstrap_p(law, tested, random)
    ratio, off = tail_is_off(law, values)
    verdict = judge(distance, p_value, off=off)
    return Fit(
        law=law.name,
        parameters=law.parameters,
        mean_s=law.mean,
        aic=aic,
        aic_above_best=0.0,
        ks=distance,
        p_value=p_value,
        p_values_used=int(tested.size),
        p99_ratio=ratio,
        verdict=verdict,
        words=_words(law, verdict, distance, p_value, ratio if off else None),
        quantiles=tuple(law.quantile(SHARES).tolist()),
    )


def _words(law: Law, verdict: Verdict, distance: float, p_value: float, ratio: float | None) -> str:
    """Say in one sentence what is good and what is bad about a fit."""
    said = (
        f"{law.name[0].upper()}{law.name[1:]} fits {MANNER[verdict]}: "
        f"its distribution function is off by up to {100 * distance:.1f} percentage points"
    )
    if ratio is not None and np.isfinite(ratio):
        size = f"{units.number(ratio)} times" if ratio >= 1 else f"1/{units.number(1 / ratio)} of"
        said += f", and it puts the longest 1 % at {size} what they are"
    if not np.isfinite(law.mean):
        said += ", and its mean is infinite"
    if verdict == "good" and p_value < 0.05:
        said += " (a test can still tell the difference)"
    return said + "."
