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
from prophase.profile.predict.submit_columns import (
    Columns,
    ends,
    is_number,
    numbers,
    submitted,
)
from prophase.trace.schema import ATTRIBUTE_PREFIX

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
        for name in found.keys() & {"value", "low", "high", "order_by"}:
            found[name] = np.where(silent, np.nan, found[name])
        found["reason"] = reason = answers["reason"].astype(object)
        for row in np.flatnonzero(silent).tolist():
            strange, given = self.strange[row], self.given[row]
            reason[row] = f"{strange} of its {given} values were never seen in the history"
        found["abstained"] = answers["abstained"].astype(bool) | silent
        return found


@dataclass(frozen=True)
class _Extremes:
    """The smallest and the largest number so far, and since when: a row whenever one moved."""

    since: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, known: Floats, low: Floats, high: Floats) -> _Extremes:
        """Follow numbers that became known at some moments."""
        order = np.argsort(known, kind="stable")
        low, high = np.minimum.accumulate(low[order]), np.maximum.accumulate(high[order])
        moved = np.append(True, (np.diff(low) < 0) | (np.diff(high) > 0))
        return cls(known[order][moved], low[moved], high[moved])

    def joined(self, other: _Extremes) -> _Extremes:
        pairs = zip(*((one.since, one.low, one.high) for one in (self, other)), strict=True)
        return _Extremes.of(*map(np.concatenate, pairs))

    def hold(self, values: Floats, as_of: Floats | None = None) -> Bools:
        """Say which values lay between both before each moment, but for the last digits."""
        low, high = self.low - abs(self.low) * _SLACK, self.high + abs(self.high) * _SLACK
        place = -1 if as_of is None else np.searchsorted(self.since, as_of, side="left")
        # before the first number, none lies between the two
        least, most = np.append(np.inf, low)[place], np.append(-np.inf, high)[place]
        return np.asarray((least <= values) & (values <= most))


@dataclass(frozen=True)
class SeenValues:
    """Hashes of the values of text columns, and the ranges of numbers, since when each is known.

    Examples
    --------
    >>> seen = SeenValues.of(pd.DataFrame({"user": ["ann"], "request_gpus": [2.0]}))
    >>> seen.surprises({"user": "eve", "request_gpus": 8.0})
    ["user 'eve' was never seen", 'request_gpus 8 is above all that was seen (2 to 2)']
    """

    #: text column -> hashes of its values, sorted
    hashes: dict[str, Keys]
    #: text column -> when each of these was first known
    since: dict[str, Floats]
    ranges: dict[str, _Extremes]

    @classmethod
    def of(cls, history: pd.DataFrame, columns: Sequence[str] | None = None) -> SeenValues:
        """Look at the columns of a history that are known at submission."""
        seen = submitted(history)
        wanted = [name for name in map(str, seen) if columns is None or name in columns]
        held = [name for name in wanted if seen[name].notna().any()]
        words = {name for name in held if not is_number(seen, name)}
        known, ranges = ends(history), {}
        for name in held:
            values = numbers(seen, name) if name not in words else np.empty(0)
            told = np.isfinite(values)
            if told.any():
                ranges[name] = _Extremes.of(known[told], values[told], values[told])
        hashes, since = {}, {}
        hashed = hash_columns(seen, words)
        for name in sorted(words):
            hashes[name], since[name] = _first_known(hashed[name], known)
        return cls(hashes, since, ranges)

    @classmethod
    def nothing(cls) -> SeenValues:
        """Return what is known before any job."""
        return cls({}, {}, {})

    def novelty(self, jobs: pd.DataFrame | Columns, as_of: Floats | None = None) -> Novelty:
        """Count the values of each job that are unlike everything that was known, and when."""
        names = [name for name in (*self.hashes, *self.ranges) if name in jobs]
        strange, given = np.zeros(len(jobs), dtype=np.int64), np.zeros(len(jobs), dtype=np.int64)
        hashed = hash_columns(jobs, {name for name in names if name in self.hashes})
        for name in names:
            if name in self.hashes:
                known = hashed[name] != MISSING
                held = self.hashes[name]
                # they are sorted, which np.isin does not know
                place = np.minimum(held.searchsorted(hashed[name]), len(held) - 1)
                new = held[place] != hashed[name]
                if as_of is not None:
                    new |= self.since[name][place] >= as_of
            else:
                value = numbers(jobs, name)
                known = np.isfinite(value)
                new = ~self.ranges[name].hold(value, as_of)
            given += known
            strange += known & new
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

    def joined(self, finished: pd.DataFrame) -> SeenValues:
        """Return these values and those of more finished jobs."""
        more = SeenValues.of(finished, [*self.hashes, *self.ranges])
        hashes, since = dict(self.hashes), dict(self.since)
        for name in self.hashes.keys() & more.hashes.keys():
            hashes[name], since[name] = _first_known(
                np.concatenate([self.hashes[name], more.hashes[name]]),
                np.concatenate([self.since[name], more.since[name]]),
            )
        ranges = {
            name: held.joined(more.ranges[name]) if name in more.ranges else held
            for name, held in self.ranges.items()
        }
        return SeenValues(hashes, since, ranges)

    def surprises(self, job: dict[str, object]) -> list[str]:
        """Say which values of a job are unlike everything in the history."""
        sentences = []
        row = pd.DataFrame([job])
        for name, value in job.items():
            own = name.removeprefix(ATTRIBUTE_PREFIX)
            if name in self.hashes:
                hashed = hash_columns(row, {name})[name]
                if not np.isin(hashed, self.hashes[name]).item():
                    sentences.append(f"{own} {value!r} was never seen")
            elif name in self.ranges and isinstance(value, int | float):
                held = self.ranges[name]
                if not held.hold(np.array([value], np.float64)).item():
                    low, high = float(held.low[-1]), float(held.high[-1])
                    side = "below" if value < low else "above"
                    sentences.append(
                        f"{own} {value:g} is {side} all that was seen ({low:g} to {high:g})"
                    )
        return sentences


def _first_known(hashes: Keys, known: Floats) -> tuple[Keys, Floats]:
    """Return the different hashes in their order, and when each was known first."""
    order = np.argsort(known, kind="stable")
    held, first = np.unique(hashes[order], return_index=True)
    return held, known[order][first]
