"""Are forecasts worth giving? What past ones were worth beside the recent waits of jobs alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase import units
from prophase.sim.forecast.start_forecast import IntervalWidening, StartForecast
from prophase.sim.signatures import Floats
from prophase.stats import Blocks, Estimate, share

#: forecasts needed to judge by, and how much better than the plain guess they have to be
LEAST_FORECASTS, BETTER = 20, 0.7
#: what intervals that should hold 80 % may hold
HELD = (0.75, 0.85)
#: share of the jobs of a past instant that must have started since
SETTLED = 0.8
#: jobs alike that started last, whose waits are the plain guess
_ALIKE = 20
#: starts within this time are as good as forecast
_SLACK_S = 1.0


def why_withheld(forecasts: int, error_s: float, alike_error_s: float, held: Estimate) -> str:
    """Say why forecasts like these are not given; empty: they are.

    Parameters
    ----------
    error_s, alike_error_s : float
        Median error of past forecasts, and of the recent waits of jobs alike.
    held : Estimate
        Share of past starts inside intervals that were fitted to other instants.

    Examples
    --------
    >>> why_withheld(100, 60.0, 600.0, Estimate(0.8, 0.7, 0.9))
    ''
    """
    if forecasts < LEAST_FORECASTS:
        return ""
    if error_s > BETTER * alike_error_s:
        return (
            f"forecasts at past instants missed by {units.duration(error_s)} in the median, recent "
            f"waits of jobs alike by {units.duration(alike_error_s)}: not 30 % better"
        )
    if held.known and (held.high < HELD[0] or held.low > HELD[1]):
        return (
            f"intervals at past instants held {held.value:.0%} of the starts "
            f"({held.low:.0%} to {held.high:.0%}) instead of 80 %"
        )
    return ""


def withheld(found: StartForecast, reason: str) -> StartForecast:
    """Take a forecast back for a reason; keep it without one."""
    if not reason or not found.known:
        return found
    return replace(found, p10_s=None, p50_s=None, p90_s=None, reason=reason)


def settled(started: Floats) -> NDArray[np.bool_]:
    """Tell which past forecasts to learn from, by the share of their instant's jobs that started.

    Of an instant just ago only short waits are known: intervals that are fitted to those are too
    short. Where too few forecasts are left, all count.
    """
    kept = started >= SETTLED
    return kept if kept.sum() >= LEAST_FORECASTS else np.ones(len(started), np.bool_)


def held_by_others(low: Floats, high: Floats, truth: Floats, when_s: Floats) -> Estimate:
    """Return the share of starts inside intervals whose ends were fitted to the other instants."""
    inside = np.zeros(len(truth), np.bool_)
    instants = np.unique(when_s)
    if len(instants) == 1:
        return Estimate(float("nan"), reason="all forecasts were made at one instant")
    for now_s in instants:
        here = when_s == now_s
        moves = IntervalWidening.learn(
            low[~here], high[~here], truth[~here], independent=len(instants) - 1
        )
        for row in np.flatnonzero(here):
            least, most = moves.apply(float(low[row]), float(high[row]))
            inside[row] = least - _SLACK_S <= truth[row] <= most + _SLACK_S
    return share(inside, Blocks.of(when_s, unit="instant"))


def wait_of_alike(known: pd.DataFrame, now_s: float, job: Mapping[str, Any]) -> float:
    """Return how much longer a job waits if it waits as jobs alike that started last."""
    longer = waits_of_alike(known, now_s, job)
    return float(np.median(longer)) if len(longer) else 0.0


def waits_of_alike(known: pd.DataFrame, now_s: float, job: Mapping[str, Any]) -> Floats:
    """Return how much longer jobs alike that started last waited than a job has by now.

    Alike: of the same queue, with a like size; waits shorter than it has waited already do not
    count.
    """
    begun = known[known["start_s"] <= now_s]
    alike = np.abs(np.log2(_size(begun) / _size(pd.DataFrame([job])).iloc[0])) <= 0.5
    if "queue" in begun and isinstance(job.get("queue"), str):
        alike &= begun["queue"] == job["queue"]
    recent = begun[alike].sort_values("start_s").tail(_ALIKE)
    waited = now_s - float(job["submit_s"])
    waits = (recent["start_s"] - recent["submit_s"]).to_numpy(np.float64)
    further: Floats = waits[waits >= waited] - waited
    return further


def _size(jobs: pd.DataFrame) -> pd.Series:
    """Return how much jobs ask for: GPUs where they do, else cores, times instances."""
    ones = pd.Series(1.0, jobs.index)
    gpus = jobs.get("request_gpus", ones * 0.0).fillna(0.0).astype(float)
    cores = jobs.get("request_cpu_cores", ones).fillna(1.0).astype(float)
    instances = jobs.get("instances", ones).fillna(1.0).astype(float)
    return (gpus.where(gpus > 0, cores) * instances).clip(lower=1e-3)
