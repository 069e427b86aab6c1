"""Quantile boosting: trees that learn a quantile of use until the next decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.past_use import Lags, lags, startup_level
from prophase.autoscale.policy import Plan, Scaled, ScalingPolicy
from prophase.json_types import JsonObject
from prophase.lazy_imports import optional

if TYPE_CHECKING:
    import xgboost

_TREES = {
    "objective": "reg:quantileerror",
    "max_depth": 4,
    "eta": 0.1,
    "min_child_weight": 5,
    "subsample": 0.7,
    "colsample_bytree": 0.6,
    "max_bin": 64,
    # many small steps: threads would mostly wait for one another on a busy machine
    "nthread": 1,
}
_ROUNDS = 80
#: decisions that are enough to learn from
_ENOUGH = 40_000


class QuantileBoosting(ScalingPolicy):
    """Give the quantile that trees expect from the recent past, times a margin.

    Never less than what is used right now: trees may be wrong about a kind of run that they have
    not seen, and less would be violated at once.
    """

    name = "boosting"
    learns = True

    def __init__(self, *, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        self.floor_ = 1e-3 * (float(fleet.use.mean()) or 1.0)
        self.others_ = tuple(fleet.others)
        seen = lags(fleet, self.floor_, self.others_)
        self.trees_ = _trained(fleet, seen, target, self.floor_, self.random_state)
        return self

    def plan(self, fleet: Fleet) -> Plan:
        seen = lags(fleet, self.floor_, self.others_)
        rise = self.trees_.inplace_predict(_rows(seen, np.arange(fleet.decisions)))
        expected = seen.scale * np.exp(np.asarray(rise, np.float64))
        return _AboveNow(fleet, expected, self.startup_, seen.levels[:, 0])


@dataclass(frozen=True)
class _AboveNow(Scaled):
    #: (decisions,) the last use seen
    last: Floats

    def wanted(self, dial: float) -> Floats:
        wanted = super().wanted(dial)
        return np.where(self.fleet.age > 0, np.maximum(wanted, self.last), wanted)


def _trained(
    fleet: Fleet, seen: Lags, share: float, floor: float, random_state: int
) -> xgboost.Booster:
    library = optional("xgboost", "The policy 'boosting'", "learn")
    random = np.random.default_rng(random_state)
    asked = np.flatnonzero(fleet.age > 0)
    if len(asked) > _ENOUGH:
        asked = np.sort(random.choice(asked, _ENOUGH, replace=False))
    # one of the samples that the decision holds for: their quantile is what is asked for
    place = (random.random(len(asked)) * fleet.block_length[asked]).astype(np.int64)
    use = np.maximum(fleet.use[fleet.first_sample[asked] + place], floor)
    rise = np.log(use / seen.scale[asked])
    settings: JsonObject = {**_TREES, "seed": random_state, "quantile_alpha": share}
    examples = library.DMatrix(_rows(seen, asked), rise)
    trees: xgboost.Booster = library.train(settings, examples, _ROUNDS)
    return trees


def _rows(seen: Lags, decisions: Ints) -> Floats:
    relative: Floats = np.log(seen.levels[decisions] / seen.scale[decisions, None])
    return np.column_stack([relative, seen.manner[decisions]]).astype(np.float32)
