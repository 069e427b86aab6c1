"""k-means on what recent samples were like: their level, their spread, their movement."""

from __future__ import annotations

from typing import Self

import numpy as np

from prophase.phase.crbm import windows_of
from prophase.phase.labellers.recent import NearestCentre, learn_centres
from prophase.phase.products import in_blocks
from prophase.phase.series import Floats

#: spreads below this, in spreads of the whole metric, are as good as none
_CALM = 0.02


class WindowMeans(NearestCentre):
    """Label by the nearest centre of statistics of the last ``window`` samples.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> calm, jumpy = rng.normal(0, 0.05, 200), rng.normal(0, 1.0, 200)
    >>> values = np.concatenate([calm, jumpy])[:, None]
    >>> labels = WindowMeans.learn([values], 2, window=10).label(values)
    >>> int(labels[100] != labels[300]), int(labels[0])
    (1, -1)
    """

    name = "windows"

    def __init__(self, centres: Floats, history: int, mean: Floats, scale: Floats) -> None:
        super().__init__(centres, history)
        self.mean = mean
        self.scale = scale

    def features(self, values: Floats) -> Floats:
        metrics = values.shape[1]
        windows = windows_of([values], self.history)
        return in_blocks(
            windows,
            lambda rows: (
                (_statistics(rows.reshape(len(rows), -1, metrics)) - self.mean) / self.scale
            ),
        )

    def arrays(self) -> dict[str, Floats]:
        return {
            "centres": self.centres,
            "mean": self.mean,
            "scale": self.scale,
            "history": np.array([float(self.history)]),
        }

    @classmethod
    def learn(
        cls, stretches: list[Floats], n_phases: int, *, window: int = 12, random_state: int = 0
    ) -> Self:
        """Learn from scaled values; stretches shorter than the window are left out."""
        history = max(window - 1, 1)
        metrics = stretches[0].shape[1]
        windows = windows_of(stretches, history)
        rows = in_blocks(windows, lambda part: _statistics(part.reshape(len(part), -1, metrics)))
        mean, scale = rows.mean(axis=0), rows.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        centres = learn_centres((rows - mean) / scale, n_phases, random_state)
        return cls(centres, history, mean, scale)

    @classmethod
    def from_arrays(cls, arrays: dict[str, Floats]) -> Self:
        return cls(arrays["centres"], int(arrays["history"][0]), arrays["mean"], arrays["scale"])


def _statistics(windows: Floats) -> Floats:
    """Return level, spread and movement of each window, (n, 3 x metrics)."""
    spread = windows.std(axis=1)
    movement = np.abs(np.diff(windows, axis=1)).mean(axis=1)
    return np.hstack([windows.mean(axis=1), np.log(spread + _CALM), np.log(movement + _CALM)])
