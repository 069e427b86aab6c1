"""A description told in words and tables: one section for each part."""


def percent(share: float) -> float:
    """Return a share as a percentage with one decimal, two below 1 %."""
    return round(100 * share, 1 if abs(share) >= 0.01 else 2)
