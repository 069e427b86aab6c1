"""Which tasks depend on the scenario: does what is known before a run say what it needs?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.sizing.assess.drivers import driver_strengths
from prophase.trace.describe.column_arrays import Floats

#: with fewer runs nothing can be said
FEWEST_RUNS = 30
#: peaks whose middle nine tenths lie this close together are always the same
_SAME = 0.05
#: a driver counts from this rank correlation, or share of the variance, on
_LEAST_CORRELATION, _LEAST_EFFECT = 0.3, 0.1
#: and if chance alone would hardly give so much, in deviations
_SURE = 4.0


@dataclass(frozen=True)
class ScenarioDependence:
    """Whether a task's memory depends on what is known before its runs, and on what most."""

    #: "yes", "no" or "unknown"
    depends: str
    driver: str
    because: str


def scenario_dependence(seen: pd.DataFrame, peak_gib: Floats) -> ScenarioDependence:
    """Say whether a task depends on its scenario.

    Parameters
    ----------
    seen : DataFrame
        What is known before each run of the task, a column per attribute.
    peak_gib : array
        What the runs needed.

    Examples
    --------
    >>> rows = np.arange(1.0, 61.0)
    >>> scenario_dependence(pd.DataFrame({"rows": rows}), rows / 3).driver
    'rows'
    >>> scenario_dependence(pd.DataFrame({"rows": rows}), np.full(60, 2.0)).depends
    'no'
    """
    known = np.isfinite(peak_gib) & (peak_gib > 0)
    seen, peak = seen[known], peak_gib[known]
    if len(peak) < FEWEST_RUNS:
        said = f"fewer than {FEWEST_RUNS} runs"
        return ScenarioDependence("unknown", "", said)
    low, middle, high = np.quantile(peak, [0.05, 0.5, 0.95])
    if high - low <= _SAME * middle:
        return ScenarioDependence("no", "", "every run needs about the same")
    table = driver_strengths(seen, peak)
    chance = _SURE / np.sqrt(len(peak) - 1)
    strong = table[
        (table["correlation"].abs() >= max(_LEAST_CORRELATION, chance))
        | (table["effect"] >= max(_LEAST_EFFECT, chance**2))
    ]
    if strong.empty:
        said = "nothing known before a run tells how much it needs"
        return ScenarioDependence("no", "", said)
    best = strong.iloc[0]
    if best["kind"] == "category":
        said = f"{100 * best['effect']:.0f} % of the variance"
    else:
        said = f"rank correlation {best['correlation']:.2f}"
    return ScenarioDependence("yes", str(best["driver"]), said)
