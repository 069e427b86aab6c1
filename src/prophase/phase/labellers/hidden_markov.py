"""The likeliest state of a hidden Markov model, given the samples so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from prophase.phase.labellers.labeller import NO_PHASE
from prophase.trace.series.hidden_markov_model import HMM, best_hmm, by_level, learn_hmm
from prophase.trace.series.usage_series import Floats, Ints


class HiddenMarkov:
    """Label by filtering.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = (np.repeat([0.0, 5.0, 0.0], 50) + rng.normal(0, 0.1, 150))[:, None]
    >>> labels = HiddenMarkov.learn([values], 2, window=1).label(values)
    >>> labels[[0, 10, 49, 50, 99, 100]].tolist()
    [-1, 0, 0, 1, 1, 0]
    """

    name = "hmm"

    def __init__(self, model: HMM) -> None:
        self.model = model
        self.n_phases = model.states
        self.history = model.order

    def label(self, values: Floats) -> Ints:
        found = np.full(len(values), NO_PHASE, dtype=np.int64)
        if len(values) > self.history:
            found[self.history :] = self.model.filtered(values).argmax(axis=1)
        return found

    def stream(self) -> Callable[[Floats], int]:
        held: list[Floats] = []
        belief: Floats | None = None

        def push(sample: Floats) -> int:
            nonlocal belief
            held.append(sample)
            del held[: -(self.history + 1)]
            if len(held) <= self.history:
                return NO_PHASE
            staying, entering = self.model.densities(np.array(held))
            belief = self.model.advance(belief, staying[-1], entering[-1])
            return int(belief.argmax())

        return push

    def arrays(self) -> dict[str, Floats]:
        names = ("start", "moves", "weights", "variance", "level", "spread")
        fit = np.array([self.model.log_likelihood, float(self.model.samples)])
        return {**{name: getattr(self.model, name) for name in names}, "told": fit}

    @classmethod
    def learn(
        cls, stretches: list[Floats], n_phases: int, *, window: int = 2, random_state: int = 0
    ) -> Self:
        """Learn from scaled values; ``window`` is the order, the samples that predict one."""
        return cls(best_hmm(stretches, n_phases, order=window, random_state=random_state))

    @classmethod
    def continued(
        cls, stretches: list[Floats], labels: Sequence[Ints], *, window: int, random_state: int = 0
    ) -> Self:
        """Learn from scaled values whose phases are about known."""
        states = 1 + max(int(one.max(initial=0)) for one in labels)
        found = learn_hmm(stretches, states, order=window, random_state=random_state, guess=labels)
        return cls(by_level(found))

    @classmethod
    def from_arrays(cls, arrays: dict[str, Floats]) -> Self:
        held = dict(arrays)
        likelihood, samples = held.pop("told")
        return cls(HMM(**held, log_likelihood=float(likelihood), samples=int(samples)))
