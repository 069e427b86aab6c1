"""The median of the profile, which a few long jobs do not move."""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.memory import Floats
from prophase.profile.predict.methods.profile_base import ProfilePredictor


class ProfileMedian(ProfilePredictor):
    """Answer with the median over the finished jobs of the profile."""

    name = "profile-median"

    def _summary(self, values: Floats) -> float:
        return float(np.median(values))
