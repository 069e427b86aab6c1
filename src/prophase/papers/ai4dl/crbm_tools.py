"""The network of AI4DL with the names of its module ``crbm_tools``, on the house's own network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from prophase.errors import ParameterError
from prophase.papers.ai4dl.weights import NetworkParts, read_parts, save_part
from prophase.phase import crbm
from prophase.phase.crbm import logistic
from prophase.trace.series.usage_series import Floats

#: windows per learning step: the original takes one, which is seven times slower and no better
_BATCH = 4
#: of the original's settings, those that change nothing here
_WITHOUT_EFFECT = {"verbose", "monitor_time", "dtype"}


class ConditionalNetwork(crbm.CRBM):
    """Hidden features of samples and their histories, made and called as in AI4DL.

    Parameters
    ----------
    n_vis, n_hid, n_his : int
        Features of a sample, hidden features, and samples of history.
    sigma, scale_factor : float
        First weights are ``scale_factor`` times normal numbers with a spread of ``sigma``; a
        factor of 0 stands for 1 / (n_vis x n_his).
    patience : int, default=0
        Stop after so many passes without a better reconstruction of windows kept aside. 0 makes
        all passes; the original's default is 3.

    Examples
    --------
    >>> series = np.sin(np.arange(60) / 5)[:, None]
    >>> network = CRBM(n_vis=1, n_hid=3, n_his=2, n_epochs=5)
    >>> network.fit(build_slices_from_list_of_arrays([series], 2, 1)).predict(series).shape
    (60, 3)
    """

    def __init__(
        self,
        n_vis: int,
        n_hid: int,
        n_his: int,
        sigma: float = 0.2,
        *,
        scale_factor: float = 0.0,
        n_epochs: int = 100,
        learning_rate: float = 0.005,
        momentum: float = 0.0,
        random_state: int = 1234,
        patience: int = 0,
        **without_effect: object,
    ) -> None:
        unknown = set(without_effect) - _WITHOUT_EFFECT
        if unknown:
            raise ParameterError(f"CRBM has no setting {sorted(unknown)[0]!r}.")
        super().__init__(
            hidden=n_hid,
            history=n_his,
            # as far in a pass as with one window at a time
            learning_rate=learning_rate * _BATCH * (1 - momentum),
            momentum=momentum,
            epochs=n_epochs,
            batch=_BATCH,
            patience=patience,
            sigma=sigma * (scale_factor * n_vis * max(n_his, 1) if scale_factor else 1.0),
            random_state=random_state,
        )
        self.n_vis, self.n_hid, self.n_his, self.n_epochs = n_vis, n_hid, n_his, n_epochs
        #: how samples get their features, see `AI4DL`
        self.mode = "corrected"

    @property
    def rec_error_per_epoch(self) -> list[float]:
        """Mean length of sample minus reconstruction, after each pass."""
        return self.errors_

    def fit(self, stretches: Sequence[Floats]) -> Self:
        """Learn from slices of ``n_his`` + 1 samples, or from whole series."""
        widths = {np.asarray(one).shape[1] for one in stretches}
        if widths != {self.n_vis}:
            raise ParameterError(
                f"CRBM: n_vis is {self.n_vis}, and the series have {sorted(widths)} features."
            )
        return super().fit(list(stretches))

    def predict(self, seq: Floats) -> Floats:
        """Return hidden features of every sample.

        Where a history is not there yet they are NaN, or in parity with the original zeros.
        """
        values = np.asarray(seq, np.float64)
        if self.mode == "corrected":
            found = np.full((len(values), self.hidden), np.nan)
            found[self.history :] = self.activations(values)
            return found
        found = np.zeros((len(values), self.hidden))
        if len(values) <= self.history + 1:
            return found
        views = np.lib.stride_tricks.sliding_window_view(values, self.history + 1, axis=0)[:-1]
        past = views[:, :, :-1].reshape(len(views), -1)
        drive = views[:, :, -1] @ self.W.T + past @ self.B.T + self.h_bias
        found[self.history + 1 :] = logistic(drive)
        return found

    def save(self, model_path: Path | str, model_name: str) -> Path:
        """Write the network to ``model_path``/``model_name``, a file that runs nothing if read."""
        target = Path(model_path) / model_name
        if target.exists():
            raise ParameterError(f"{target}: is there already. Give another name.")
        target.parent.mkdir(parents=True, exist_ok=True)
        save_part(target, "crbm", NetworkParts(crbm=self), self.random_state)
        return target

    @classmethod
    def load(cls, model_path: Path | str) -> ConditionalNetwork:
        """Return the network in a file of `save`, or in a folder that the original wrote."""
        found = read_parts(model_path).crbm
        if found is None:
            raise ParameterError(f"{model_path}: holds no network. Give the file of that part.")
        return cls.of(found)

    @classmethod
    def of(cls, found: crbm.CRBM) -> ConditionalNetwork:
        """Return a fitted network of the house with the names of AI4DL."""
        if isinstance(found, cls):
            return found
        made = cls(len(found.v_bias), found.hidden, found.history, random_state=found.random_state)
        made._take(found.arrays())
        return made

    @classmethod
    def from_arrays(cls, arrays: dict[str, Floats], *, random_state: int = 0) -> Self:
        """Return a network with these weights."""
        held = crbm.CRBM.from_arrays(arrays)
        made = cls(len(held.v_bias), held.hidden, held.history, random_state=random_state)
        made._take(held.arrays())
        return made


#: as the original calls it
CRBM = ConditionalNetwork


def build_slices_from_list_of_arrays(
    list_of_arrays: Sequence[Floats], n_his: int, n_feat: int, verbose: int = 0
) -> list[Floats]:
    """Return every ``n_his`` + 1 samples in a row; series that are shorter give none."""
    widths = {one.shape[1] for one in list_of_arrays}
    if widths != {n_feat}:
        raise ParameterError(f"n_feat is {n_feat}, and the series have {sorted(widths)} features.")
    return [
        one[end - n_his - 1 : end]
        for one in list_of_arrays
        for end in range(n_his + 1, len(one) + 1)
    ]
