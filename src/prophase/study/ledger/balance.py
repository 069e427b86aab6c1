"""What the ledger adds up to: per task, per recommendation, in all; and who lost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.study.ledger.ledger import Ledger, LedgerRecommendations
from prophase.study.ledger.settlement import (
    FOLLOWED,
    IGNORED,
    KILLED,
    PER_UNIT_HOUR,
    UNKNOWN,
    Entry,
)
from prophase.trace.prices import Prices


@dataclass
class Account:
    """Sums of entries, in whole numbers; hours only where they are shown."""

    name: str
    followed: int = 0
    killed: int = 0
    ignored: int = 0
    unknown: int = 0
    before: int = 0
    actual: int = 0
    predicted: int = 0

    def book(self, entry: Entry) -> None:
        """Add one entry."""
        self.followed += entry.outcome == FOLLOWED
        self.killed += entry.outcome == KILLED
        self.ignored += entry.outcome == IGNORED
        self.unknown += entry.outcome == UNKNOWN
        self.before += entry.before
        self.actual += entry.actual
        self.predicted += entry.predicted

    @property
    def jobs(self) -> int:
        """Jobs of any outcome."""
        return self.followed + self.killed + self.ignored + self.unknown

    @property
    def saved(self) -> int:
        """Before minus actual."""
        return self.before - self.actual

    def row(self, price: float = 0.0) -> JsonObject:
        """Return the account for people: amounts in unit hours."""
        saved = self.saved / PER_UNIT_HOUR
        runs = self.followed + self.killed
        found: JsonObject = {
            "name": self.name,
            "jobs": self.jobs,
            "followed": self.followed,
            "killed": self.killed,
            "not_followed": self.ignored,
            "unknown": self.unknown,
            "before_h": self.before / PER_UNIT_HOUR,
            "actual_h": self.actual / PER_UNIT_HOUR,
            "saved_h": saved,
            "predicted_h": self.predicted / PER_UNIT_HOUR,
            "kept_pct": 100 * self.saved / self.predicted if self.predicted else math.nan,
            "killed_pct": 100 * self.killed / runs if runs else math.nan,
        }
        if price:
            found["saved_cost"] = saved * price
        return found


@dataclass
class RecommendationBalance:
    """A recommendation with its accounts."""

    advice: LedgerRecommendations
    total: Account
    tasks: dict[str, Account] = field(default_factory=dict)

    @property
    def losers(self) -> list[Account]:
        """Tasks whose recommendation cost more than it saved, the largest loss first."""
        return sorted((t for t in self.tasks.values() if t.saved < 0), key=lambda t: t.saved)


@dataclass(frozen=True)
class Balance:
    """The whole ledger."""

    advices: list[RecommendationBalance]
    #: price of an hour of one unit of each resource
    price: dict[str, float]
    currency: str = ""

    def reconciles(self) -> bool:
        """Tell whether tasks add up to recommendations, to the last whole number."""
        return all(
            getattr(one.total, name) == sum(getattr(t, name) for t in one.tasks.values())
            for one in self.advices
            for name in ("before", "actual", "saved", "predicted", "jobs")
        )

    def rows(self) -> list[JsonObject]:
        """Return one row per recommendation."""
        return [
            {
                "advice": one.advice.id,
                "made_at": one.advice.made_at,
                "unit": f"{one.advice.unit} h",
                **one.total.row(self.price.get(one.advice.resource, 0.0)),
                "losing_tasks": len(one.losers),
            }
            for one in self.advices
        ]

    def task_rows(self) -> list[JsonObject]:
        """Return one row per recommendation and task, losers first."""
        return [
            {
                "advice": one.advice.id,
                **task.row(self.price.get(one.advice.resource, 0.0)),
                "lost": task.saved < 0,
            }
            for one in self.advices
            for task in sorted(one.tasks.values(), key=lambda task: (task.saved, task.name))
        ]

    def to_dict(self) -> JsonObject:
        """Return everything as JSON knows it."""
        found: JsonObject = finite(
            {
                "advices": self.rows(),
                "tasks": self.task_rows(),
                "losers": [
                    {"advice": one.advice.id, "task": task.name,
                     "saved_h": task.saved / PER_UNIT_HOUR}
                    for one in self.advices
                    for task in one.losers
                ],
                "reconciles": self.reconciles(),
                "currency": self.currency or None,
            }
        )  # fmt: skip
        return found


def balance_of(
    ledger: Ledger, *, prices: Prices | None = None, advice: int | None = None
) -> Balance:
    """Add up a ledger, or one recommendation of it."""
    found = {
        one.id: RecommendationBalance(one, Account(one.name), {n: Account(n) for n in one.terms})
        for one in ledger.advices
        if advice is None or one.id == advice
    }
    for number, entry in ledger.entries(advice):
        held = found[number]
        held.total.book(entry)
        held.tasks[entry.task].book(entry)
    return Balance(list(found.values()), _unit_prices(prices), prices.currency if prices else "")


def _unit_prices(prices: Prices | None) -> dict[str, float]:
    if prices is None:
        return {}
    dearest = max(prices.gpu_hour.values(), default=0.0)
    return {
        "memory": prices.gib_hour,
        "cpu": prices.core_hour,
        "gpu": prices.gpu_hour.get("default", dearest),
    }
