"""How much memory the next attempt gets. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

#: what was given and refused -> what to give next, or None if there is nothing more to try
Ladder = Callable[[float], float | None]

GROWTH = 2.0
_SLIGHTLY = 1.001


def ladder(
    *, advised: Sequence[float] = (), bins: Sequence[float] = (), most: float | None = None
) -> Ladder:
    """Return the rule for lifting a request after an OOM.

    The next rung is the smallest advised amount above the last one; without one, the next
    bin; without one, twice the last. Nothing exceeds ``most``.

    Parameters
    ----------
    advised : sequence of float, optional
        Requests of the 1st, 2nd, 3rd try as a sizer advises them, in GiB.
    bins : sequence of float, optional
        Sizes that are in use, in GiB.
    most : float, optional
        Memory of the largest node, in GiB.

    Examples
    --------
    >>> lift = ladder(advised=[2.0, 3.0], bins=[4.0, 16.0], most=24.0)
    >>> lift(2.0), lift(3.0), lift(5.0), lift(16.0), lift(24.0)
    (3.0, 4.0, 16.0, 24.0, None)
    """

    def lift(last: float) -> float | None:
        above = [
            min((rung for rung in rungs if rung > last * _SLIGHTLY), default=None)
            for rungs in (advised, bins)
        ]
        wanted = next((rung for rung in above if rung is not None), GROWTH * last)
        if most is not None:
            wanted = min(wanted, most)
        return wanted if wanted > last * _SLIGHTLY else None

    return lift
