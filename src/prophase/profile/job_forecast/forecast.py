"""The answer to one job, as an object, as JSON and in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import pandas as pd

from prophase import units
from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.short_form import ShortForm
from prophase.stats import Estimate
from prophase.trace.schema import JOBS

Confidence = Literal["high", "medium", "low", "none"]
#: a range is narrow if its upper end is at most this many times the lower one
_NARROW, _WIDE = 4.0, 40.0


@dataclass(frozen=True)
class Influence:
    """How an answer changes when one attribute of the job is treated as unknown."""

    column: str
    given: Any
    #: the answer without the attribute
    without: float
    #: answer with it over answer without it
    factor: float


@dataclass(frozen=True)
class TargetForecast:
    """What is expected of one target, in its unit; NaN where there is no answer."""

    target: str
    unit: str
    #: with its 90 % range
    predicted: Estimate
    confidence: Confidence
    reason: str
    #: seen, partly or new
    stratum: str
    #: finished jobs of the closest kind
    seen: int
    #: attributes that changed the answer, the strongest first
    mattered: tuple[Influence, ...] = ()

    @property
    def abstained(self) -> bool:
        return self.confidence == "none"

    @property
    def value(self) -> float:
        return self.predicted.value

    @property
    def low(self) -> float:
        return self.predicted.low

    @property
    def high(self) -> float:
        return self.predicted.high


@dataclass(frozen=True)
class RequestAndNeed:
    """What the job asks for beside what it is expected to need."""

    request: str
    asked: float | None
    #: expected need, and the need that 19 of 20 such jobs stay below
    typical: float
    safe: float
    target: str


@dataclass(frozen=True)
class ProfileForecast:
    """Which profile the job belongs to, or ``unknown``."""

    profile: str
    probability: float
    reason: str


@dataclass(frozen=True, repr=False)
class JobForecast(ShortForm):
    """Everything that is known of a job before it runs."""

    job: JsonMapping
    name: str
    targets: tuple[TargetForecast, ...]
    sizes: tuple[RequestAndNeed, ...]
    profile: ProfileForecast | None
    #: what the answer is unsure about, a sentence each
    unsure: tuple[str, ...]
    #: finished jobs that were learned from
    learnt_from: int
    method: str

    def __getitem__(self, target: str) -> TargetForecast:
        return next(one for one in self.targets if one.target == target)

    def to_dict(self) -> JsonObject:
        """Return what JSON holds; NaN and infinity become None."""
        held = asdict(self)
        for row, one in zip(held["targets"], self.targets, strict=True):
            del row["predicted"]
            row.update(one.predicted.value_and_ends())
        found: JsonObject = finite(held)
        return found

    @property
    def table(self) -> pd.DataFrame:
        """A row per target: the prediction, both ends of its 90 % range, why."""
        return pd.DataFrame(self.rows())

    def rows(self) -> list[JsonObject]:
        """Return a row per target: the prediction, both ends of its 90 % range, why."""
        return [
            {
                "job": self.name,
                "target": one.target,
                **one.predicted.value_and_ends(),
                "confidence": one.confidence,
                "reason": one.reason,
            }
            for one in self.targets
        ]

    def summary(self) -> list[str]:
        """Return the answer in words, its first lines."""
        return self.lines()

    def lines(self) -> list[str]:
        """Return the answer in words, a line each."""
        lines = [self.name]
        if self.profile is not None:
            sure = f"{self.profile.probability:.0%} sure"
            lines.append(f"  profile {self.profile.profile} ({sure}; {self.profile.reason})")
        lines += [f"  {line}" for line in _aligned([_cells(one) for one in self.targets])]
        lines += [f"  {_size_words(size)}" for size in self.sizes]
        lines += [
            f"  Mattered for {one.target}: {_mattered(one)}"
            for one in self.targets[:1]
            if one.mattered
        ]
        lines += [f"  Unsure: {sentence}" for sentence in self.unsure]
        return lines


def _cells(one: TargetForecast) -> list[str]:
    """Return one target as cells: name, value, range, confidence and reason."""
    if one.abstained:
        return [one.target, "no answer", "", "", one.reason]
    value, low, high = (say(one.target, end) for end in (one.value, one.low, one.high))
    return [one.target, value, f"90 %: {low} to {high}", f"{one.confidence} confidence", one.reason]


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def say(target: str, value: float) -> str:
    """Return a value of a target with its unit, as people say it.

    Examples
    --------
    >>> say("duration_s", 5400.0), say("memory_peak_gib", 12.3456), say("read_bytes", 5e9)
    ('1.5 h', '12.3 GiB', '4.66 GiB')
    """
    return units.amount(value, unit_of(target))


def unit_of(target: str) -> str:
    """Return the unit of a target's column."""
    column = JOBS.get(target)
    return column.unit if column is not None else ""


def confidence_of(stratum: str, low: float, high: float) -> Confidence:
    """Return how far an answer can be relied on: how alike past jobs are, how narrow the range.

    Examples
    --------
    >>> confidence_of("seen", 10.0, 30.0), confidence_of("new", 10.0, 30.0)
    ('high', 'medium')
    """
    factor = high / low if low > 0 else math.inf
    if not math.isfinite(factor) or factor > _WIDE:
        return "low"
    if factor <= _NARROW:
        return "medium" if stratum == "new" else "high"
    return "low" if stratum == "new" else "medium"


def _size_words(size: RequestAndNeed) -> str:
    need = f"{say(size.request, size.typical)}, 19 of 20 stay below {say(size.request, size.safe)}"
    asked = f" (asked: {say(size.request, size.asked)})" if size.asked is not None else ""
    return f"{size.request}: needs about {need}{asked}"


def _mattered(one: TargetForecast) -> str:
    parts = [
        f"{part.column} (without it {say(one.target, part.without)})" for part in one.mattered[:3]
    ]
    return ", ".join(parts) + "."
