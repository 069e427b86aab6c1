"""Spans of time as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_SPAN = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+|inf)\s*([a-z]*)\s*")


def seconds(text: str) -> float:
    """Read ``90``, ``90s``, ``15 min``, ``2h``, ``30d``, ``inf``.

    Examples
    --------
    >>> seconds("1.5h"), seconds("15 min"), seconds("inf")
    (5400.0, 900.0, inf)
    """
    match = _SPAN.fullmatch(text.lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is no span of time. Write 90s, 15min, 2h or 30d.")
    return float(match[1]) * _UNITS[match[2]]
