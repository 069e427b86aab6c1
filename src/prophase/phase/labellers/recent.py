"""Labellers that look at the samples up to now through a function and take the nearest centre."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prophase.phase.kmeans import kmeans, nearest
from prophase.phase.labellers.labeller import NO_PHASE
from prophase.phase.products import in_blocks
from prophase.phase.series import Floats, Ints


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
