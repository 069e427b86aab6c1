"""How profiles and their numbers are written and coloured in figures."""

from __future__ import annotations

from prophase.plots.style import COLOURS
from prophase.profile.clusters.quality import OUTLIERS

OUTLIER_COLOUR = COLOURS[1]


def profile_label(profile: object) -> str:
    """Return a profile's number as it stands at an axis."""
    return "−1" if str(profile) == str(OUTLIERS) else str(profile)


def profile_colour(profile: int) -> str:
    """Return the colour of a profile; it comes back after a few profiles."""
    if profile == OUTLIERS:
        return OUTLIER_COLOUR
    others = [colour for colour in COLOURS if colour != OUTLIER_COLOUR]
    return others[profile % len(others)]
