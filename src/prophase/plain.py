"""Results as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def finite(value: Any) -> Any:
    """Return the value with NaN and infinity as None, so that it fits into JSON.

    Examples
    --------
    >>> finite({"share": float("nan"), "jobs": (1, 2)})
    {'share': None, 'jobs': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain(value: Any) -> Any:
    """Return a value that JSON does not know as one that it knows."""
    if hasattr(value, "item"):
        return value.item()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return str(value)
