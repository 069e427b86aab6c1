"""The counsel for one job: what is expected of it, and what it should ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from prophase.profile.advice.advice import Advice, TargetAdvice, say


@dataclass(frozen=True)
class RequestCounsel:
    """What a job should ask for of one resource, or why its request stays.

    Amounts are in GiB of memory, CPU cores, and seconds of run time.
    """

    resource: str
    #: column of the job table that holds the request
    column: str
    asked: float | None
    #: requests of the 1st, 2nd and 3rd attempt; empty if the request stays
    ladder: tuple[float, ...]
    why: str
    #: task whose past was looked at
    task: str

    @property
    def change(self) -> bool:
        """Say whether the job should ask for something else."""
        return bool(self.ladder)

    def rung(self, attempt: int) -> float:
        """Return the request of an attempt, counted from 1; the last rung is for all later ones.

        Examples
        --------
        >>> one = RequestCounsel("memory", "request_memory_gib", 16.0, (2.0, 3.0, 16.0), "", "t")
        >>> one.rung(1), one.rung(2), one.rung(9)
        (2.0, 3.0, 16.0)
        """
        return self.ladder[min(max(attempt, 1), len(self.ladder)) - 1]

    def words(self) -> str:
        """Return the counsel as a sentence."""
        asked = "nothing" if self.asked is None else say(self.column, self.asked)
        if not self.change:
            return f"{self.resource}: {asked} stays: {self.why}"
        return f"{self.resource}: {say(self.column, self.ladder[0])} instead of {asked}: {self.why}"


@dataclass(frozen=True)
class Counsel:
    """Everything a job is told when it is submitted."""

    name: str
    #: prediction of its duration and use; None if no model answers
    advice: Advice | None
    requests: tuple[RequestCounsel, ...]
    #: what is not known, and why
    silent: tuple[str, ...] = ()

    @property
    def duration(self) -> TargetAdvice | None:
        """Return the expected duration, if there is an answer."""
        if self.advice is None:
            return None
        found = next((one for one in self.advice.targets if one.target == "duration_s"), None)
        return None if found is None or found.abstained else found

    @property
    def profile(self) -> str | None:
        """Return the profile, if the job's metadata tell it."""
        held = self.advice.profile if self.advice is not None else None
        return None if held is None or held.profile == "unknown" else held.profile

    def of(self, resource: str) -> RequestCounsel | None:
        """Return the counsel for one resource."""
        return next((one for one in self.requests if one.resource == resource), None)

    def words(self) -> list[str]:
        """Return everything as sentences."""
        told = []
        one = self.duration
        if one is not None:
            low, high = say(one.target, one.low), say(one.target, one.high)
            told.append(
                f"runs about {say(one.target, one.value)} (90 %: {low} to {high}), "
                f"{one.confidence} confidence: {one.reason}"
            )
        if self.profile is not None and self.advice is not None and self.advice.profile:
            told.append(f"profile {self.profile} ({self.advice.profile.probability:.0%} sure)")
        return [*told, *(one.words() for one in self.requests), *self.silent]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON holds."""
        one, advice = self.duration, self.advice
        return {
            "name": self.name,
            "duration_s": None if one is None else {
                "value": _finite(one.value), "low": _finite(one.low), "high": _finite(one.high),
                "confidence": one.confidence, "reason": one.reason,
            },
            "profile": None if self.profile is None or advice is None or advice.profile is None
            else {"name": self.profile, "probability": advice.profile.probability},
            "requests": [
                {
                    "resource": held.resource, "column": held.column, "asked": held.asked,
                    "change": held.change, "ladder": list(held.ladder), "why": held.why,
                    "task": held.task,
                }
                for held in self.requests
            ],
            "silent": list(self.silent),
        }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
