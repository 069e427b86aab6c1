"""Fairness: do users fare alike?"""

from __future__ import annotations

from typing import Any

import numpy as np

from prophase.sim.signatures import Floats, Ints


def jain_index(values: Floats) -> float | None:
    """Return Jain's index: 1 if all values are equal, 1/n if one has everything.

    Examples
    --------
    >>> jain_index(np.array([2.0, 2.0])), jain_index(np.array([1.0, 0.0, 0.0, 0.0]))
    (1.0, 0.25)
    """
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / (values.size * squares) if squares > 0 else None


def fairness(user: Ints, wait_s: Floats, slowdown: Floats, hours: Floats) -> dict[str, Any]:
    """Compare users; those of missing name (-1) are left out.

    Parameters
    ----------
    user : array of shape (jobs,)
        Number of each job's user.
    hours : array of shape (jobs,)
        GPU-hours (or core-hours) each job held.
    """
    known = (user >= 0) & np.isfinite(wait_s)
    _, place = np.unique(user[known], return_inverse=True)
    jobs = np.bincount(place)
    if jobs.size < 2:
        return {"users": int(jobs.size)}
    waits = np.bincount(place, wait_s[known]) / jobs
    return {
        "users": int(jobs.size),
        "jain_slowdown": jain_index(np.bincount(place, slowdown[known]) / jobs),
        "jain_hours": jain_index(np.bincount(place, hours[known]).astype(np.float64)),
        "median_user_wait_s": float(np.median(waits)),
        "max_user_wait_s": float(waits.max()),
    }
