"""AI4DL's way: hidden features of a CRBM, and k-means on them."""

from __future__ import annotations

from typing import Self

import numpy as np

from prophase.phase.crbm import CRBM
from prophase.phase.labellers.nearest_centre import NearestCentre, learn_centres
from prophase.trace.series.usage_series import Floats

#: hidden features, as many as AI4DL has
HIDDEN = 10


class BoltzmannMeans(NearestCentre):
    """Label by the nearest centre of hidden features.

    Examples
    --------
    >>> values = np.repeat([0.0, 3.0, 0.0, 3.0], 40)[:, None]
    >>> labels = BoltzmannMeans.learn([values], 2).label(values)
    >>> int(labels[:3].max()), int(labels[20] != labels[60])
    (-1, 1)
    """

    name = "crbm"

    def __init__(self, centres: Floats, model: CRBM) -> None:
        super().__init__(centres, model.history)
        self.model = model

    def features(self, values: Floats) -> Floats:
        return self.model.activations(values)

    def arrays(self) -> dict[str, Floats]:
        return {"centres": self.centres, **self.model.arrays()}

    @classmethod
    def learn(
        cls,
        stretches: list[Floats],
        n_phases: int,
        *,
        window: int = 3,
        random_state: int = 0,
        hidden: int = HIDDEN,
    ) -> Self:
        """Learn CRBM and centres from scaled values; ``window`` is the length of the history."""
        model = _crbm(stretches, window, hidden, random_state)
        return cls.on(model, stretches, n_phases, random_state)

    @classmethod
    def on(cls, model: CRBM, stretches: list[Floats], n_phases: int, random_state: int = 0) -> Self:
        """Learn only the centres, on the features of a CRBM that is there already."""
        rows = np.concatenate([model.activations(one) for one in stretches])
        return cls(learn_centres(rows, n_phases, random_state), model)

    @classmethod
    def from_arrays(cls, arrays: dict[str, Floats]) -> Self:
        return cls(arrays["centres"], CRBM.from_arrays(arrays))


def _crbm(stretches: list[Floats], history: int, hidden: int, random_state: int) -> CRBM:
    windows = sum(max(len(one) - history, 0) for one in stretches)
    # about a million windows in all are plenty for ten features
    epochs = int(np.clip(1_000_000 // max(windows, 1), 20, 400))
    network = CRBM(hidden=hidden, history=history, epochs=epochs, random_state=random_state)
    return network.fit(stretches)
