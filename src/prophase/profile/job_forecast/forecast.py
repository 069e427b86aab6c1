"""The answer to one job, as an object, as JSON and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from prophase import units
from prophase.array_types import Floats
from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.profile.predict.recorded_bounds import ignores_limit
from prophase.short_form import ShortForm
from prophase.stats import Estimate
from prophase.trace.schema import JOBS

Confidence = Literal["high", "medium", "low", "none"]
#: a range is narrow if its upper end is at most this many times the lower one
_NARROW = 4.0
#: a range wider than this says nothing as a number with two ends, and deserves little confidence
_NO_FACE = 30.0
#: each of two humps holds this share of the outcomes, and they lie by this factor apart
_LEAST_HUMP, _HUMPS_APART = 0.15, 8.0
#: share of the outcomes that may lie between the humps, and by what power of e times it these
#: have to lie farther apart
_MOST_BETWEEN, _BETWEEN = 0.1, 45.0
_FEWEST_OUTCOMES = 20
#: values never seen that make an answer unsure
_FEW_STRANGE, _MANY_STRANGE = 1, 3
#: fewer finished jobs than this may be alike by chance
_FEW_JOBS = 3


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
class EarlyEnd:
    """Jobs like this one end early or run long, and hardly ever in between."""

    share: float
    #: what those that end early stay below, and what the others run typically
    within: float
    otherwise: float

    @classmethod
    def of(cls, outcomes: Floats) -> EarlyEnd | None:
        """Look for two humps in equally likely outcomes.

        Examples
        --------
        >>> EarlyEnd.of(np.array([3.0] * 30 + [7000.0] * 70))
        EarlyEnd(share=0.3, within=3.0, otherwise=7000.0)
        """
        known = np.sort(outcomes[np.isfinite(outcomes) & (outcomes > 0)])
        if len(known) < _FEWEST_OUTCOMES:
            return None
        first, last = int(_LEAST_HUMP * len(known)), int((1 - _LEAST_HUMP) * len(known))
        inner = np.log(known)[first:last]
        each = _BETWEEN / len(known)
        found = []
        for between in range(min(int(_MOST_BETWEEN * len(known)), len(inner) - 2) + 1):
            apart = inner[between + 1 :] - inner[: -between - 1] - between * each
            found.append((float(apart.max()), first + int(apart.argmax()) + 1, between))
        widest, place, between = max(found)
        if widest < np.log(_HUMPS_APART):
            return None
        late = float(np.median(known[place + between :]))
        return cls(round(place / len(known), 2), float(known[place - 1]), late)


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
    #: level -> what that share of jobs like this one stays below
    quantiles: Mapping[str, float] = field(default_factory=dict)
    #: mean of jobs like this one: what a scheduler should count with
    expected: float = math.nan
    #: of two kinds of outcome: the share that ends early
    early: EarlyEnd | None = None

    @property
    def abstained(self) -> bool:
        return self.confidence == "none"

    @property
    def value(self) -> float:
        return self.predicted.value

    @property
    def in_words(self) -> bool:
        """Whether outcomes differ so much that no single number is told."""
        wide = self.low > 0 and self.high / self.low > _NO_FACE
        return self.early is not None or bool(wide and self.quantiles)

    @property
    def typical(self) -> float:
        """What is told as usual: the number, or what half of jobs like this one stay below."""
        return self.quantiles.get("0.5", self.value) if self.in_words else self.value

    @property
    def careful(self) -> float:
        """What is told as much: the upper end, or what nine in ten of such jobs stay below."""
        told = self.quantiles.get("0.9", self.high) if self.in_words else self.high
        if self.early is not None:
            # ranges follow what ended lately; of two humps the later one is to be planned for
            told = max(told, self.early.otherwise)
        # half of the jobs would need more than what is usual
        return told if told > self.typical or not math.isfinite(self.high) else self.high

    def shape(self, limit: object = None) -> str:
        """Say a wide distribution in words: a number between its ends would have a false face.

        ``limit`` is the time limit of the job, if it has one.
        """
        runs = self.target == "duration_s"
        if self.early is not None:
            share, within = f"{self.early.share:.0%}", say(self.target, self.early.within)
            rest = say(self.target, self.early.otherwise)
            if runs:
                return f"{share} end within {within}; the others run about {rest}"
            return f"{share} need at most {within}; the others about {rest}"
        ends = [self.quantiles[level] for level in ("0.1", "0.5", "0.9")]
        few, half, most = (say(self.target, end) for end in ends)
        # where the spread is, is what a reader plans by
        lower = ends[0] > 0 and ends[1] / ends[0] > max(ends[2] / ends[1], _HUMPS_APART)
        if not runs:
            least = f"one in ten needs at most {few}, half" if lower else "half need"
            return f"{least} at most {half}, one in ten more than {most}"
        least = f"one in ten ends within {few}, half" if lower else "half end"
        # where limits do not end jobs, one in ten may run for hours past a limit of minutes
        if (
            isinstance(limit, int | float)
            and ends[2] >= limit > 0
            and not ignores_limit(ends[2], limit)
        ):
            until = f"until the limit of {say(self.target, limit)}"
            if ends[1] >= limit:
                return f"half run {until}"
            return f"{least} within {half}, one in ten runs {until}"
        if half == most:
            until = (
                f", 19 of 20 end within {say(self.target, self.high)}"
                if self.high > ends[2]
                else ""
            )
            return f"one in ten ends within {few}, half run about {half}{until}"
        return f"{least} within {half}, one in ten runs longer than {most}"

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
        limit = self.job.get("time_limit_s")
        if self.profile is not None:
            sure = f"{self.profile.probability:.0%} sure"
            lines.append(f"  profile {self.profile.profile} ({sure}; {self.profile.reason})")
        lines += [f"  {line}" for line in _aligned([_cells(one, limit) for one in self.targets])]
        lines += [f"  {_size_words(size)}" for size in self.sizes]
        lines += [
            f"  Mattered for {one.target}: {_mattered(one)}"
            for one in self.targets[:1]
            if one.mattered
        ]
        lines += [f"  Unsure: {sentence}" for sentence in self.unsure]
        return lines


def _cells(one: TargetForecast, limit: object) -> list[str]:
    """Return one target as cells: name, value, range, confidence and reason."""
    if one.abstained:
        return [one.target, "no answer", "", "", one.reason]
    value, low, high = (say(one.target, end) for end in (one.value, one.low, one.high))
    if one.in_words:
        return [one.target, one.shape(limit), "", f"{one.confidence} confidence", one.reason]
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


def confidence_of(
    stratum: str,
    low: float,
    high: float,
    strange: int = 0,
    seen: int = _FEW_JOBS,
    *,
    foreign: bool = False,
) -> Confidence:
    """Return how far an answer can be relied on: how alike past jobs are, how narrow the range.

    ``strange`` values that no job of the history had make it less, and so do few finished jobs
    of the closest kind, ``seen``. Least of all is known of a ``foreign`` job, whose user, task or
    application never ran.

    Examples
    --------
    >>> confidence_of("seen", 10.0, 30.0), confidence_of("new", 10.0, 30.0)
    ('high', 'medium')
    >>> confidence_of("seen", 10.0, 30.0, seen=1), confidence_of("partly", 10.0, 30.0, seen=1)
    ('medium', 'low')
    """
    few = seen < _FEW_JOBS
    if (few or foreign) and stratum != "seen":
        return "low"
    factor = high / low if low > 0 else math.inf
    if not math.isfinite(factor) or factor > _NO_FACE or strange >= _MANY_STRANGE:
        return "low"
    unsure = stratum == "new" or few or strange >= _FEW_STRANGE
    if factor <= _NARROW:
        return "medium" if unsure else "high"
    return "low" if unsure else "medium"


def _size_words(size: RequestAndNeed) -> str:
    need = f"{say(size.request, size.typical)}, 19 of 20 stay below {say(size.request, size.safe)}"
    asked = f" (asked: {say(size.request, size.asked)})" if size.asked is not None else ""
    return f"{size.request}: needs about {need}{asked}"


def _mattered(one: TargetForecast) -> str:
    parts = [
        f"{part.column} (without it {say(one.target, part.without)})" for part in one.mattered[:3]
    ]
    return ", ".join(parts) + "."
