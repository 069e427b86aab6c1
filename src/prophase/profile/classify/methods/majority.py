"""The baseline that learns nothing: every job belongs to the most frequent profile."""

from __future__ import annotations

import numpy as np

from prophase.modelfile import Parts
from prophase.profile.classify.metadata import Words
from prophase.profile.classify.methods.method import Floats, Ints, Method


class Majority(Method):
    """Answers with the shares of the profiles, whatever the job."""

    name = "most-frequent"
    about = "the most frequent profile, whatever the job"

    def _learn(self, words: Words, codes: Ints, classes: int) -> None:
        """The shares are all there is."""

    def probabilities(self, words: Words) -> Floats:
        return np.tile(self.prior, (len(words), 1))

    def _parts(self) -> Parts:
        return Parts()

    def _restore(self, parts: Parts) -> None:
        """The shares are all there is."""
