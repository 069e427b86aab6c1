"""Ways of writing a time or an amount as text, as expressions and in Python.

The expression reads a whole column; the twin says whether a single cell can be read, to
name the line of one that cannot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import ibis
import pandas as pd

from prophase.units.parsers import GIB

_ZONE = r"(:\d{2}(?:\.\d+)?)\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})$"
_OFFSET = r":\d{2}(?:\.\d+)?\s*([+-])(\d{2}):?(\d{2})$"
_DATE = r"^\s*(\d{1,2})[./-](\d{1,2})[./-](\d{4})"
_HMS = r"^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$"
_DAYS_HOURS_MINUTES = r"^\d+-\d+:\d+$"
_SIZE = r"^\s*(\d+(?:\.\d*)?)\s*([kKmMgGtTpPeE]?i?)[bB]?\s*$"
_QUANTITY = r"^\s*(\d+(?:\.\d*)?)(m?)\s*$"
#: 512Mi is binary, 512M and 512MB are decimal
_PREFIXES = {"": "bytes", **{p: f"{p}b" for p in "kmgtpe"},
             **{f"{p}i": f"{p}ib" for p in "kmgtpe"}}  # fmt: skip
#: 512M is 512 MiB, whatever stands behind it
_BINARY = {p: f"{p[:1]}ib" if p else unit for p, unit in _PREFIXES.items()}


@dataclass(frozen=True)
class TextForm:
    """One way of writing: what it is, the column expression, and the twin for one cell."""

    what: str
    read: Callable[[ibis.Value], ibis.Value]
    parse: Callable[[str], object]


def _instant(text: ibis.Value) -> ibis.Value:
    """Read wall-clock text; an offset such as +02:00 is taken off, so that times are UTC."""
    bare = text.re_replace(_ZONE, r"\1").try_cast("timestamp")
    sign = (text.re_extract(_OFFSET, 1) == "-").ifelse(-1.0, 1.0)
    offset = sign * (_part(text, _OFFSET, 2) * 3600 + _part(text, _OFFSET, 3) * 60)
    return bare.epoch_seconds().cast("float64") - offset


def _parse_instant(cell: str) -> object:
    return pd.Timestamp(re.sub(_ZONE, r"\1", cell))


def _year_first(order: str) -> Callable[[ibis.Value], ibis.Value]:
    return lambda text: _instant(text.re_replace(_DATE, order))


def _parse_year_first(order: str) -> Callable[[str], object]:
    def parse(cell: str) -> object:
        if not re.match(_DATE, cell):
            raise ValueError(cell)
        return _parse_instant(re.sub(_DATE, order, cell))

    return parse


def elapsed_s(text: ibis.Value) -> ibis.Value:
    """Return seconds of ``5-00:00:26``, ``00:07:00`` or ``01:02.345``; other words are missing."""
    days, hours, minutes, seconds = (_part(text, _HMS, place) for place in (1, 2, 3, 4))
    # two fields behind days are hours and minutes, else minutes and seconds
    shift = text.re_search(_DAYS_HOURS_MINUTES).ifelse(60.0, 1.0)
    total = days * 86400.0 + hours * 3600.0 + (minutes * 60.0 + seconds) * shift
    return text.re_search(_HMS).ifelse(total, ibis.null("float64"))


def _size(units: Mapping[str, str]) -> Callable[[ibis.Value], ibis.Value]:
    def read(text: ibis.Value) -> ibis.Value:
        prefix = text.re_extract(_SIZE, 2).lower()
        factor = prefix.cases(*((p, GIB[unit]) for p, unit in units.items()), else_=0.0)
        return text.re_search(_SIZE).ifelse(_part(text, _SIZE, 1) * factor, ibis.null("float64"))

    return read


def _quantity(text: ibis.Value) -> ibis.Value:
    factor = (text.re_extract(_QUANTITY, 2) == "m").ifelse(1e-3, 1.0)
    amount = _part(text, _QUANTITY, 1) * factor
    return text.re_search(_QUANTITY).ifelse(amount, ibis.null("float64"))


def _part(text: ibis.Value, pattern: str, place: int) -> ibis.Value:
    """Return one group of a pattern as a number; one that is absent counts as 0."""
    return text.re_extract(pattern, place).nullif("").try_cast("float64").fill_null(0.0)


def _matching(pattern: str) -> Callable[[str], object]:
    def parse(cell: str) -> object:
        found = re.match(pattern, cell)
        if found is None:
            raise ValueError(cell)
        return found

    return parse


#: unit in a mapping -> how it is read
TEXT_FORMS = {
    "datetime": TextForm("a time such as 2021-05-01 02:26:23", _instant, _parse_instant),
    "datetime dmy": TextForm(
        "a time such as 31.12.2021 02:26",
        _year_first(r"\3-\2-\1"),
        _parse_year_first(r"\3-\2-\1"),
    ),
    "datetime mdy": TextForm(
        "a time such as 12/31/2021 02:26",
        _year_first(r"\3-\1-\2"),
        _parse_year_first(r"\3-\1-\2"),
    ),
    "hms": TextForm("a time span such as 1-02:26:23", elapsed_s, _matching(_HMS)),
    "size": TextForm("a size such as 512Mi or 16GB", _size(_PREFIXES), _matching(_SIZE)),
    "size binary": TextForm("a size such as 512M or 16G", _size(_BINARY), _matching(_SIZE)),
    "quantity": TextForm("a quantity such as 500m or 2", _quantity, _matching(_QUANTITY)),
}

PERCENT = TextForm(
    "a percentage such as 55 or 55%",
    lambda text: text.re_replace(r"\s*%\s*$", "").try_cast("float64"),
    lambda cell: float(cell.strip().removesuffix("%")),
)
_NUMBER = TextForm("a number", lambda text: text.try_cast("float64"), float)


def form_of(unit: str | None, decimal: str = ".") -> TextForm | None:
    """Return how cells in a unit are read; None if they are plain numbers or text."""
    form = PERCENT if (unit or "").lower() == "percent" else TEXT_FORMS.get(unit or "")
    return form if decimal == "." else _with_comma(form or _NUMBER)


def _with_comma(form: TextForm) -> TextForm:
    """Read 3,5 as 3.5; a point beside it would be a guess, so it is refused."""

    def read(text: ibis.Value) -> ibis.Value:
        return form.read(text.contains(".").ifelse(ibis.null("string"), text.replace(",", ".")))

    def parse(cell: str) -> object:
        if "." in cell:
            raise ValueError(cell)
        return form.parse(cell.replace(",", "."))

    return TextForm(f"{form.what}, with a decimal comma", read, parse)


# Wall-clock text as seconds since 1970, the same on every engine.
#
# Engines disagree about time zone offsets inside a cast (one applies them, one drops
# them), so the offset is split off and applied here.


#: length of 2021-02-11T22:36:19
_CLOCK_WIDTH = 19
_REST = r"^(?:[.][0-9]+)?(?:Z|([+-])([0-9]{2}):?([0-9]{2}))?$"


def instant_s(text: ibis.Value) -> ibis.Value:
    """Return seconds since 1970 of texts such as ``2021-02-11T22:36:19`` or plain seconds.

    A text with an offset (``+08:00``) becomes true Unix time; one without is read as if
    its clock were UTC. What is no time becomes missing.
    """
    rest = text.substr(_CLOCK_WIDTH)
    clock = (text.contains("-") & rest.re_search(_REST)).ifelse(
        text.substr(0, _CLOCK_WIDTH), ibis.null("string")
    )
    hours = rest.re_extract(_REST, 2).nullif("").try_cast("float64")
    minutes = rest.re_extract(_REST, 3).nullif("").try_cast("float64")
    offset = hours * 3600.0 + minutes * 60.0
    ahead = rest.re_extract(_REST, 1) == "+"
    shift = ibis.coalesce(ahead.ifelse(-offset, offset), ibis.literal(0.0))
    seconds = text.re_search(r"^[0-9]+(?:[.][0-9]+)?$").ifelse(text, ibis.null("string"))
    return ibis.coalesce(
        clock.try_cast("timestamp").epoch_seconds().cast("float64") + shift,
        seconds.try_cast("float64"),
    )
