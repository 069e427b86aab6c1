"""What every labeller can do: label a stretch as a batch, or sample by sample, with one result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

from prophase.trace.series.usage_series import Floats, Ints

#: label of a sample whose history is still too short
NO_PHASE = -1


class Labeller(Protocol):
    """A learned way of giving each sample a phase from it and the samples before it."""

    #: how users call it
    name: str
    #: samples that must come before one that has a phase
    history: int

    @property
    def n_phases(self) -> int:
        """Number of phases."""
        ...

    def label(self, values: Floats) -> Ints:
        """Return a phase per sample of an uninterrupted stretch; `NO_PHASE` for the first ones."""
        ...

    def stream(self) -> Callable[[Floats], int]:
        """Return a function that takes one sample after the other and returns its phase."""
        ...

    def arrays(self) -> dict[str, Floats]:
        """Return what was learned."""
        ...


class Learner(Labeller, Protocol):
    """A labeller that can be learned, saved and restored."""

    @classmethod
    def learn(
        cls, stretches: list[Floats], n_phases: int, *, window: int = ..., random_state: int = ...
    ) -> Self:
        """Learn from scaled values of uninterrupted stretches."""
        ...

    @classmethod
    def from_arrays(cls, arrays: dict[str, Floats]) -> Self:
        """Return the labeller that `arrays` came from."""
        ...
