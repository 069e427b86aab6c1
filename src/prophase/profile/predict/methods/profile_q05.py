"""The 5 % quantile of the profile, the successor's default.

It keeps relative errors below 100 % by guessing short, so read it together with
``signed_log_error`` and ``within_x2_pct``.
"""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.memory import Floats
from prophase.profile.predict.methods.profile_base import ProfilePredictor


class ProfileQ05(ProfilePredictor):
    """Answer with the value that 5 % of the finished jobs of the profile stay under."""

    name = "profile-q05"

    def _summary(self, values: Floats) -> float:
        return float(np.quantile(values, 0.05))
