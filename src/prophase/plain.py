"""Results as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def finite(value: Any) -> Any:
    """Return a value as JSON can hold it: NaN and infinity become None, what is unknown text.

    Dataclasses and objects with ``to_dict`` become mappings, arrays and tuples lists.

    Examples
    --------
    >>> finite({"share": float("nan"), "jobs": (1, 2)})
    {'share': None, 'jobs': [1, 2]}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, type):
        return str(value)
    if hasattr(value, "to_dict"):
        return finite(value.to_dict())
    if is_dataclass(value):
        return {part.name: finite(getattr(value, part.name)) for part in fields(value)}
    return None if type(value).__name__ in ("NAType", "NaTType") else str(value)
