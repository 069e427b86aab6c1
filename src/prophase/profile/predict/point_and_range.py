"""What a method says of each job, and how close the closest finished job was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Floats, Ints
from prophase.plural import counted
from prophase.profile.predict.back_off_keys import Level
from prophase.profile.predict.memory import Recall

STRATA = ("seen", "partly", "new")
#: what is not "seen" and of an owner or application that never ran; told as "partly" or "new"
STRANGER = "stranger"
KINDS = (*STRATA, STRANGER)


@dataclass(frozen=True)
class PointAndRange:
    """Point and uncalibrated 90 % range per job, in logarithms; NaN where there is none."""

    point: Floats
    low: Floats
    high: Floats
    #: equally likely outcomes in order of size, of methods that know a distribution
    steps: Floats | None = None
    #: numbers that could be told, of methods that choose among several
    points: Floats | None = None

    def ends(self) -> tuple[Floats, Floats, Floats]:
        """Return the point, and both ends of the range."""
        return self.point, self.low, self.high

    def distribution(self) -> Floats:
        """Return equally likely outcomes of each job."""
        if self.steps is None:
            return np.column_stack([self.low, self.point, self.high])
        return self.steps

    @classmethod
    def of_point(cls, point: Floats) -> PointAndRange:
        """Return an answer whose range is left to the calibration."""
        return cls(point, point, point)


@dataclass(frozen=True)
class Match:
    """Per job: its stratum, how many finished jobs share its closest key, and that in words."""

    stratum: NDArray[np.str_]
    count: Ints
    reason: NDArray[np.object_]


def closest_match(levels: tuple[Level, ...], recall: list[Recall]) -> Match:
    """Find the finest level on which each job has finished jobs like it."""
    rows = len(recall[-1].count)
    place = np.full(rows, len(levels) - 1)
    for level in range(len(levels) - 1, -1, -1):
        place[recall[level].count > 0] = level
    counts = np.column_stack([part.count for part in recall])[np.arange(rows), place]
    stratum = strata_of(levels, recall)
    reason = np.empty(rows, dtype=object)
    for row, (level, count, kind) in enumerate(
        zip(place.tolist(), counts.tolist(), stratum.tolist(), strict=True)
    ):
        reason[row] = _words(levels[level].label, count, kind)
    return Match(stratum, counts, reason)


def strata_of(levels: tuple[Level, ...], recall: list[Recall]) -> NDArray[np.str_]:
    """Return the stratum of each job."""
    stratum = np.full(len(recall[-1].count), "new", dtype="<U6")
    # a coarser level may be the closer kind: the same name of another user
    for kind in ("partly", "seen"):
        for level, part in zip(levels, recall, strict=True):
            if level.closeness == kind:
                stratum[part.count > 0] = kind
    return stratum


def _words(label: str, count: int, kind: str) -> str:
    if label == "all jobs":
        return f"no similar job among {counted(count, 'finished job')}"
    based = f"based on {counted(count, 'job')} with the same {label}"
    return based if kind == "seen" else f"no past job matches all fields; {based}"
