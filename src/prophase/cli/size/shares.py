"""Shares below one as users write them: 1%, 0.01."""

from __future__ import annotations

from prophase.errors import ParameterError
from prophase.trace.units import parse_share


def share_of(text: str, option: str) -> float:
    """Return a share from 0 to below 1.

    Examples
    --------
    >>> share_of("1%", "--risk"), share_of("0.01", "--risk")
    (0.01, 0.01)
    """
    share = parse_share(text.strip(), name=option)
    if share == 1.0:
        raise ParameterError(f"{option} is {text!r}, but lies below 100%. Pass 1% or 0.01.")
    return share
