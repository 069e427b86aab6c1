"""XGBoost on codes of a small network that learns to complete a job's words: an autoencoder.

One layer of tanh squeezes the one-hot words into codes, a second gives back how likely each
word is. While learning, some words of each job are hidden (a denoising autoencoder, Vincent and
others, 2008), so a code has to tell the user from the workload and the task from the group: jobs
with words that go together get codes that lie together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from prophase.array_types import Floats, Ints
from prophase.profile.classify.metadata_words import Words
from prophase.profile.classify.methods.boosted_trees import DIMENSIONS, Boosted, Features

if TYPE_CHECKING:
    from scipy import sparse

#: the commonest words are coded; of the others there is too little to learn from
_MOST_WORDS = 1_000
#: jobs that the network learns from, how often, and how many at a time
_MOST_ROWS, _EPOCHS, _BATCH = 20_000, 12, 128
#: share of the words that are hidden
_HIDDEN = 0.3
_PACE = 0.01
#: Adam's memory of the gradient and of its square
_FADE, _FADE_OF_SQUARES = 0.9, 0.999


class AutoencoderEmbedding(Boosted):
    """Trees on the codes of a network that completes the words of a job."""

    name = "autoencoder"
    about = f"XGBoost on {DIMENSIONS} codes of an autoencoder that completes the words of a job"

    def _learn_features(self, words: Words, codes: Ints, classes: int) -> Features:
        self._weights, self._bias = _encoder(self.encoding.encode(words), self.random_state)
        return self._features(words)

    def _features(self, words: Words) -> Features:
        told = self.encoding.encode(words) @ self._weights
        return np.tanh(np.asarray(told) + self._bias).astype(np.float32)

    def _arrays(self) -> dict[str, Floats]:
        return {"code_weights": self._weights, "code_bias": self._bias}

    def _restore_arrays(self, arrays: Mapping[str, Floats]) -> None:
        self._weights, self._bias = arrays["code_weights"], arrays["code_bias"]


def _encoder(rows: sparse.csr_matrix, random_state: int) -> tuple[Floats, Floats]:
    """Return the weights (words, codes) and the bias that make codes of one-hot rows."""
    draw = np.random.default_rng(random_state)
    held = np.asarray(rows.sum(axis=0), dtype=np.float64).ravel()
    common = np.sort(np.argsort(-held, kind="stable")[:_MOST_WORDS])
    size, codes = len(common), min(DIMENSIONS, max(rows.shape[1], 1))
    weights = np.zeros((rows.shape[1], codes))
    if not size:
        return weights, np.zeros(codes)
    chosen = np.arange(rows.shape[0])
    if len(chosen) > _MOST_ROWS:
        chosen = np.sort(draw.choice(len(chosen), _MOST_ROWS, replace=False))
    seen = rows[chosen][:, common]
    share = np.clip(held[common] / max(rows.shape[0], 1), 1e-4, 1 - 1e-4)
    step = _Adam([
        draw.normal(0.0, 0.3, (size, codes)), np.zeros(codes),
        draw.normal(0.0, 0.1, (codes, size)), np.log(share / (1 - share)),
    ])  # fmt: skip
    for _ in range(_EPOCHS):
        order = draw.permutation(seen.shape[0])
        for first in range(0, len(order), _BATCH):
            whole = seen[order[first : first + _BATCH]].toarray().astype(np.float64)
            part = whole * (draw.random(whole.shape) >= _HIDDEN)
            to_code, bias, to_word, level = step.values
            code = np.tanh(part @ to_code + bias)
            likely = 1 / (1 + np.exp(-np.clip(code @ to_word + level, -30.0, 30.0)))
            wrong = (likely - whole) / len(whole)
            back = (wrong @ to_word.T) * (1 - code**2)
            step.move([part.T @ back, back.sum(axis=0), code.T @ wrong, wrong.sum(axis=0)])
    weights[common] = step.values[0]
    return weights, step.values[1]


class _Adam:
    """Parameters and how they move along gradients (Kingma and Ba, 2015, algorithm 1)."""

    def __init__(self, values: list[Floats]) -> None:
        self.values = values
        self._mean = [np.zeros_like(one) for one in values]
        self._square = [np.zeros_like(one) for one in values]
        self._steps = 0

    def move(self, gradients: list[Floats]) -> None:
        self._steps += 1
        pace = _PACE * np.sqrt(1 - _FADE_OF_SQUARES**self._steps) / (1 - _FADE**self._steps)
        for place, gradient in enumerate(gradients):
            mean, square = self._mean[place], self._square[place]
            mean += (1 - _FADE) * (gradient - mean)
            square += (1 - _FADE_OF_SQUARES) * (gradient**2 - square)
            self.values[place] = self.values[place] - pace * mean / (np.sqrt(square) + 1e-8)
