"""Autoencoder features: a small network squeezes the metrics, another generator groups them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from prophase.array_types import Floats
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.profile.clusters import library
from prophase.profile.clusters.clustering import Clustering, Generator
from prophase.profile.clusters.generators.density import Hdbscan


@dataclass(frozen=True)
class Autoencoder:
    """Group jobs by the codes of a network that learns to reproduce its input.

    Layers: metrics, ``hidden``, ``codes``, ``hidden``, metrics; tanh between them.
    """

    #: numbers that a job is squeezed into
    codes: int = 5
    hidden: int = 32
    #: rows that the network learns from; all rows are encoded
    most_rows: int = 20_000
    random_state: int = 0
    #: what groups the codes
    inner: Generator = field(default_factory=Hdbscan)
    name: str = "autoencoder"

    @property
    def metric(self) -> str:
        return self.inner.metric

    def settings(self) -> JsonObject:
        own = ("codes", "hidden", "most_rows", "random_state", "name")
        return {**{name: getattr(self, name) for name in own}, "inner": self.inner.settings()}

    def cluster(self, values: Floats, jobs: pd.DataFrame | None = None) -> Clustering:
        codes, explained = self.encode(values)
        note = f"{self.codes} codes hold {explained:.0%} of the variance of the metrics."
        found = self.inner.cluster(codes, jobs)
        return replace(found, codes=codes, notes=(*found.notes, note))

    def encode(self, values: Floats) -> tuple[Floats, float]:
        """Return the codes, (rows, codes), and the share of variance they can give back."""
        if self.codes < 1 or self.hidden < 1:
            raise ParameterError(
                f"autoencoder: codes is {self.codes} and hidden {self.hidden}; take 1 or more."
            )
        rng = np.random.default_rng(self.random_state)
        rows = np.arange(len(values))
        if len(values) > self.most_rows:
            rows = np.sort(rng.choice(len(values), self.most_rows, replace=False))
        network = library("sklearn.neural_network").MLPRegressor(
            hidden_layer_sizes=(self.hidden, self.codes, self.hidden),
            activation="tanh",
            max_iter=60,
            random_state=self.random_state,
        )
        # one column of the input comes back as one number: the network wants it flat
        target = values[rows] if values.shape[1] > 1 else values[rows, 0]
        with warnings.catch_warnings():
            # it stops when the time is up; the note says how good it has become
            warnings.simplefilter("ignore", library("sklearn.exceptions").ConvergenceWarning)
            network.fit(values[rows], target)
        codes = values
        for weights, bias in list(zip(network.coefs_, network.intercepts_, strict=True))[:2]:
            codes = np.tanh(codes @ weights + bias)
        again = np.asarray(network.predict(values)).reshape(values.shape)
        total = float(((values - values.mean(axis=0)) ** 2).sum())
        lost = float(((values - again) ** 2).sum())
        return np.ascontiguousarray(codes), max(0.0, 1.0 - lost / total) if total else 1.0
