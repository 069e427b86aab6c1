"""Checks that the rules share."""

from __future__ import annotations

import math

from prophase.errors import ParameterError


def at_least(what: str, value: float, least: float, *, finite: bool = True) -> None:
    """Refuse a number that is not at least so large."""
    if not value >= least or (finite and not math.isfinite(value)):
        raise ParameterError(f"{what} = {value:g}: give a number of at least {least:g}.")
