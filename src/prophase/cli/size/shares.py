"""Shares as users write them: 1%, 0.01."""

from __future__ import annotations

from prophase.errors import ParameterError


def share_of(text: str, option: str) -> float:
    """Return a share between 0 and 1.

    Examples
    --------
    >>> share_of("1%", "--risk"), share_of("0.01", "--risk")
    (0.01, 0.01)
    """
    written = text.strip()
    try:
        value = float(written.removesuffix("%")) / (100 if written.endswith("%") else 1)
    except ValueError:
        raise ParameterError(f"{option} {text!r} is no share: write 1% or 0.01.") from None
    if not 0 <= value < 1:
        raise ParameterError(f"{option} {text!r} is not between 0 and 1: write 1% or 0.01.")
    return value
