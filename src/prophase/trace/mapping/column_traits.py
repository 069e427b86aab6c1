"""How a foreign column looks: what its name says, and what its values are."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.trace.mapping.column_vocabulary import IDEAS, JOINED, UNIT_WORDS
from prophase.trace.text_table import MISSING_WORDS

_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_DATETIME = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T]\d{1,2}:\d{2}.*)?")
_DAY_FIRST = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-]\d{4}([ T]+\d{1,2}:\d{2}.*)?")
_HMS = re.compile(r"(\d+-)?(\d+:)?\d+:\d+(\.\d+)?")
_SIZE = re.compile(r"\d+(\.\d*)?\s*([kKmMgGtT]i?[bB]?|[bB])")
_QUANTITY = re.compile(r"\d+(\.\d*)?m?")
_WHOLE_OR_COMMA = re.compile(r"[+-]?(\d*)(?:,(\d+)(?:[eE][+-]?\d+)?)?")
#: what may stand behind an amount: a percent sign, a unit
_BEHIND = re.compile(r"\s*[%A-Za-z]+$")
#: a column is what nearly all of its cells are; the rest are words for "unknown"
_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class ColumnTraits:
    """One column of a sample of rows."""

    name: str
    cells: Sequence[str]

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(words_of(self.name))

    @cached_property
    def unit(self) -> str | None:
        """Unit that the name states or the cells carry, if any."""
        return "percent" if "%" in self.name or self.percent_signs else self._last_word_unit

    @cached_property
    def _last_word_unit(self) -> str | None:
        return UNIT_WORDS.get(self.words[-1]) if len(self.words) > 1 else None

    @cached_property
    def ideas(self) -> frozenset[str]:
        """What the name is about, without units and filler words."""
        stated = self._last_word_unit and "%" not in self.name
        words = self.words[:-1] if stated else self.words
        rate = "per" in words
        words = words[: words.index("per")] if rate else words
        found = frozenset(idea for word in words if (idea := IDEAS.get(word, word)))
        if found & {"cpu", "gpu", "memory"}:
            # whose use it is: container_memory_usage_bytes
            found -= {"series", "job"}
        if not found and {"time", "date"} & set(words) and not rate:
            return frozenset({"timestamp"})
        if words == ("step",):
            return frozenset({"task"})
        if len(words) == 1 and words[0] in ("second", "seconds", "sec", "minute"):
            return frozenset({"timestamp"})
        return found - {"timestamp"} if found & {"submit", "start", "end"} else found

    @cached_property
    def known_ideas(self) -> frozenset[str]:
        """Its ideas without the unknown words."""
        return self.ideas & set(IDEAS.values())

    @cached_property
    def present(self) -> list[str]:
        return [cell for cell in self.cells if cell not in MISSING_WORDS]

    @cached_property
    def percent_signs(self) -> bool:
        """Whether its numbers are written like 55%."""
        marked = sum(cell.endswith("%") for cell in self.present)
        return bool(self.present) and marked >= _NEARLY_ALL * len(self.present)

    @cached_property
    def decimal_comma(self) -> bool:
        """Whether its numbers are written like 3,5."""
        # 1,234 alone may be a thousand and more; 0,123 or 12,34 beside it decides
        return any(
            len(after) != 3 or len(before) > 3 or before.startswith("0")
            for before, after in self._parted
        )

    @property
    def unclear_commas(self) -> bool:
        """Whether its commas may stand for a decimal point or for thousands."""
        return bool(self._parted) and not self.decimal_comma

    @cached_property
    def _parted(self) -> list[tuple[str, str]]:
        """The digits before and after the comma; nothing unless all cells are such numbers."""
        found = [_WHOLE_OR_COMMA.fullmatch(_BEHIND.sub("", cell)) for cell in self.present]
        fitting = [match for match in found if match is not None]
        if len(fitting) < _NEARLY_ALL * len(found) or any("." in cell for cell in self.present):
            return []
        return [(match[1], match[2]) for match in fitting if match[2]]

    def _pointed(self, cell: str) -> str:
        """Return a cell with a decimal point and without its percent sign."""
        plain = cell.removesuffix("%").rstrip() if self.percent_signs else cell
        return plain.replace(",", ".") if self.decimal_comma else plain

    def _number(self, cell: str) -> float:
        try:
            return float(self._pointed(cell))
        except ValueError:
            return float("nan")

    @cached_property
    def _numbers_or_nan(self) -> NDArray[np.float64]:
        return np.array([self._number(cell) for cell in self.present], dtype=np.float64)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The finite numbers among its cells."""
        return self._numbers_or_nan[np.isfinite(self._numbers_or_nan)]

    @cached_property
    def by_row(self) -> NDArray[np.float64]:
        """A number per row, NaN if there is none; times as seconds since 1970."""
        if self.form == "datetime":
            times = pd.to_datetime(
                pd.Series(self.cells), errors="coerce", format="ISO8601", utc=True
            )
            seconds = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
            return np.asarray(seconds, dtype=np.float64)
        return np.array([self._number(cell) for cell in self.cells], dtype=np.float64)

    @cached_property
    def numeric(self) -> bool:
        return bool(self.present) and self.numbers.size >= _NEARLY_ALL * len(self.present)

    @cached_property
    def words_for_unknown(self) -> list[str]:
        """Cells of a column of numbers that are none, such as inf or n.a."""
        if not self.numeric:
            return []
        return sorted({c for c in self.present if not np.isfinite(self._number(c))})

    @cached_property
    def _highest_of_day_and_month(self) -> tuple[int, int]:
        pairs = [_DAY_FIRST.fullmatch(cell.strip()) for cell in self.present]
        return (
            max(int(pair[1]) for pair in pairs if pair),
            max(int(pair[2]) for pair in pairs if pair),
        )

    @property
    def day_is_clear(self) -> bool:
        """Whether dates such as 13.1.2021 say which number is the day: one above 12 is."""
        return max(self._highest_of_day_and_month) > 12

    @cached_property
    def form(self) -> str | None:
        """How its text is written: a unit of a mapping such as datetime or size."""
        if self.numeric or not self.present:
            return None
        if self._all(_DATETIME):
            return "datetime"
        if self._all(_DAY_FIRST):
            first, second = self._highest_of_day_and_month
            return "datetime mdy" if second > 12 >= first else "datetime dmy"
        if self._all(_HMS):
            return "hms"
        if self._all(_QUANTITY):
            return "quantity"
        return "size" if self._all(_SIZE) else None

    @cached_property
    def distinct(self) -> int:
        return len(set(self.present))

    @cached_property
    def unique(self) -> bool:
        """Whether nearly every row has a value of its own."""
        return bool(self.cells) and self.distinct >= 0.99 * len(self.cells)

    @property
    def common(self) -> list[str]:
        return [word for word, _ in Counter(self.present).most_common(30)]

    def _all(self, pattern: re.Pattern[str]) -> bool:
        return all(pattern.fullmatch(self._pointed(cell.strip())) for cell in self.present)


def words_of(name: str) -> list[str]:
    """Return the words of a column name in small letters.

    Examples
    --------
    >>> words_of("ReqMem_MB"), words_of("Max GPU Memory (MiB)"), words_of("%cpu")
    (['req', 'mem', 'mb'], ['max', 'gpu', 'memory', 'mib'], ['cpu'])
    """
    words: list[str] = []
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    for piece in re.split(r"[^0-9A-Za-z]+", plain):
        small = piece.lower()
        if small in UNIT_WORDS or small in IDEAS:
            words.append(small)
        elif small in JOINED:
            words += JOINED[small].split()
        else:
            parts = [part.lower() for part in _CAMEL.findall(piece)]
            words += [w for part in parts for w in JOINED.get(part, part).split()]
    return words
