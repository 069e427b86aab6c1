"""The small parts of a report: numbers with units, data with counts, steps with commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prophase import units
from prophase.version import __version__


@dataclass(frozen=True)
class Measure:
    """A number with its unit and, where it is uncertain, its interval.

    Parameters
    ----------
    name : str
        What is measured, in words.
    value : float, int, str or None
        None if it could not be measured.
    unit : str
        Such as ``GiB h``, ``%`` or ``s``; empty for counts.
    low, high : float, optional
        Ends of the interval.
    level : float
        Share of cases the interval is meant to hold.

    Examples
    --------
    >>> Measure("saving", 31.42, "%", 27.9, 35.06).text()
    '31.4 % (27.9 to 35.1)'
    >>> Measure("jobs", 12000).text(), Measure("cost", None).text()
    ('12,000', 'unknown')
    """

    name: str
    value: float | int | str | None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    level: float = 0.95

    def text(self) -> str:
        """Return value, unit and interval as one would write them."""
        if isinstance(self.value, str):
            return f"{self.value} {self.unit}".rstrip()
        return units.estimate(self.value, self.low, self.high, self.unit, missing="unknown")


@dataclass(frozen=True)
class DataUsed:
    """A table that went into the result, and what was left out of it.

    Parameters
    ----------
    name : str
        File or table.
    rows : int, optional
        Rows that were used.
    data_hash : str
        Hash of the contents, so that the same data can be recognised.
    kind : str
        ``real``, ``synthetic`` or empty.
    dropped : mapping of str to int
        Reason -> rows left out for it.
    note : str
        Anything a reader has to know about it.
    """

    name: str
    rows: int | None = None
    data_hash: str = ""
    kind: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class ResultTable:
    """Rows of a result; columns ``x_low`` and ``x_high`` are the interval of column ``x``.

    A table that is ``folded`` opens on a click: a figure or a sentence has told its point.
    """

    rows: Sequence[Mapping[str, Any]]
    caption: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Answer:
    """A question that the reader comes with, and its answer at a glance.

    Parameters
    ----------
    question : str
        As one would ask it.
    value : str
        The answer in a few letters: a number with unit and interval, or ``not told``.
    text : str
        What the number is of, or why there is none.
    section : str
        Title of the finding that tells more.
    """

    question: str
    value: str
    text: str = ""
    section: str = ""


@dataclass(frozen=True)
class Step:
    """Something the reader can do, with the command for it if there is one."""

    text: str
    command: str = ""


@dataclass(frozen=True)
class Reproduction:
    """What one needs to get the same result again.

    Parameters
    ----------
    command : str
        The exact command.
    seeds : mapping of str to int
        What is random -> its seed.
    settings : mapping
        The plan or options that the command read from elsewhere.
    version : str
        Of Prophase.
    """

    command: str
    seeds: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    version: str = __version__
