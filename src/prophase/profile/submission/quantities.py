"""Amounts as people write them, 16Gi, 500m or 2h, as the numbers of the job table."""

from __future__ import annotations

import math
import re
from typing import Any

from prophase.errors import InputError
from prophase.trace.schema import Column
from prophase.trace.units import GIB, SECONDS

_NUMBER = r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
_AMOUNT = re.compile(rf"\s*{_NUMBER}\s*([A-Za-z%µ]*)\s*")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")
_CLOCK = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
_SIZES = {
    "": "gib", "b": "bytes", "byte": "bytes", "bytes": "bytes",
    **{f"{p}b": f"{p}b" for p in "kmgt"}, **{p: f"{p}b" for p in "kmgt"},
    **{f"{p}i": f"{p}ib" for p in "kmgt"}, **{f"{p}ib": f"{p}ib" for p in "kmgt"},
}  # fmt: skip
#: no amount of anything is larger; methods compute with less exact numbers than ours
_MOST = 1e30
_SPANS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    "ms": "ms",
}


def seconds(text: str) -> float | None:
    """Return seconds of ``90``, ``2h``, ``1h30m`` or ``1-02:30:00``; None if it is no time.

    Examples
    --------
    >>> seconds("1h30m"), seconds("1-00:00:10"), seconds("soon")
    (5400.0, 86410.0, None)
    """
    bare = text.strip()
    clock = _CLOCK.fullmatch(bare)
    if clock:
        days, hours, minutes, rest = (float(part or 0) for part in clock.groups())
        return days * 86_400 + hours * 3_600 + minutes * 60 + rest
    plain = _AMOUNT.fullmatch(bare)
    if plain and not plain[2]:
        return float(plain[1])
    parts = _SPAN.findall(bare)
    if not parts or _SPAN.sub("", bare).strip():
        return None
    if any(unit.lower() not in _SPANS for _, unit in parts):
        return None
    return sum(float(number) * SECONDS[_SPANS[unit.lower()]] for number, unit in parts)


def gib(text: str, *, plain: str = "gib") -> float | None:
    """Return GiB of ``16Gi``, ``512MB`` or a bare number in the unit ``plain``.

    Examples
    --------
    >>> gib("512Mi"), gib("2"), gib("1048576", plain="bytes"), gib("many")
    (0.5, 2.0, 0.0009765625, None)
    """
    found = _AMOUNT.fullmatch(text)
    if found is None or found[2].lower() not in _SIZES:
        return None
    unit = _SIZES[found[2].lower()] if found[2] else plain
    return float(found[1]) * GIB[unit]


def amount(text: str) -> float | None:
    """Return ``2``, ``500m`` (thousandths) or ``50%`` as a number; None if it is none.

    Examples
    --------
    >>> amount("500m"), amount("50%"), amount("two")
    (0.5, 0.5, None)
    """
    found = _AMOUNT.fullmatch(text)
    factor = {"": 1.0, "m": 1e-3, "%": 1e-2}.get(found[2]) if found else None
    return float(found[1]) * factor if found and factor is not None else None


def number_for(column: Column, value: Any, where: str) -> float | None:
    """Return a value as the column's number; None if it is missing.

    ``where`` names the place in messages, such as ``job.yaml: memory``.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool):
        raise _refused(column, value, where)
    if isinstance(value, int | float):
        try:
            found: float | None = float(value)
        except OverflowError:
            found = math.inf
    else:
        text = str(value)
        reads = {"s": seconds, "GiB": gib}.get(column.unit, amount)
        found = reads(text)
    if found is None or abs(found) > _MOST:
        raise _refused(column, value, where)
    if math.isnan(found):
        return None
    if column.low is not None and found < column.low:
        raise InputError(
            f"{where} is {value!r}, but {column.name} is never below {column.low:g}. Correct it, "
            "or leave it out if it is unknown."
        )
    return found


def _refused(column: Column, value: Any, where: str) -> InputError:
    examples = {"s": "7200, 2h or 1-00:00:00", "GiB": "16, 16Gi or 512Mi"}
    example = examples.get(column.unit, "2 or 0.5")
    unit = f" in {column.unit}" if column.unit else ""
    return InputError(
        f"{where} is {value!r}, which is not a number{unit}. Write for example {example}."
    )
