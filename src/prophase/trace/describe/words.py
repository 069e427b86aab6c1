"""Numbers as people say them: 4 min instead of 240 s, 12 % instead of 0.1234."""

from __future__ import annotations

import math
import re

from prophase.errors import ParameterError
from prophase.trace.units import SECONDS

_STEPS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))
_LENGTH = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*")


def say_number(value: float | None) -> str:
    """Write a number with three significant digits, thousands separated.

    Examples
    --------
    >>> say_number(12345.6), say_number(0.0123456), say_number(7), say_number(None)
    ('12,346', '0.0123', '7', '-')
    """
    if value is None or not math.isfinite(value):
        return "-"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1e7:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def say_seconds(value: float | None) -> str:
    """Write a length of time in the unit that suits it.

    Examples
    --------
    >>> say_seconds(240), say_seconds(0), say_seconds(5400), say_seconds(0.25)
    ('4 min', '0 s', '1.5 h', '250 ms')
    """
    if value is None or not math.isfinite(value):
        return "-"
    for size, unit in _STEPS:
        if abs(value) >= size:
            return f"{say_number(float(f'{value / size:.3g}'))} {unit}"
    return "0 s" if value == 0 else f"{value:.3g} s"


def say_share(value: float | None) -> str:
    """Write a share as a percentage that never rounds to a false 0 % or 100 %.

    Examples
    --------
    >>> say_share(0.1234), say_share(0.00001), say_share(0.99999), say_share(1.0)
    ('12.3 %', '<0.1 %', '>99.9 %', '100 %')
    """
    if value is None or not math.isfinite(value):
        return "-"
    if 0 < value < 0.0005:
        return "<0.1 %"
    if 0.9995 < value < 1:
        return ">99.9 %"
    return f"{100 * value:.0f} %" if value in (0, 1) else f"{100 * value:.1f} %"


def parse_seconds(text: str, *, name: str) -> float:
    """Read ``'90'``, ``'30min'`` or ``'1.5h'`` as seconds.

    Examples
    --------
    >>> parse_seconds("1.5h", name="--short-below")
    5400.0
    """
    match = _LENGTH.fullmatch(text.lower())
    unit = (match[2] or "s") if match else ""
    if match is None or unit not in SECONDS:
        raise ParameterError(
            f"{name} is {text!r}. Pass a length of time such as 600, 30min, 1h or 2d."
        )
    return float(match[1]) * SECONDS[unit]


def listed(words: list[str], *, most: int = 5) -> str:
    """Join words as in a sentence, the rest as a number.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=1)
    ('a, b and c', 'a and 2 more')
    """
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
