"""Labellers that take the nearest centre of k-means: of single samples, or of recent ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np

from prophase.phase.crbm import windows_of
from prophase.phase.labellers.labeller import NO_PHASE
from prophase.trace.series.block_products import in_blocks
from prophase.trace.series.kmeans_centres import kmeans, nearest
from prophase.trace.series.usage_series import Floats, Ints


class NearestCentre:
    """Label by the centre nearest to features of the last ``history`` + 1 samples.

    A subclass says what the features are; it must give each sample the same features however
    many samples come with it.
    """

    name = ""

    def __init__(self, centres: Floats, history: int) -> None:
        self.centres = centres
        self.history = history

    @property
    def n_phases(self) -> int:
        return len(self.centres)

    def features(self, values: Floats) -> Floats:
        """Return a row per sample that has a history, (n - history, features)."""
        raise NotImplementedError

    def label(self, values: Floats) -> Ints:
        found = np.full(len(values), NO_PHASE, dtype=np.int64)
        if len(values) > self.history:
            features = self.features(values)
            found[self.history :] = in_blocks(features, lambda rows: nearest(rows, self.centres))
        return found

    def stream(self) -> Callable[[Floats], int]:
        held: list[Floats] = []

        def push(sample: Floats) -> int:
            held.append(sample)
            del held[: -(self.history + 1)]
            if len(held) <= self.history:
                return NO_PHASE
            return int(nearest(self.features(np.array(held)), self.centres)[-1])

        return push


def learn_centres(rows: Floats, n_phases: int, random_state: int) -> Floats:
    """Return centres of features, in a fixed order."""
    return kmeans(rows, n_phases, random_state=random_state).places


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
