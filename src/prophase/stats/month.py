"""From the history to a month, and when not."""

from __future__ import annotations

import math
from dataclasses import replace

from prophase.stats.blocks import DAY_S
from prophase.stats.estimate import Estimate

#: a twelfth of a year
MONTH_S = 365.25 / 12 * DAY_S
#: a history without a whole week does not know how weekends differ
LEAST_S = 7 * DAY_S


def monthly(total: Estimate, span_s: float) -> Estimate:
    """Return what a total over the history is in a month, or why that cannot be told.

    Parameters
    ----------
    total : Estimate
        A sum over the whole history, such as hours saved.
    span_s : float
        How long the history is.

    Examples
    --------
    >>> monthly(Estimate(70.0, 60.0, 80.0), 14 * 86_400.0)  # doctest: +NORMALIZE_WHITESPACE
    Estimate(value=152.1..., low=130.4..., high=173.9..., level=0.95, n=0, blocks=0,
             method='extrapolated from 14 days', reason='')
    >>> monthly(Estimate(70.0), 9_600.0).reason
    'too short for a month: 2.7 hours of history, at least 7 days needed'
    """
    if not span_s >= LEAST_S:
        return replace(
            total, value=math.nan, low=math.nan, high=math.nan, reason=why_no_month(span_s)
        )
    method = f"{total.method}, " * bool(total.method) + f"extrapolated from {span_text(span_s)}"
    return replace(total.scaled(MONTH_S / span_s), method=method)


def why_no_month(span_s: float) -> str:
    """Return why a history of such a length is not extrapolated; nothing if it is.

    Examples
    --------
    >>> why_no_month(30 * 86_400.0)
    ''
    """
    if span_s >= LEAST_S:
        return ""
    return f"too short for a month: {span_text(span_s)} of history, at least 7 days needed"


def months_in(span_s: float) -> float:
    """Return how many months a history is; NaN below a week, so that nothing is extrapolated.

    Examples
    --------
    >>> round(months_in(14 * 86_400.0), 2), months_in(3600.0)
    (0.46, nan)
    """
    return span_s / MONTH_S if span_s >= LEAST_S else math.nan


def span_text(span_s: float) -> str:
    """Return the length of a history in words, such as ``14 days``."""
    number, unit = (span_s / DAY_S, "day") if span_s >= 2 * DAY_S else (span_s / 3600.0, "hour")
    written = f"{number:.3g}" if number >= 10 else f"{number:.2g}"
    return f"{written} {unit}" + ("" if written == "1" else "s")
