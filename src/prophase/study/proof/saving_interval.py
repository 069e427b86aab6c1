"""The proven saving with its interval: what is reserved before and after, compared by day."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophase.stats import Blocks, Estimate, ratio


def saving_with_interval(
    before: NDArray[np.float64], after: NDArray[np.float64], days: Blocks
) -> Estimate:
    """Return the share of what is reserved today that is saved; at most all of it.

    Parameters
    ----------
    before, after : arrays
        What each job reserves today and with the recommendation, in amount x hours.
    days : Blocks
        The day of each job: jobs of one day are alike, so days are compared.
    """
    return ratio(before - after, before, days).within(most=1.0)
