"""Amounts as people write them, 16Gi, 500m or 2h, as the numbers of the job table."""

from __future__ import annotations

import math
from typing import Any

from prophase import units
from prophase.errors import InputError
from prophase.trace.schema import Column

#: no amount of anything is larger; methods compute with less exact numbers than ours
_MOST = 1e30


def number_for(column: Column, value: Any, where: str) -> float | None:
    """Return a value as the column's number; None if it is missing.

    ``where`` names the place in messages, such as ``job.yaml: memory``.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
    elif column.unit == "s":
        found = units.parse_duration(value, bare="s", where=where, error=InputError)
    elif column.unit == "GiB":
        found = units.parse_memory(value, g_is="binary", bare="GiB", where=where, error=InputError)
    else:
        found = units.parse_quantity(value, where=where, error=InputError)
    if math.isnan(found):
        return None
    if abs(found) > _MOST:
        raise InputError(f"{where}: {value!r} is more than there can be. Correct it.")
    if column.low is not None and found < column.low:
        raise InputError(
            f"{where} is {value!r}, but {column.name} is never below {column.low:g}. Correct it, "
            "or leave it out if it is unknown."
        )
    return found
