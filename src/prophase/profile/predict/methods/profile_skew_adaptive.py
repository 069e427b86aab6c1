"""The successor's skew-adaptive estimate: a quantile chosen by the shape of the profile.

As the program published with arXiv 2504.20740 has it: the moment coefficient of skewness of
the profile's values decides. Below zero, a tail to the left, the median; otherwise, a tail to
the right or none, the 5 % quantile. Durations nearly always have a tail to the right, so it
mostly answers as ``profile-q05``.
"""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.memory import Floats
from prophase.profile.predict.methods.profile_base import ProfilePredictor


class ProfileSkewAdaptive(ProfilePredictor):
    """Answer with the median of a left-skewed profile, and the 5 % quantile of any other."""

    name = "profile-skew-adaptive"

    def _summary(self, values: Floats) -> float:
        # the sign is all that counts, so there is no need to divide by the spread
        third_moment = float(((values - values.mean()) ** 3).mean())
        return float(np.quantile(values, 0.5 if third_moment < 0 else 0.05))
