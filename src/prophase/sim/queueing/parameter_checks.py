"""Refuse what no formula can answer, and say what would do."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from prophase.errors import ParameterError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def require_positive(**values: float) -> None:
    """Refuse values that are not finite and above zero."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ParameterError(f"{name} is {value}, but must be a number above 0.")


def require_scv(**values: float) -> None:
    """Refuse squared coefficients of variation below zero."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 0):
            raise ParameterError(
                f"{name} is {value}, but must be 0 or more: it is a variance over a squared mean "
                "(0 constant, 1 exponential)."
            )


def require_share(**values: float) -> None:
    """Refuse values outside the open interval from 0 to 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ParameterError(f"{name} is {value}, but lies between 0 and 1, such as 0.05.")


def require_whole_servers(servers: float) -> int:
    """Return the number of servers as an integer, at least one."""
    if servers != int(servers) or servers < 1:
        raise ParameterError(f"servers is {servers:g}, but must be a whole number from 1.")
    return int(servers)


def least_stable_servers(offered_load: float) -> int:
    """Return the fewest servers that keep up with a load given in busy servers.

    Examples
    --------
    >>> least_stable_servers(45.0), least_stable_servers(0.3)
    (46, 1)
    """
    return max(1, math.floor(offered_load) + 1)


def refuse_unstable(model: str, offered_load: float, servers: float) -> None:
    """Refuse a queue that grows without end, and say how many servers it takes."""
    if offered_load < servers:
        return
    enough = least_stable_servers(offered_load)
    raise ParameterError(
        f"{model}: the load keeps {offered_load:,.6g} servers busy, but there are {servers:,g} "
        f"(utilisation {100 * offered_load / servers:.4g} %), so the queue grows without end. "
        f"At least {enough:,} servers are needed (utilisation {100 * offered_load / enough:.4g} %)."
    )
