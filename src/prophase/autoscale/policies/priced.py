"""Priced: allocate more only where it buys satisfied samples cheaply.

A fixed quantile of the future spends the same care everywhere. But a violated sample counts the
same wherever it happens, while preventing it may take a hundredth more in a calm run and twice
the use in a spiky one. So trees learn the chance that use exceeds a level, given the recent
past, and each decision takes the level with the least sum of allocation and price times chance.
The price is the dial. A current allocation stays until changing it saves enough to be worth a
resize.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from prophase.autoscale.allocation_measures import is_memory
from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.past_use import Lags, lags, startup_level
from prophase.autoscale.policy import Hysteresis, Part, Plan, ScalingPolicy, scattered
from prophase.json_types import JsonObject
from prophase.lazy_imports import optional

if TYPE_CHECKING:
    import xgboost

#: levels to choose from, relative to the recent maximum: fine where runs are calm
_LEVELS = np.concatenate(
    [
        [0.5, 0.6, 0.7, 0.77, 0.83, 0.88, 0.92, 0.95, 0.97, 0.98, 0.99, 0.995],
        [1.0001, 1.003, 1.006, 1.01, 1.015, 1.02, 1.03, 1.04, 1.055, 1.07, 1.09, 1.12],
        [1.16, 1.2, 1.25, 1.3, 1.4, 1.5, 1.7, 2.0, 2.5, 4.0],
    ]
)
#: a run's price falls and rises by these powers of e at most
_REACTIONS = (-1.0, 3.0)
#: levels drawn per decision to learn from, and decisions that are enough
_DRAWN = 8
_ENOUGH = 40_000
#: decisions that trees are asked about at once
_CHUNK = 20_000
_TREES = {
    "objective": "binary:logistic",
    "max_depth": 5,
    "eta": 0.08,
    "min_child_weight": 20,
    "subsample": 0.7,
    "colsample_bytree": 0.6,
    "reg_lambda": 5.0,
    "max_bin": 64,
    # many small steps: threads would mostly wait for one another on a busy machine
    "nthread": 1,
}
_ROUNDS = 150


class Priced(ScalingPolicy):
    """Weigh allocation against the chance of exceeding it.

    Parameters
    ----------
    per_run : bool, default=True
        Count allocation relative to the run's own level instead of in the metric's unit.
        In the metric's unit a margin on a small run is cheap, so small runs are served better.
    """

    name: ClassVar[str] = "priced"
    learns = True
    learnt = ("highest_",)
    corrects = True
    dials = (1e-2, 1e4)
    precision = 0.02
    #: here ``down`` is the share of the allocation that a resize has to save
    hystereses = tuple(
        Hysteresis(0.0, worth)
        for worth in (0.0, 0.006, 0.015, 0.025, 0.035, 0.05, 0.08, 0.13, 0.2, 0.3, 0.45, 0.65, 0.95)
    )

    def __init__(
        self, *, per_run: bool = True, reaction: float = 0.1, random_state: int = 0
    ) -> None:
        self.per_run, self.reaction, self.random_state = per_run, reaction, random_state

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_, self.target_ = startup_level(fleet, target), target
        self.mean_ = float(fleet.use.mean()) or 1.0
        self.others_ = tuple(fleet.others)
        # trees learn from it what no run exceeds: all cores of a node, or 100 %
        self.highest_ = float(fleet.use.max()) or 1.0
        self.trees_ = _trained(fleet, self._lags(fleet), self.highest_, self.random_state)
        return self

    def plan(self, fleet: Fleet) -> Plan:
        seen = self._lags(fleet)
        levels = seen.scale[:, None] * _LEVELS
        chance = np.empty(levels.shape)
        for start in range(0, fleet.decisions, _CHUNK):
            part = np.arange(start, min(start + _CHUNK, fleet.decisions))
            asked = _questions(seen, part, levels[part], self.highest_)
            chance[part] = self.trees_.inplace_predict(asked).reshape(len(part), -1)
        # memory below the last use would kill at once; a peak of CPU may have passed
        least = seen.levels[:, 0] if is_memory(fleet.metric) else np.zeros(fleet.decisions)
        unit = seen.scale if self.per_run else np.full(fleet.decisions, self.mean_)
        return _Prices(
            fleet,
            levels,
            chance,
            unit,
            least,
            np.full(fleet.decisions, self.startup_),
            self.target_,
            self.reaction,
        )

    def settings(self) -> dict[str, float | int | str]:
        counted = "per run" if self.per_run else "in the metric's unit"
        return {"counted": counted, "looks_also_at": ", ".join(self.others_)}

    def _lags(self, fleet: Fleet) -> Lags:
        return lags(fleet, 1e-3 * self.mean_, self.others_)


@dataclass(frozen=True)
class _Prices(Plan):
    fleet: Fleet
    #: (decisions, levels) rising
    levels: Floats
    #: (decisions, levels) falling
    chance: Floats
    #: (decisions,) what a violated sample costs at a dial of 1
    unit: Floats
    #: (decisions,) no less is given
    least: Floats
    #: (decisions,) what is given at a start
    startup: Floats
    target: float
    reaction: float

    @classmethod
    def joined(cls, fleet: Fleet, parts: Sequence[Part[Self]]) -> Plan:
        def whole(name: str) -> Floats:
            return scattered([(part.inside, getattr(part.plan, name)) for part in parts])

        return cls(
            fleet,
            whole("levels"),
            whole("chance"),
            whole("unit"),
            whole("least"),
            whole("startup"),
            parts[0].plan.target,
            parts[0].plan.reaction,
        )

    def allocate(self, dial: float, rule: Hysteresis) -> Floats:
        fleet, laid = self.fleet, self._laid
        chosen = laid.startup.copy()
        debt = np.zeros(len(fleet.lengths))
        for wave, before in fleet.in_waves():
            current, price = chosen[before], dial * laid.unit[wave]
            if self.reaction:
                above = (laid.use[before] > current[:, None]).sum(axis=1)
                owed = debt[: len(current)]
                owed += above - (1 - self.target) * laid.samples[before]
                price = price * np.exp(np.clip(self.reaction * owed, *_REACTIONS))
            chosen[wave] = laid.chosen(wave, price, current, rule.down)
        found = np.empty_like(chosen)
        found[fleet.wave_order] = chosen
        return found

    @cached_property
    def _laid(self) -> _Laid:
        order = self.fleet.wave_order
        levels, least = self.levels[order], self.least[order]
        return _Laid(
            levels,
            np.where(levels < least[:, None], np.inf, levels),
            self.chance[order],
            self.unit[order],
            least,
            self.startup[order],
            _blocks(self.fleet)[order],
            self.fleet.block_length[order],
        )


@dataclass(frozen=True)
class _Laid:
    """What prices need, wave by wave, so that a wave is a slice."""

    levels: Floats
    #: levels, or infinity where they lie below the least
    allowed: Floats
    chance: Floats
    unit: Floats
    least: Floats
    startup: Floats
    #: (decisions, every) until the next decision
    use: Floats
    samples: Ints

    def chosen(self, wave: slice, price: Floats, current: Floats, worth: float) -> Floats:
        """Return the cheapest level of each decision, or the current one if not much dearer."""
        levels, chance = self.levels[wave], self.chance[wave]
        cost = self.allowed[wave] + price[:, None] * chance
        best = np.argmin(cost, axis=1)
        every = np.arange(len(current))
        wanted, lowest = levels[every, best], cost[every, best]
        place = (levels <= current[:, None] * (1 + 1e-9)).sum(axis=1) - 1
        exceeded = np.where(place >= 0, chance[every, np.maximum(place, 0)], 1.0)
        kept = current + price * exceeded <= lowest + worth * wanted
        return np.where(kept & (current >= self.least[wave]), current, wanted)


def _blocks(fleet: Fleet) -> Floats:
    """Return the use until the next decision, a row per decision; nothing where a run ends."""
    place = np.arange(fleet.every)
    at = np.minimum(fleet.first_sample[:, None] + place, fleet.samples - 1)
    return np.where(place < fleet.block_length[:, None], fleet.use[at], -np.inf)


def _trained(fleet: Fleet, seen: Lags, highest: float, random_state: int) -> xgboost.Booster:
    """Return trees that answer how likely use exceeds a level until the next decision."""
    library = optional("xgboost", "The policy 'priced'", "learn")
    random = np.random.default_rng(random_state)
    asked = np.flatnonzero(fleet.age > 0)
    if len(asked) > _ENOUGH:
        asked = np.sort(random.choice(asked, _ENOUGH, replace=False))
    # anywhere between two levels of the grid, so that trees do not learn the grid
    place = random.uniform(0, len(_LEVELS) - 1, (len(asked), _DRAWN))
    drawn = np.interp(place, np.arange(len(_LEVELS)), _LEVELS) * seen.scale[asked][:, None]
    exceeded = _exceeded(fleet, asked, drawn)
    questions = _questions(seen, asked, drawn, highest)
    falling = seen.levels.shape[1] + 1
    settings: JsonObject = {
        **_TREES,
        "seed": random_state,
        "monotone_constraints": (-1,) * falling + (0,) * (questions.shape[1] - falling),
    }
    examples = library.DMatrix(questions, exceeded.ravel())
    trees: xgboost.Booster = library.train(settings, examples, _ROUNDS)
    return trees


def _questions(seen: Lags, decisions: Ints, levels: Floats, highest: float) -> Any:
    """Return a row per decision and level: it over each lag and the highest use, and the manner."""
    known = np.pad(seen.levels[decisions], ((0, 0), (0, 1)), constant_values=highest)
    over = np.log(levels)[:, :, None] - np.log(known)[:, None, :]
    manner = np.repeat(seen.manner[decisions][:, None, :], levels.shape[1], axis=1)
    rows = np.concatenate([np.clip(over, -3, 3), manner], axis=2)
    return rows.reshape(-1, rows.shape[2]).astype(np.float32)


def _exceeded(fleet: Fleet, decisions: Ints, levels: Floats) -> Floats:
    """Return the share of samples until the next decision that exceed each level."""
    length = fleet.block_length[decisions]
    above = np.zeros(levels.shape)
    for place in range(fleet.every):
        inside = place < length
        at = np.minimum(fleet.first_sample[decisions] + place, fleet.samples - 1)
        above += inside[:, None] & (fleet.use[at][:, None] > levels)
    return above / length[:, None]
