"""Which values each submit-time column has had, so that a new one can be named as new."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Array, Bools, Floats, Ints
from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.predict.back_off_keys import MISSING, Keys, hash_columns
from prophase.profile.predict.recorded_bounds import RecordedBounds
from prophase.profile.predict.submit_columns import Columns, is_number, numbers, submitted

#: by what share of its width, in logarithms, each value never seen widens a range, and at most
_WIDER, _WIDEST = 0.1, 1.0
#: a job is not answered for if so many of its values, and this share of them, were never seen
_SILENT_FROM, _SILENT_SHARE = 5, 0.6
#: by what share of itself a number may lie beyond all that was seen
_SLACK = 1e-9


@dataclass(frozen=True)
class Novelty:
    """Per job: how many of its values were never seen, and how many it has."""

    strange: Ints
    given: Ints

    @property
    def silent(self) -> Bools:
        """Jobs that nothing in the history is like."""
        return (self.strange >= _SILENT_FROM) & (self.strange >= _SILENT_SHARE * self.given)

    def told(
        self, answers: dict[str, Array], bounds: RecordedBounds, limit_s: Floats, *, yes_no: bool
    ) -> dict[str, Array]:  # fmt: skip
        """Return answers as far as they hold for jobs like these: wider, or none.

        Nothing becomes wider than the time limit and the clock allow.
        """
        if not self.strange.any():
            return answers
        found = dict(answers)
        if not yes_no:
            wider = 1.0 + np.minimum(_WIDER * self.strange, _WIDEST)
            with np.errstate(divide="ignore", invalid="ignore"):
                for end in ("low", "high"):
                    reach = np.log(answers[end]) - np.log(answers["value"])
                    moved = answers["value"] * np.exp(wider * reach)
                    found[end] = np.where(self.strange > 0, moved, answers[end])
            longest = np.maximum(np.exp(bounds.longest(limit_s)), answers["high"])
            ends = answers["value"], found["low"], np.minimum(found["high"], longest)
            _, found["low"], found["high"] = bounds.recorded(*ends)
        silent = self.silent & ~answers["abstained"].astype(bool)
        for name in ("value", "low", "high"):
            found[name] = np.where(silent, np.nan, found[name])
        found["reason"] = reason = answers["reason"].astype(object)
        for row in np.flatnonzero(silent).tolist():
            strange, given = self.strange[row], self.given[row]
            reason[row] = f"{strange} of its {given} values were never seen in the history"
        found["abstained"] = answers["abstained"].astype(bool) | silent
        return found


@dataclass(frozen=True)
class SeenValues:
    """Hashes of the values of text columns, and the ranges of numbers.

    Examples
    --------
    >>> seen = SeenValues.of(pd.DataFrame({"user": ["ann"], "request_gpus": [2.0]}))
    >>> seen.surprises({"user": "eve", "request_gpus": 8.0})
    ["user 'eve' was never seen", 'request_gpus 8 is above all that was seen (2 to 2)']
    """

    #: text column -> hashes of its values, sorted
    hashes: dict[str, Keys]
    #: number column -> smallest and largest value
    ranges: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, history: pd.DataFrame, columns: Sequence[str] | None = None) -> SeenValues:
        """Look at the columns of a history that are known at submission."""
        seen = submitted(history)
        wanted = [name for name in map(str, seen) if columns is None or name in columns]
        held = [name for name in wanted if seen[name].notna().any()]
        ranges = {}
        for name in held:
            if is_number(seen, name):
                known = numbers(seen, name)
                known = known[np.isfinite(known)]
                if known.size:
                    ranges[name] = (float(known.min()), float(known.max()))
        words = {name for name in held if name not in ranges}
        hashes = hash_columns(seen, words)
        return cls({name: np.unique(hashes[name]) for name in sorted(words)}, ranges)

    def novelty(self, jobs: pd.DataFrame | Columns) -> Novelty:
        """Count the values of each job that are unlike everything in the history."""
        names = [name for name in (*self.hashes, *self.ranges) if name in jobs]
        strange, given = np.zeros(len(jobs), dtype=np.int64), np.zeros(len(jobs), dtype=np.int64)
        hashed = hash_columns(jobs, {name for name in names if name in self.hashes})
        for name in names:
            if name in self.hashes:
                known = hashed[name] != MISSING
                held = self.hashes[name]
                # they are sorted, which np.isin does not know
                place = np.minimum(held.searchsorted(hashed[name]), len(held) - 1)
                new = known & (held[place] != hashed[name])
            else:
                value = numbers(jobs, name)
                known = np.isfinite(value)
                low, high = self._reach(name)
                new = known & ~((low <= value) & (value <= high))
            given += known
            strange += new
        return Novelty(strange, given)

    def in_kind(self, job: JsonMapping) -> JsonObject:
        """Return the job with numbers where the history has numbers, and text where it has text.

        Cells and options are text; an attribute does not say which of both it is.
        """
        found = dict(job)
        for name, value in job.items():
            if name in self.ranges and isinstance(value, str):
                with suppress(ValueError):
                    found[name] = float(value)
            elif name in self.hashes and isinstance(value, float):
                found[name] = f"{value:.15g}"
        return found

    def _reach(self, name: str) -> tuple[float, float]:
        """Return what a number lies between that is no news; units convert to 15 digits alike."""
        low, high = self.ranges[name]
        return low - abs(low) * _SLACK, high + abs(high) * _SLACK

    def joined(self, finished: pd.DataFrame) -> SeenValues:
        """Return these values and those of more finished jobs."""
        more = SeenValues.of(finished, [*self.hashes, *self.ranges])
        hashes = {
            name: np.union1d(held, more.hashes[name]) if name in more.hashes else held
            for name, held in self.hashes.items()
        }
        ranges = {
            name: (min(low, more.ranges[name][0]), max(high, more.ranges[name][1]))
            if name in more.ranges else (low, high)
            for name, (low, high) in self.ranges.items()
        }  # fmt: skip
        return SeenValues(hashes, ranges)

    def surprises(self, job: dict[str, object]) -> list[str]:
        """Say which values of a job are unlike everything in the history."""
        sentences = []
        row = pd.DataFrame([job])
        for name, value in job.items():
            if name in self.hashes:
                hashed = hash_columns(row, {name})[name]
                if not np.isin(hashed, self.hashes[name]).item():
                    sentences.append(f"{name} {value!r} was never seen")
            elif name in self.ranges and isinstance(value, int | float):
                least, most = self._reach(name)
                if not least <= value <= most:
                    side = "below" if value < least else "above"
                    low, high = self.ranges[name]
                    sentences.append(
                        f"{name} {value:g} is {side} all that was seen ({low:g} to {high:g})"
                    )
        return sentences
