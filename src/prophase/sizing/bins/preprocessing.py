"""Two-stage preprocessing, fitted once, saved with the model and used again in serving.

Stage one reads submit-time columns: numbers, differences between dates, the parts of composite
scenario names, categories. Stage two engineers and scales: logarithms of skewed numbers, the
product of the two numbers that predict most together, mean 0 and deviation 1, one-hot categories.
What was not seen when fitting is no category and changes nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from prophase.errors import InputError, MissingColumnError, ModelFileError
from prophase.json_types import JsonMapping, JsonObject
from prophase.plural import counted
from prophase.sizing.assess.drivers import best_product
from prophase.trace.describe.column_arrays import Floats
from prophase.trace.schema import known_at_submit

Values = Sequence[Any]
Kind = Literal["number", "date", "word"]
#: when a job came, not what it is
_CLOCKS = ("submit_s", "submit_order")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
#: what separates the parts of a composite name
_SEPARATORS = "|/;:"
#: a column with fewer rows per value on average names things instead of describing them
_ROWS_PER_VALUE = 20
_MOST_VALUES = 50
#: numbers whose largest is this many times their median are taken by their logarithm
_SKEWED = 5.0
#: a second number predicts more together with another than alone
_JOINED = " x "


@dataclass(frozen=True)
class ColumnScaling:
    """How a number is scaled: perhaps its logarithm, less a mean, over a deviation."""

    log: bool
    mean: float
    deviation: float

    def scaled(self, values: Floats) -> Floats:
        raw = np.log1p(np.maximum(values, 0.0)) if self.log else values
        # what is missing is taken as the mean
        return np.nan_to_num((raw - self.mean) / self.deviation)


@dataclass
class Preprocessing:
    """Turns submit-time columns into the numbers a classifier reads.

    Attributes
    ----------
    columns : tuple of str
        Submit-time columns it reads.
    figures : dict
        Name of a number -> its scaling. ``a x b`` is a product, ``a - b`` a difference of dates.
    categories : dict
        Name of a category -> the values it knows.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {"attr_rows": [1.0, 2.0, 3.0] * 20, "attr_region": ["a", "b", "a"] * 20}
    ... )
    >>> made = Preprocessing().fit(jobs, np.arange(60.0))
    >>> made.names()
    ['attr_rows', 'attr_region=a', 'attr_region=b']
    >>> made.transform(jobs).shape
    (60, 3)
    """

    columns: tuple[str, ...] = ()
    figures: dict[str, ColumnScaling] = field(default_factory=dict)
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: composite column -> the separator of its parts
    composites: dict[str, str] = field(default_factory=dict)
    #: column, or part of a composite one -> what it holds
    kinds: dict[str, Kind] = field(default_factory=dict)

    def fit(
        self,
        jobs: pd.DataFrame | Mapping[str, Values],
        peak_gib: Floats,
        *,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Learn which columns describe a run, and how they are scaled.

        Parameters
        ----------
        jobs : DataFrame or mapping of lists
            Runs.
        peak_gib : array
            What the runs needed; decides on the product.
        columns : sequence of str, optional
            Columns to read; by itself those of a job table marked as known at submission.
        """
        read = known_at_submit(map(str, jobs.keys())) if columns is None else columns
        held = {name: _listed(jobs[name]) for name in read if name not in _CLOCKS}
        self.composites = {
            name: mark for name, values in held.items() if (mark := _separator(values))
        }
        self.kinds = {name: _kind(values) for name, values in self._parts(held).items()}
        numbers_of, words_of = self._stage_one(held)
        raw = {name: values for name, values in numbers_of.items() if _varies(values)}
        product = best_product(raw, peak_gib)
        if product:
            one, other = product
            raw[one + _JOINED + other] = raw[one] * raw[other]
        self.figures = {name: _scaling(values) for name, values in raw.items()}
        self.categories = {
            name: known for name, values in words_of.items() if (known := _known_values(values))
        }
        used = {part for name in (*self.figures, *self.categories) for part in _sources(name)}
        self.columns = tuple(name for name in held if name in used)
        if not self.columns:
            raise InputError(
                "no column known at submission differs between the runs, so nothing can tell a "
                "heavy one. Add what drives it as attr_ columns, such as attr_rows."
            )
        return self

    def transform(self, jobs: pd.DataFrame | Mapping[str, Values]) -> Floats:
        """Return the numbers of each run, (runs, features)."""
        absent = [name for name in self.columns if name not in jobs.keys()]  # noqa: SIM118
        if absent:
            raise MissingColumnError(
                f"the runs lack {', '.join(absent)}, which the model was fitted with. Add "
                f"{'it' if len(absent) == 1 else 'them'}, or fit again without."
            )
        held = {name: _listed(jobs[name]) for name in self.columns}
        numbers_of, words_of = self._stage_one(held)
        parts = [
            figure.scaled(_joined(numbers_of, name))[:, None]
            for name, figure in self.figures.items()
        ]
        for name, known in self.categories.items():
            place = {value: at for at, value in enumerate(known)}
            hot = np.zeros((len(words_of[name]), len(known)))
            for row, value in enumerate(words_of[name]):
                if value in place:
                    hot[row, place[value]] = 1.0
            parts.append(hot)
        return np.hstack(parts)

    def unknown(self, jobs: pd.DataFrame | Mapping[str, Values]) -> list[str]:
        """Say which categories hold values that were not there when fitting."""
        held = {name: _listed(jobs[name]) for name in self.columns}
        _, words_of = self._stage_one(held)
        said = []
        for name, known in self.categories.items():
            new = sorted({value for value in words_of[name] if value is not None} - set(known))
            if new:
                shown = ", ".join(new[:5]) + (" ..." if len(new) > 5 else "")
                said.append(f"{name} has {counted(len(new), 'new value')}: {shown}")
        return said

    def names(self) -> list[str]:
        """Return the name of each feature, in the order of :meth:`transform`."""
        return [*self.figures] + [
            f"{name}={value}" for name, known in self.categories.items() for value in known
        ]

    def to_dict(self) -> JsonObject:
        """Return what was learned, for a model file; lists keep the order of features."""
        return {
            "columns": list(self.columns),
            "figures": [[name, asdict(figure)] for name, figure in self.figures.items()],
            "categories": [[name, list(known)] for name, known in self.categories.items()],
            "composites": dict(self.composites),
            "kinds": dict(self.kinds),
        }

    @classmethod
    def from_dict(cls, held: JsonMapping) -> Preprocessing:
        """Return what :meth:`to_dict` described."""
        try:
            return cls(
                tuple(held["columns"]),
                {name: ColumnScaling(**figure) for name, figure in held["figures"]},
                {name: tuple(known) for name, known in held["categories"]},
                dict(held["composites"]),
                dict(held["kinds"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            raise ModelFileError(f"the preprocessing lacks a part ({cause}).") from cause

    def _stage_one(
        self, held: Mapping[str, Values]
    ) -> tuple[dict[str, Floats], dict[str, list[str | None]]]:
        """Return numbers and words; dates become differences between dates."""
        figures: dict[str, Floats] = {}
        words: dict[str, list[str | None]] = {}
        dates: dict[str, Floats] = {}
        for name, values in self._parts(held).items():
            kind = self.kinds.get(name)
            if kind == "number":
                figures[name] = np.array([_number(value) for value in values])
            elif kind == "date":
                dates[name] = np.array([_day(value) for value in values])
            elif kind == "word":
                words[name] = [None if _missing(value) else str(value) for value in values]
        for one, other in combinations(dates, 2):
            figures[f"{other} - {one}"] = dates[other] - dates[one]
        return figures, words

    def _parts(self, held: Mapping[str, Values]) -> dict[str, Values]:
        """Return the columns, composite ones replaced by their parts."""
        found: dict[str, Values] = {}
        for name, values in held.items():
            mark = self.composites.get(name)
            if not mark:
                found[name] = values
                continue
            rows = [[] if _missing(value) else str(value).split(mark) for value in values]
            for place in range(max(map(len, rows), default=0)):
                found[f"{name}.{place + 1}"] = [
                    row[place] if place < len(row) else None for row in rows
                ]
        return found


def _listed(values: Any) -> Values:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)


def _kind(values: Values) -> Kind:
    """Say what a column holds; text that reads as numbers throughout is numbers."""
    held = [value for value in values if not _missing(value)]
    if held and not any(isinstance(value, bool) for value in held):
        if not any(math.isnan(_number(value)) for value in held):
            return "number"
        if not any(math.isnan(_day(value)) for value in held):
            return "date"
    return "word"


def _number(value: Any) -> float:
    """Return a value as a number, NaN if it is none."""
    try:
        return math.nan if _missing(value) else float(value)
    except (TypeError, ValueError):
        return math.nan


def _day(value: object) -> float:
    """Return the day of a date such as 2020-07-01, counted from a fixed one."""
    text = str(value)
    if not _DATE.match(text):
        return math.nan
    try:
        return float(date.fromisoformat(text[:10]).toordinal())
    except ValueError:
        return math.nan


def _separator(values: Values) -> str:
    """Return what separates the parts of a composite name, if all values have as many parts."""
    texts = {value for value in values if isinstance(value, str)}
    for mark in _SEPARATORS:
        counts = {text.count(mark) for text in texts}
        if len(counts) == 1 and counts != {0}:
            return mark
    return ""


def _varies(values: Floats) -> bool:
    known = values[np.isfinite(values)]
    return bool(len(known) and np.ptp(known) > 0)


def _known_values(values: list[str | None]) -> tuple[str, ...]:
    """Return the values of a category worth a feature each; none if it only names things."""
    found, counts = np.unique([v for v in values if v is not None], return_counts=True)
    if not 2 <= len(found) <= min(_MOST_VALUES, max(2, len(values) // _ROWS_PER_VALUE)):
        return ()
    return tuple(str(value) for value, count in zip(found, counts, strict=True) if count > 1)


def _scaling(values: Floats) -> ColumnScaling:
    known = values[np.isfinite(values)]
    log = bool(known.min() >= 0 and known.max() > _SKEWED * max(float(np.median(known)), 1e-9))
    raw = np.log1p(known) if log else known
    deviation = float(raw.std())
    return ColumnScaling(log, float(raw.mean()), deviation if deviation > 0 else 1.0)


def _joined(figures: Mapping[str, Floats], name: str) -> Floats:
    one, joined, other = name.partition(_JOINED)
    return figures[one] * figures[other] if joined else figures[name]


def _sources(name: str) -> Iterable[str]:
    """Return the columns a feature is made of."""
    for part in name.split(_JOINED):
        for piece in part.split(" - "):
            yield piece
            # a part of a composite name, such as attr_scenario.2
            yield piece.rpartition(".")[0]
