"""How profiles and their numbers are written and coloured in figures."""

from __future__ import annotations

import math

from prophase.plots.style import COLOURS
from prophase.profile.clusters.quality import OUTLIERS

OUTLIER_COLOUR = COLOURS[1]
_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))


def profile_label(profile: object) -> str:
    """Return a profile's number as it stands at an axis."""
    return "−1" if str(profile) == str(OUTLIERS) else str(profile)


def profile_colour(profile: int) -> str:
    """Return the colour of a profile; it comes back after a few profiles."""
    if profile == OUTLIERS:
        return OUTLIER_COLOUR
    others = [colour for colour in COLOURS if colour != OUTLIER_COLOUR]
    return others[profile % len(others)]


def in_words(value: float) -> str:
    """Write a number in at most five signs.

    Examples
    --------
    >>> in_words(0.0), in_words(12.345), in_words(2_500_000), in_words(-30_000)
    ('0', '12.3', '2.5M', '-30k')
    """
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    for least, letter in _STEPS:
        if size >= least:
            return f"{value / (1e3 if letter == 'k' else least):.3g}{letter}"
    if size >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}"
