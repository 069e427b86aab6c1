"""Conditional restricted Boltzmann machine: a sample and its history become hidden features.

Taylor, Hinton, Roweis, "Modeling human motion using binary latent variables", 2006. Visible
units are Gaussian with unit variance, hidden units logistic; the samples before one, its
history ``u``, move the biases of both:

    hidden  = logistic(h_bias + B u + W v)
    visible = v_bias + A u + W' hidden

Learned by contrastive divergence. A history is laid out time by time, the oldest sample first.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np

from prophase.array_types import Array
from prophase.errors import InputError, ParameterError
from prophase.trace.series.block_products import in_blocks

#: float64 outside, float32 while learning
Floats = Array

_SHAPES = ("W", "A", "B", "v_bias", "h_bias")


@dataclass(eq=False, repr=False)
class CRBM:
    """Learn hidden features of samples and their histories.

    Attributes
    ----------
    W, A, B, v_bias, h_bias : arrays
        (hidden, metrics), (metrics, history x metrics), (hidden, history x metrics), ...
    errors_ : list of float
        Mean length of sample minus reconstruction, after each pass; of the windows kept aside
        if some are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> series = np.sin(np.arange(400) / 5)[:, None] + rng.normal(0, 0.05, (400, 1))
    >>> model = CRBM(hidden=4, epochs=50).fit([series])
    >>> model.activations(series).shape, model.errors_[-1] < model.errors_[0]
    ((397, 4), True)
    """

    _: KW_ONLY
    #: number of hidden features
    hidden: int = 10
    #: samples before one that it depends on
    history: int = 3
    #: size of a step, and the share of the step before that it keeps
    learning_rate: float = 0.02
    momentum: float = 0.9
    #: most passes over the windows
    epochs: int = 200
    #: windows per step
    batch: int = 64
    #: rounds of reconstruction per step (the k of CD-k)
    gibbs: int = 1
    #: draw hidden states while reconstructing instead of taking their probabilities, which is less
    #: noisy and what AI4DL does
    sampled: bool = False
    #: passes without a better reconstruction of the windows kept aside, after which learning
    #: stops; the best weights are kept. 0 learns to the end, from all windows
    patience: int = 10
    #: spread of the first weights, over the values of a history
    sigma: float = 0.2
    #: the same seed gives the same weights, bit by bit
    random_state: int = 0

    def fit(self, stretches: list[Floats]) -> Self:
        """Learn from uninterrupted values, scaled to a spread of about 1."""
        self._check()
        rng = np.random.default_rng(self.random_state)
        windows = windows_of(stretches, self.history)
        metrics = stretches[0].shape[1]
        self._begin(metrics, rng)
        fitted, judged = self._aside(windows, rng)
        fitted32, judged32 = fitted.astype(np.float32), judged.astype(np.float32)
        velocity = [np.zeros_like(one) for one in self._step_arrays()]
        best, kept, waited = np.inf, self._arrays(), 0
        self.errors_: list[float] = []
        for _ in range(self.epochs):
            self._pass(fitted32[rng.permutation(len(fitted32))], velocity, rng)
            self.errors_.append(self._error(judged32))
            if not np.isfinite(self.errors_[-1]):
                raise ParameterError(
                    f"CRBM: weights grow without bound at learning_rate {self.learning_rate}. "
                    "Pass a smaller one, such as a tenth, and scale the metrics."
                )
            if not self.patience:
                continue
            if self.errors_[-1] < best * (1 - 1e-3):
                best, kept, waited = self.errors_[-1], self._arrays(), 0
            else:
                waited += 1
                if waited >= self.patience:
                    break
        if self.patience:
            self._take(kept)
        self._take({name: value.astype(np.float64) for name, value in self._arrays().items()})
        return self

    def activations(self, values: Floats) -> Floats:
        """Return the hidden features of every sample that has a history, (n - history, hidden)."""
        if len(values) <= self.history:
            return np.zeros((0, len(self.h_bias)))
        weights = np.hstack([self.B, self.W]).T
        flat = np.ascontiguousarray(values).reshape(-1)
        metrics = values.shape[1]
        windows = np.lib.stride_tricks.as_strided(
            flat,
            (len(values) - self.history, (self.history + 1) * metrics),
            (flat.strides[0] * metrics, flat.strides[0]),
            writeable=False,
        )
        return in_blocks(windows, lambda rows: logistic(rows @ weights + self.h_bias))

    def reconstruct(self, windows: Floats) -> Floats:
        """Return each window's sample as the hidden features of it give it back."""
        history, sample = np.hsplit(windows, [windows.shape[1] - len(self.v_bias)])
        drive = history @ self.B.T + self.h_bias
        return np.asarray(
            history @ self.A.T + self.v_bias + logistic(drive + sample @ self.W.T) @ self.W
        )

    def reconstruction_error(self, stretches: list[Floats]) -> float:
        """Return the mean length of sample minus reconstruction, the measure AI4DL reports."""
        return self._error(windows_of(stretches, self.history))

    def generate(self, history: Floats, samples: int, *, gibbs: int = 30) -> Floats:
        """Return what may come next: ``samples`` rows after a history of ``history`` rows or more.

        Hidden states are drawn in every round; the visible means of the last one are the sample.
        """
        if len(history) < self.history:
            raise InputError(
                f"to generate, the model needs {self.history} samples of history and got "
                f"{len(history)}."
            )
        if samples < 0 or gibbs < 1:
            raise ParameterError("generate: samples is 0 or more, gibbs 1 or more.")
        rng = np.random.default_rng(self.random_state)
        before = np.array(history[len(history) - self.history :], dtype=np.float64)
        found = np.empty((samples, len(self.v_bias)))
        sample = np.array(history[-1] if len(history) else self.v_bias, dtype=np.float64)
        for place in range(samples):
            past = before.reshape(-1)
            drive, rest = self.B @ past + self.h_bias, self.A @ past + self.v_bias
            for _ in range(gibbs):
                states = rng.random(len(drive)) < logistic(drive + self.W @ sample)
                sample = rest + states @ self.W
            found[place] = sample
            before = np.vstack([before[1:], sample]) if self.history else before
        return found

    # learning

    def gradient(self, windows: Floats, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the contrastive-divergence estimate, by parameter, as a mean over windows."""
        joined = self._statistics(windows, rng)
        u = windows.shape[1] - len(self.v_bias)
        metrics = len(self.v_bias)
        both, weights = (one / len(windows) for one in joined)
        return {
            "W": weights,
            "A": both[:u, :metrics].T,
            "B": both[:u, metrics:].T,
            "v_bias": both[u, :metrics],
            "h_bias": both[u, metrics:],
        }

    def _statistics(self, windows: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return summed differences of data and reconstruction: by history and one, and of W."""
        u = windows.shape[1] - len(self.v_bias)
        history, sample = windows[:, :u], windows[:, u:]
        driven = history @ self._joined[:u] + self._joined[u]
        rest, drive = driven[:, : len(self.v_bias)], driven[:, len(self.v_bias) :]
        positive = logistic(drive + sample @ self.W.T)
        negative, given = positive, sample
        for _ in range(self.gibbs):
            states = negative
            if self.sampled:
                drawn = rng.random(negative.shape, dtype=np.float32)
                states = (drawn < negative).astype(negative.dtype)
            given = rest + states @ self.W
            negative = logistic(drive + given @ self.W.T)
        both = np.hstack([sample - given, positive - negative])
        summed = np.vstack([history.T @ both, both.sum(axis=0)])
        return summed, positive.T @ sample - negative.T @ given

    def _pass(self, windows: Floats, velocity: list[Floats], rng: np.random.Generator) -> None:
        rate, keep = np.float32(self.learning_rate), np.float32(self.momentum)
        for begin in range(0, len(windows), self.batch):
            part = windows[begin : begin + self.batch]
            size = np.float32(rate / len(part))
            found = self._statistics(part, rng)
            for held, speed, moved in zip(self._step_arrays(), velocity, found, strict=True):
                speed *= keep
                speed += size * moved
                held += speed

    def _begin(self, metrics: int, rng: np.random.Generator) -> None:
        wide = metrics * self.history
        scale = self.sigma / max(wide, 1)
        self._joined = (scale * rng.normal(size=(wide + 1, metrics + self.hidden))).astype(
            np.float32
        )
        self._joined[-1] = 0.0
        self.W = (scale * rng.normal(size=(self.hidden, metrics))).astype(np.float32)
        self._split()

    def _split(self) -> None:
        """Let A, B and the biases be views of the one matrix that learning moves."""
        metrics = self.W.shape[1]
        self.A, self.B = self._joined[:-1, :metrics].T, self._joined[:-1, metrics:].T
        self.v_bias, self.h_bias = self._joined[-1, :metrics], self._joined[-1, metrics:]

    def _step_arrays(self) -> tuple[Floats, Floats]:
        return self._joined, self.W

    def _arrays(self) -> dict[str, Floats]:
        return {name: getattr(self, name).copy() for name in _SHAPES}

    def _take(self, arrays: dict[str, Floats]) -> None:
        dtype = arrays["W"].dtype
        top = np.hstack([arrays["A"].T, arrays["B"].T])
        last = np.concatenate([arrays["v_bias"], arrays["h_bias"]])
        self._joined = np.ascontiguousarray(np.vstack([top, last]), dtype=dtype)
        self.W = np.ascontiguousarray(arrays["W"])
        self._split()

    def _aside(self, windows: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the windows to learn from and those to judge by."""
        if not self.patience or len(windows) < 50:
            return windows, windows
        # neighbours share most of their samples, so whole runs of windows are kept aside
        runs = np.array_split(np.arange(len(windows)), 50)
        aside = np.zeros(len(windows), dtype=bool)
        for run in rng.choice(50, 5, replace=False):
            aside[runs[run]] = True
        return windows[~aside], windows[aside]

    def _error(self, windows: Floats) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            off = windows[:, windows.shape[1] - len(self.v_bias) :] - self.reconstruct(windows)
            return float(np.sqrt((off.astype(np.float64) ** 2).sum(axis=1)).mean())

    def _check(self) -> None:
        for name, least in (
            ("hidden", 1),
            ("history", 0),
            ("epochs", 1),
            ("batch", 1),
            ("gibbs", 1),
        ):
            if getattr(self, name) < least:
                raise ParameterError(
                    f"CRBM: {name} is {getattr(self, name)}. Pass {least} or more."
                )
        if not self.sigma > 0:
            raise ParameterError(f"CRBM: sigma is {self.sigma}. Pass a number above 0.")
        if not self.learning_rate > 0 or not 0 <= self.momentum < 1 or self.patience < 0:
            raise ParameterError(
                "CRBM: learning_rate is above 0, momentum from 0 to below 1, patience 0 or more."
            )

    @classmethod
    def from_arrays(cls, arrays: dict[str, Floats], *, random_state: int = 0) -> Self:
        """Return a model with these weights; see the attributes for names and shapes."""
        hidden, metrics = arrays["W"].shape
        history = arrays["A"].shape[1] // metrics
        shapes = {
            "A": (metrics, history * metrics),
            "B": (hidden, history * metrics),
            "v_bias": (metrics,),
            "h_bias": (hidden,),
        }
        held = {"W": np.asarray(arrays["W"], dtype=np.float64)}
        for name, shape in shapes.items():
            value = np.asarray(arrays[name], dtype=np.float64)
            if value.size != np.prod(shape):
                raise InputError(
                    f"CRBM weights do not fit together: {name} has shape {value.shape}, and W of "
                    f"shape {(hidden, metrics)} needs {shape}."
                )
            held[name] = value.reshape(shape)
        model = cls(hidden=hidden, history=history, random_state=random_state)
        model._take(held)
        return model

    def arrays(self) -> dict[str, Floats]:
        """Return the weights by name."""
        return self._arrays()


def windows_of(stretches: list[Floats], history: int) -> Floats:
    """Return a row per sample with a history: the samples before it, oldest first, and itself.

    Examples
    --------
    >>> windows_of([np.arange(4.0)[:, None]], 2)
    array([[0., 1., 2.],
           [1., 2., 3.]])
    """
    long_enough = [one for one in stretches if len(one) > history]
    if not long_enough:
        longest = max(map(len, stretches), default=0)
        raise InputError(
            f"no series has more than {history} samples without a pause (the longest has "
            f"{longest}), so none fills a history of {history}. Use a shorter history."
        )
    parts = []
    for one in long_enough:
        views = np.lib.stride_tricks.sliding_window_view(one, history + 1, axis=0)
        parts.append(views.transpose(0, 2, 1).reshape(len(views), -1))
    return np.concatenate(parts)


def logistic(values: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)), for any x."""
    return np.asarray(0.5 * np.tanh(0.5 * values) + 0.5)
