"""The mean of the middle half of the profile: between its quartiles, ends included."""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.memory import Floats
from prophase.profile.predict.methods.profile_base import ProfilePredictor


class ProfileInterquartileMean(ProfilePredictor):
    """Answer with the mean over the finished jobs between the quartiles of the profile."""

    name = "profile-interquartile-mean"

    def _summary(self, values: Floats) -> float:
        low, high = np.quantile(values, [0.25, 0.75])
        middle = values[(values >= low) & (values <= high)]
        # of two values the quartiles lie between them
        return float(middle.mean()) if len(middle) else float(values.mean())
