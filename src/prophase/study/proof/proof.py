"""What a proof has found: both sides of every sum, kills, waits, promises, and the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pandas as pd

from prophase import units
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.short_form import ShortForm
from prophase.stats import Estimate
from prophase.study.proof.backtest import SplitsFound
from prophase.study.proof.cluster_replays import Replays
from prophase.study.proof.verdict import Limits, Verdict


@dataclass(frozen=True)
class Total:
    """One sum on both sides, and the share saved with its interval."""

    name: str
    unit: str
    today: float
    advised: float
    saved: Estimate

    def to_dict(self) -> JsonObject:
        """Return the fields as JSON knows them."""
        found: JsonObject = finite(
            {
                "name": self.name, "unit": self.unit, "today": self.today,
                "advised": self.advised, "difference": self.advised - self.today,
                "saved": self.saved.to_dict(),
            }
        )  # fmt: skip
        return found


@dataclass(frozen=True)
class TaskProof:
    """What the recommendation does to one task of the history."""

    task: str
    runs: int
    today_h: float
    advised_h: float
    predicted_h: float
    killed: int
    retries: int

    @property
    def saved_h(self) -> float:
        """Amount x hours saved; negative if the recommendation costs more than it saves."""
        return self.today_h - self.advised_h

    def to_dict(self) -> JsonObject:
        """Return the fields as JSON knows them."""
        return {**self.__dict__, "saved_h": self.saved_h}


@dataclass(frozen=True, repr=False)
class Proof(ShortForm):
    """Everything that was found, and the verdict."""

    resource: str
    unit: str
    jobs: int
    advised_jobs: int
    left_out: dict[str, int]
    totals: list[Total]
    oom: Estimate
    oom_today: Estimate
    retries: int
    predicted: float
    tasks: list[TaskProof]
    #: tasks of the history that keep their request -> why
    kept_tasks: dict[str, str]
    #: tasks of the recommendation that the history does not have
    unknown_tasks: list[str]
    replays: Replays | None
    why_no_replay: str
    splits: SplitsFound | None
    verdict: Verdict
    limits: Limits
    #: shares, seeds and policy that the proof was made with
    settings: JsonObject = field(default_factory=dict)

    @property
    def saving(self) -> Estimate:
        """Share of the sized resource's hours that is saved."""
        return self.totals[0].saved

    @property
    def losers(self) -> list[TaskProof]:
        """Tasks whose recommendation costs more than it saves, the largest loss first."""
        return sorted((one for one in self.tasks if one.saved_h < 0), key=lambda one: one.saved_h)

    @property
    def table(self) -> pd.DataFrame:
        """A row per measure: today, with the recommendation, the change and its interval."""
        return pd.DataFrame(self.rows())

    def rows(self) -> list[JsonObject]:
        """Return a row per measure: today, with the recommendation, the change, its interval."""
        rows: list[JsonObject] = [
            {
                "measure": f"{one.name} ({one.unit})",
                "today": one.today,
                "advised": one.advised,
                "change": one.advised - one.today,
                "range_95": _range(-one.today * one.saved.high, -one.today * one.saved.low),
            }
            for one in self.totals
        ]
        killed = {
            "memory": "killed for memory (% of runs)",
            "time": "killed at the time limit (% of runs)",
        }
        rows.append(
            {
                "measure": killed.get(self.resource, f"short of {self.resource} (% of runs)"),
                "today": finite(100 * self.oom_today.value),
                "advised": finite(100 * self.oom.value),
                "change": None,
                "range_95": _range(100 * self.oom.low, 100 * self.oom.high),
            }
        )
        if self.resource in killed:
            rows.append(
                {"measure": "retries", "today": None, "advised": self.retries, "change": None,
                 "range_95": "-"}
            )  # fmt: skip
        rows += [
            {
                "measure": f"{one.measure}, {one.of}",
                "today": one.today,
                "advised": one.advised,
                "change": one.change.value,
                "range_95": _range(one.change.low, one.change.high),
            }
            for one in (self.replays.changes if self.replays is not None else ())
        ]
        return rows

    def summary(self) -> list[str]:
        """Say the verdict, and how many jobs it is about."""
        follow = f"{self.advised_jobs:,} of {self.jobs:,} jobs follow the recommendation"
        said = [self.verdict.sentence(), follow]
        return said if self.splits is None else [*said, self.splits.sentence()]

    def to_dict(self) -> JsonObject:
        """Return everything as JSON knows it."""
        found: JsonObject = finite(
            {
                "resource": self.resource,
                "unit": self.unit,
                "verdict": self.verdict.to_dict(),
                "jobs": self.jobs,
                "advised_jobs": self.advised_jobs,
                "left_out": self.left_out,
                "saving": self.saving.to_dict(),
                "predicted_saving": self.predicted,
                "oom": self.oom.to_dict(),
                "oom_today": self.oom_today.to_dict(),
                "retries": self.retries,
                "totals": [one.to_dict() for one in self.totals],
                "replays": self.replays.to_dict() if self.replays else None,
                "why_no_replay": self.why_no_replay,
                "splits": self.splits.to_dict() if self.splits else None,
                "tasks": [one.to_dict() for one in self.tasks],
                "kept_tasks": self.kept_tasks,
                "unknown_tasks": self.unknown_tasks,
                "losers": [one.task for one in self.losers],
                "limits": self.limits.__dict__,
                "settings": self.settings,
            }
        )
        return found


def _range(low: float, high: float) -> str:
    if not (math.isfinite(low) and math.isfinite(high)):
        return "-"
    return f"{units.number(low)} to {units.number(high)}"
