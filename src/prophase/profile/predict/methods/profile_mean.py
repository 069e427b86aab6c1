"""The paper's estimate: the mean of the profile."""

from __future__ import annotations

from prophase.profile.predict.memory import Floats
from prophase.profile.predict.methods.profile_base import ProfilePredictor


class ProfileMean(ProfilePredictor):
    """Answer with the mean over the finished jobs of the profile."""

    name = "profile-mean"

    def _summary(self, values: Floats) -> float:
        return float(values.mean())
