"""k-means on single samples: what is used now, and nothing else. Blind to movement."""

from __future__ import annotations

from typing import Self

import numpy as np

from prophase.phase.labellers.recent import NearestCentre, learn_centres
from prophase.phase.series import Floats


class SampleMeans(NearestCentre):
    """Label by the nearest centre of single samples.

    Examples
    --------
    >>> values = np.repeat([0.0, 5.0, 0.0], 4)[:, None]
    >>> SampleMeans.learn([values], 2).label(values).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]
    """

    name = "samples"

    def features(self, values: Floats) -> Floats:
        return values

    def arrays(self) -> dict[str, Floats]:
        return {"centres": self.centres}

    @classmethod
    def learn(
        cls, stretches: list[Floats], n_phases: int, *, window: int = 0, random_state: int = 0
    ) -> Self:
        """Learn from scaled values; the window has no meaning here."""
        return cls(learn_centres(np.concatenate(stretches), n_phases, random_state), 0)

    @classmethod
    def from_arrays(cls, arrays: dict[str, Floats]) -> Self:
        return cls(arrays["centres"], 0)
