"""Choose a policy's settings on the fit series, so that new series are satisfied as asked.

The dial is set by cross-conformal calibration: every fit series is planned by a policy that has
learned from other series only, and the dial is turned until the asked share of all those samples
is satisfied. Settings and hysteresis are those with the least allocation among the ones that
stay within the allowed resizes.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from prophase.autoscale.allocation_measures import Measures, measure
from prophase.autoscale.fleet import Fleet, Floats
from prophase.autoscale.objective import Objective, objective_of
from prophase.autoscale.policy import Hysteresis, Part, Plan, ScalingPolicy
from prophase.errors import InputError

#: samples that settings are chosen on; more series add time and no precision
_ENOUGH = 400_000
#: share of the allowed resizes that a setting may need: other series need some more
_RESIZES = 0.9


@dataclass(frozen=True)
class TunedPolicy:
    """A policy that has learned from all fit series, with the dial that satisfies new ones."""

    policy: ScalingPolicy
    dial: float
    rule: Hysteresis
    #: on the fit series, each planned without having been learned from
    expected: Measures
    #: whether a setting within the allowed resizes was found
    within_resizes: bool
    #: whether the fit series, each held out, are served as asked
    is_met: bool
    #: fit series that settings were chosen on, and their plan
    fleet: Fleet
    held_out: Plan

    def dial_for(self, target: float | Objective) -> float:
        """Return the dial that does as another objective asks."""
        asked = objective_of(target)
        return least_dial(self.policy, self.held_out, self.fleet, asked, self.rule)

    def allocate(self, fleet: Fleet) -> Floats:
        """Return the allocation per decision of new series."""
        return self.policy.plan(fleet).allocate(self.dial, self.rule)


def tune(
    policy: ScalingPolicy,
    fleet: Fleet,
    *,
    target: float | Objective,
    max_resizes: float = 40.0,
    folds: int = 4,
    random_state: int = 0,
) -> TunedPolicy:
    """Return the policy fitted, with the settings that suit new series like the fit series.

    Parameters
    ----------
    target : float or Objective
        Share of samples to satisfy, such as 0.99, or kills that are allowed.
    max_resizes : float, default=40.0
        Resizes per 1,000 samples that a setting may need.
    folds : int, default=4
        Groups of series that are planned without having been learned from.
    """
    asked = objective_of(target)
    if not fleet.samples:
        raise InputError("there are no series to learn from. Pass some with --train.")
    some = _enough(fleet, random_state)
    best: TunedPolicy | None = None
    for variant in policy.variants():
        plan = held_out_plan(variant, some, asked.share, folds=folds, random_state=random_state)
        dial: float | None = None
        for rule in variant.hystereses:
            dial = least_dial(variant, plan, some, asked, rule, near=dial) if variant.tuned else 1.0
            given = plan.allocate(dial, rule)
            found = measure(some, given, rule=asked.rule)
            within = found.resizes_per_1000 <= _RESIZES * max_resizes
            met = (asked if variant.tuned else asked.exactly()).is_met(some, given)
            candidate = TunedPolicy(variant, dial, rule, found, within, met, some, plan)
            if best is None or _rank(candidate) < _rank(best):
                best = candidate
    assert best is not None
    best.policy.fit(fleet, asked.share)
    return best


def held_out_plan(
    policy: ScalingPolicy, fleet: Fleet, target: float, *, folds: int, random_state: int = 0
) -> Plan:
    """Return a plan of every series by a policy that has not trained on it."""
    names = fleet.series
    if not policy.learns or len(names) < 2:
        return deepcopy(policy).fit(fleet, target).plan(fleet)
    shuffled = np.random.default_rng(random_state).permutation(len(names))
    parts = []
    for fold in range(min(folds, len(names))):
        inside = [names[place] for place in shuffled[fold::folds]]
        outside = [name for name in names if name not in set(inside)]
        fitted = deepcopy(policy).fit(fleet.only(outside), target)
        parts.append(Part(fleet.decisions_of(inside), fitted.plan(fleet.only(inside))))
    return parts[0].plan.joined(fleet, parts)


def least_dial(
    policy: ScalingPolicy,
    plan: Plan,
    fleet: Fleet,
    objective: Objective,
    rule: Hysteresis,
    *,
    near: float | None = None,
) -> float:
    """Return the lowest setting of the dial that does as the objective asks.

    Parameters
    ----------
    near : float, optional
        A setting that the answer is probably close to: saves most of the tries.
    """

    def enough(log_dial: float) -> bool:
        return objective.is_met(fleet, plan.allocate(math.exp(log_dial), rule))

    low, high = (math.log(end) for end in policy.dials)
    if near is not None:
        width = (high - low) / 32
        below, above = max(low, math.log(near) - width), min(high, math.log(near) + width)
        if enough(above):
            low, high = (low, below) if enough(below) else (below, above)
        else:
            low = above
    while high - low > policy.precision:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.exp(high)


def _rank(candidate: TunedPolicy) -> tuple[bool, float]:
    """Sort within the resizes first, then by allocation; falling short of the target is last."""
    found = candidate.expected
    short = candidate.policy.tuned and not candidate.is_met
    excess = 0.0 if candidate.within_resizes else found.resizes_per_1000
    return short, excess * 1e3 + found.allocation_over_usage


def _enough(fleet: Fleet, random_state: int) -> Fleet:
    """Return so many whole series, drawn at random, as settings need."""
    if fleet.samples <= _ENOUGH:
        return fleet
    names = fleet.series
    shuffled = np.random.default_rng(random_state).permutation(len(names))
    per_series = dict.fromkeys(names, 0)
    for name, length in zip(fleet.series_id, fleet.lengths.tolist(), strict=True):
        per_series[name] += length
    kept, total = [], 0
    for place in shuffled:
        if total >= _ENOUGH:
            break
        kept.append(names[place])
        total += per_series[names[place]]
    return fleet.only(kept)
