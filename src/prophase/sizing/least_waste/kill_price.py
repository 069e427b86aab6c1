"""What a kill costs, and how that price moves until the chosen share of tasks is killed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from prophase.json_types import JsonMapping, JsonObject
from prophase.sizing.sizer import Features

#: how far one kill moves the logarithm of the price
_STEP = 0.25
#: share of that which moves the price of all tasks; the rest is the task's own
_POOLED = 0.5
#: logarithm of the cheapest own price against that of all
_LOWEST_OWN = -6.0
_CHEAPEST, _DEAREST = 1e-4, 1e4
#: without a risk: share of tasks beyond which kills become dearer
_MOST_KILLED = 0.1
_FADING = 0.995
#: instances whose kills are remembered until they end
MOST_NOTED = 10_000
#: logarithm of the most that what is under way makes a kill dearer
_MOST_EXPOSED = 12.0


class KillPrice:
    """The price of a kill in GiB h: fixed, or steered towards a risk.

    Parameters
    ----------
    risk : float, optional
        Share of tasks that may be killed at their first request.
    share : float
        Without a risk: the price as a share of a usual request x run time. It rises from
        there only if more than a tenth of the tasks is killed.
    """

    def __init__(self, risk: float | None, share: float) -> None:
        self.risk = _MOST_KILLED if risk is None else risk
        self.cheapest = share if risk is None else _CHEAPEST
        self.share = share if risk is None else _first_price(risk)
        #: whether it is steered towards a risk
        self.steered = risk is not None
        self.usual = math.nan
        #: how often the price was raised for each task; a kill that was decided on before the
        #: last time belongs to a wave that has been answered already
        self._raised: dict[str, int] = {}
        self._under_way: dict[tuple[object, ...], _UnderWay] = {}
        #: logarithm of a task's own price against that of all
        self._own: dict[str, float] = {}
        #: kills to be expected of what is under way, by task
        self._exposed: dict[str, float] = {}

    def to_dict(self) -> JsonObject:
        """Return what was learnt of the price; what is under way is not kept."""
        return {
            "share": self.share,
            "usual": None if math.isnan(self.usual) else self.usual,
            "raised": dict(self._raised),
            "own": dict(self._own),
        }

    def restore(self, held: JsonMapping) -> None:
        """Take up a price that was kept."""
        self.share = float(held["share"])
        self.usual = math.nan if held["usual"] is None else float(held["usual"])
        self._raised = {str(task): int(times) for task, times in held["raised"].items()}
        self._own = {str(task): float(own) for task, own in held["own"].items()}

    def per_kill(self, task: str, hours: float) -> float:
        """Return the price of a kill as GiB for a run of so many hours."""
        if not self.usual > 0:
            return 0.0
        exposed = math.exp(min(_STEP * self._exposed.get(task, 0.0), _MOST_EXPOSED))
        share = self.share * math.exp(self._own.get(task, 0.0))
        return min(share * exposed, _DEAREST) * self.usual / max(hours, 1e-3)

    def decided(self, task: str, features: Features, chance: float) -> None:
        """Take note of a first request and the chance that it is killed."""
        if len(self._under_way) >= MOST_NOTED:
            self._forget(*next(iter(self._under_way.items())))
        held = _UnderWay(task, self._raised.get(task, 0), chance)
        self._under_way[instance_key(task, features)] = held
        self._exposed[task] = self._exposed.get(task, 0.0) + chance

    def _forget(self, key: tuple[object, ...], held: _UnderWay) -> None:
        self._under_way.pop(key, None)
        left = self._exposed.get(held.task, 0.0) - held.chance
        if left > 1e-9:
            self._exposed[held.task] = left
        else:
            self._exposed.pop(held.task, None)

    def killed(self, task: str, features: Features) -> None:
        """Take note of a kill; only the first of an instance, and of a wave, counts."""
        unknown = _UnderWay(task, self._raised.get(task, 0))
        held = self._under_way.setdefault(instance_key(task, features), unknown)
        if not held.killed:
            held.killed = True
            self._answer(task, held)

    def retried(self, task: str, features: Features) -> None:
        """Take note that an instance asks again, for those who do not report kills."""
        self.killed(task, features)

    def succeeded(self, task: str, features: Features, size: float) -> None:
        """Take note of an instance that ended, after kills or not."""
        known = self.usual == self.usual
        self.usual = _FADING * self.usual + (1 - _FADING) * size if known else size
        key = instance_key(task, features)
        held = self._under_way.get(key, _UnderWay(task, 0))
        self._forget(key, held)
        if not held.killed and held.chance > 0.0:
            self._move(task, -_STEP * self.risk)

    def _answer(self, task: str, held: _UnderWay) -> None:
        raised = self._raised.get(task, 0)
        if held.raised < raised:
            return
        self._raised[task] = raised + 1
        self._move(task, _STEP * (1.0 - self.risk))

    def _move(self, task: str, step: float) -> None:
        """Move the price of all tasks by one half, that of this task by the other."""
        moved = self.share * math.exp(_POOLED * step)
        self.share = min(max(moved, self.cheapest), _DEAREST)
        own = self._own.get(task, 0.0) + (1 - _POOLED) * step
        self._own[task] = max(own, _LOWEST_OWN if self.steered else 0.0)


@dataclass
class _UnderWay:
    """An instance that has not ended: how often its task's price had been raised before."""

    task: str
    raised: int
    #: that its first request is killed, as far as was known
    chance: float = 0.0
    killed: bool = False


def instance_key(task: str, features: Features) -> tuple[object, ...]:
    """Return what an instance is known by from its decision to its end."""
    return task, features.get("tag"), features.get("submit_s")


def _first_price(risk: float) -> float:
    """Return where the price starts: small risks leave no room for kills that teach it."""
    return min(2e-4 / risk**2, 1e3)
