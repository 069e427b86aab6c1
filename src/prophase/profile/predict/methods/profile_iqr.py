"""The interquartile range of the profile, as the successor's program takes it for an estimate.

The distance between the quartiles says how wide a profile is, not where it lies; it is here
because the successor's program (arXiv 2504.20740, estimator ``iqr``) answers with it.
``profile-interquartile-mean`` is what one would expect under that name.
"""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.memory import Floats
from prophase.profile.predict.methods.profile_base import ProfilePredictor


class ProfileIqr(ProfilePredictor):
    """Answer with the upper less the lower quartile of the profile."""

    name = "profile-iqr"

    def _summary(self, values: Floats) -> float:
        low, high = np.quantile(values, [0.25, 0.75])
        return float(high - low)
