"""Which values each submit-time column has had, so that a new one can be named as new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.profile.predict.back_off_keys import Keys, hash_columns
from prophase.profile.predict.submit_columns import is_number, numbers, submitted


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
                low, high = self.ranges[name]
                if not low <= value <= high:
                    side = "below" if value < low else "above"
                    sentences.append(
                        f"{name} {value:g} is {side} all that was seen ({low:g} to {high:g})"
                    )
        return sentences
