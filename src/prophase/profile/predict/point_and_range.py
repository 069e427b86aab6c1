"""What a method says of each job, and how close the closest finished job was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Floats, Ints
from prophase.plural import counted
from prophase.profile.predict.back_off_keys import Level
from prophase.profile.predict.memory import Recall

STRATA = ("seen", "partly", "new")
_FARTHEST_FIRST = STRATA[::-1]
#: what is not "seen" and of an owner or application that never ran; told as "partly" or "new"
STRANGER = "stranger"
KINDS = (*STRATA, STRANGER)
#: fewer finished jobs than this decide nothing alone
_FEW = 3
_EVERYTHING = "all jobs"


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
    place, counts = finest(recall)
    stratum = strata_of(levels, recall)
    reason = np.empty(len(counts), dtype=object)
    for row, (level, count, kind) in enumerate(
        zip(place.tolist(), counts.tolist(), stratum.tolist(), strict=True)
    ):
        # the finest key holds everything that is known of a job
        reason[row] = _words(levels[level].label, count, whole=kind == "seen" or level == 0)
        if count < _FEW and levels[level].label != _EVERYTHING:
            reason[row] += _wider(levels, [int(part.count[row]) for part in recall], level)
    return Match(stratum, counts, reason)


def _wider(levels: tuple[Level, ...], counts: list[int], place: int) -> str:
    """Name what decides beside so few jobs: the next group that is large enough."""
    coarser = range(place + 1, len(levels))
    enough = next((level for level in coarser if counts[level] >= _FEW), None)
    if enough is None:
        return ""
    if levels[enough].label == _EVERYTHING:
        return f", beside all {counted(counts[enough], 'finished job')}"
    return f", beside {counted(counts[enough], 'job')} with the same {levels[enough].label}"


def strata_of(levels: tuple[Level, ...], recall: list[Recall]) -> NDArray[np.str_]:
    """Return the stratum of each job."""
    # a coarser level may be the closer kind: the same name of another user
    rank = np.array([[_FARTHEST_FIRST.index(level.closeness)] for level in levels])
    known = np.array([part.count for part in recall]) > 0
    return np.asarray(np.array(_FARTHEST_FIRST)[(rank * known).max(axis=0)])


def finest(recall: Sequence[Recall]) -> tuple[Ints, Ints]:
    """Return the finest level on which each job has finished jobs like it, and how many."""
    counts = np.array([part.count for part in recall])
    known = counts > 0
    place = np.where(known.any(axis=0), known.argmax(axis=0), len(counts) - 1)
    return place, counts[place, np.arange(counts.shape[1])]


def _words(label: str, count: int, *, whole: bool) -> str:
    if label == _EVERYTHING:
        return f"no similar job among {counted(count, 'finished job')}"
    based = f"based on {counted(count, 'job')} with the same {label}"
    return based if whole else f"no past job matches all fields; {based}"
