"""Change points found as they happen; a stretch between two is labelled by its level and spread.

A window of the latest samples is compared with the part of the stretch before it. If they come
from different normal distributions beyond doubt, the stretch ends where the window begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
from scipy.special import chdtri

from prophase.phase.labellers.labeller import NO_PHASE
from prophase.phase.labellers.nearest_centre import learn_centres
from prophase.trace.series.kmeans_centres import nearest
from prophase.trace.series.usage_series import Floats, Ints

#: a change is called when samples without one would give it this often
_CHANCE = 1e-8
#: spreads below this, in spreads of the whole metric, are as good as none
_CALM = 0.05


class ChangePoints:
    """Label the stretch since the last change point by the nearest centre.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = (np.repeat([0.0, 5.0], 60) + rng.normal(0, 0.1, 120))[:, None]
    >>> labels = ChangePoints.learn([values], 2, window=4).label(values)
    >>> np.unique(labels[4:60]).tolist(), np.unique(labels[64:]).tolist()
    ([0], [1])
    """

    name = "change-points"

    def __init__(self, centres: Floats, window: int) -> None:
        self.centres = centres
        self.window = window
        self.history = window - 1

    @property
    def n_phases(self) -> int:
        return len(self.centres)

    def label(self, values: Floats) -> Ints:
        push = self.stream()
        return np.array([push(sample) for sample in values], dtype=np.int64)

    def stream(self) -> Callable[[Floats], int]:
        describe = _stretch_statistics(self.window)

        def push(sample: Floats) -> int:
            found = describe(sample)
            return NO_PHASE if found is None else int(nearest(found[None], self.centres)[0])

        return push

    def arrays(self) -> dict[str, Floats]:
        return {"centres": self.centres, "window": np.array([float(self.window)])}

    @classmethod
    def learn(
        cls, stretches: list[Floats], n_phases: int, *, window: int = 6, random_state: int = 0
    ) -> Self:
        """Learn from scaled values; ``window`` is the number of samples a change is called by."""
        rows = []
        for values in stretches:
            describe = _stretch_statistics(window)
            rows += [found for found in map(describe, values) if found is not None]
        return cls(learn_centres(np.array(rows), n_phases, random_state), window)

    @classmethod
    def from_arrays(cls, arrays: dict[str, Floats]) -> Self:
        return cls(arrays["centres"], int(arrays["window"][0]))


def _stretch_statistics(window: int) -> Callable[[Floats], Floats | None]:
    """Return a function that takes samples and describes the stretch each one belongs to."""
    recent: list[Floats] = []
    limit: float | None = None
    # count, sum and sum of squares of the stretch before the recent samples
    count, total, squares = 0, np.zeros(0), np.zeros(0)

    def push(sample: Floats) -> Floats | None:
        nonlocal limit, count, total, squares
        if limit is None:
            limit = float(chdtri(2 * len(sample), _CHANCE))
            total, squares = np.zeros(len(sample)), np.zeros(len(sample))
        recent.append(sample)
        if len(recent) > window:
            gone = recent.pop(0)
            count, total, squares = count + 1, total + gone, squares + gone**2
        if len(recent) < window:
            return None
        latest = np.array(recent)
        if count >= window and _unlike(latest, count, total, squares) > limit:
            count, total, squares = 0, np.zeros(len(sample)), np.zeros(len(sample))
        n = count + window
        mean = (total + latest.sum(axis=0)) / n
        variance = np.maximum((squares + (latest**2).sum(axis=0)) / n - mean**2, 0.0)
        return np.concatenate([mean, np.log(np.sqrt(variance) + _CALM) / 2])

    return push


def _unlike(latest: Floats, count: int, total: Floats, squares: Floats) -> float:
    """Return twice the log likelihood ratio of two normal distributions against one."""
    n = len(latest)
    variance, own = squares / count - (total / count) ** 2, latest.var(axis=0)
    joint_mean = (total + latest.sum(axis=0)) / (count + n)
    joint = (squares + (latest**2).sum(axis=0)) / (count + n) - joint_mean**2
    least = _CALM**2
    variance, own, joint = (np.maximum(one, 0.0) + least for one in (variance, own, joint))
    return float(((count + n) * np.log(joint) - count * np.log(variance) - n * np.log(own)).sum())
