"""The two classifiers of bins, support vectors and boosted trees, with rare bins resampled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np

from prophase.errors import ModelFileError, ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.modelfile import Parts
from prophase.sizing.bins.binning import Binning
from prophase.sizing.sizer import library
from prophase.trace.describe.column_arrays import Floats, Ints

Sampling = Literal["none", "random", "smote"]
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
#: neighbours between which SMOTE interpolates
_NEIGHBOURS = 5


def resample(
    seen: Floats, classes: Ints, method: Sampling, *, random_state: int
) -> tuple[Floats, Ints]:
    """Return the rows, with those of rarer classes multiplied until all are as many.

    SMOTE needs two rows of a class to interpolate between; where a class has one, all are
    duplicated instead.

    Examples
    --------
    >>> seen = np.arange(12.0).reshape(6, 2)
    >>> more, classes = resample(seen, np.array([0, 0, 0, 0, 1, 1]), "smote", random_state=0)
    >>> np.bincount(classes).tolist()
    [4, 4]
    """
    if method not in SAMPLINGS:
        raise ParameterError(not_among(f"sampling {method!r} is unknown.", method, SAMPLINGS))
    counts = np.bincount(classes)
    counts = counts[counts > 0]
    if method == "none" or len(counts) < 2 or counts.min() == counts.max():
        return seen, classes
    tools = library("imblearn.over_sampling")
    if method == "smote" and counts.min() > 1:
        near = min(_NEIGHBOURS, int(counts.min()) - 1)
        sampler = tools.SMOTE(k_neighbors=near, random_state=random_state)
    else:
        sampler = tools.RandomOverSampler(random_state=random_state)
    more, labels = sampler.fit_resample(seen, classes)
    return np.asarray(more, dtype=np.float64), np.asarray(labels, dtype=np.int64)


Settings = Mapping[str, float]
_BLOB = "booster.ubj"


class Runs(NamedTuple):
    """Peaks of the training runs, and the bins they were classified into."""

    peak_gib: Floats
    binning: Binning


class Classifier(ABC):
    """Predicts the bin of a run from its features."""

    name: ClassVar[str]
    #: setting -> (least, largest, searched on a logarithmic scale, whole number)
    space: ClassVar[Mapping[str, tuple[float, float, bool, bool]]]

    def __init__(self, settings: Settings, *, random_state: int = 0) -> None:
        self.settings = dict(settings)
        self.random_state = random_state
        self.known: Ints = np.zeros(0, dtype=np.int64)

    @classmethod
    def searched(cls, sampling: Sampling) -> dict[str, tuple[float, float, bool, bool]]:
        """Return the settings that are tuned with this over-sampling."""
        return dict(cls.space)

    def fit(self, seen: Floats, classes: Ints, runs: Runs | None = None) -> Self:
        """Learn; with a single class every answer is that one.

        ``runs`` is what the classes were made of; the thesis' classifiers leave it aside.
        """
        self.known, codes = np.unique(classes, return_inverse=True)
        if len(self.known) > 1:
            self._fit(seen, codes.astype(np.int64))
        return self

    def predict(self, seen: Floats) -> Ints:
        """Return the bin of each run."""
        if len(self.known) == 1:
            return np.full(len(seen), self.known[0], dtype=np.int64)
        return self.known[self._predict(seen)].astype(np.int64)

    def parts(self) -> Parts:
        """Return what has been learned, for a file."""
        own = self._parts() if len(self.known) > 1 else Parts()
        meta = {**own.meta, "settings": self.settings, "known": self.known.tolist()}
        return Parts(meta, own.arrays, own.blobs)

    def restore(self, parts: Parts) -> Self:
        """Take back what :meth:`parts` returned."""
        self.known = np.array(parts.meta["known"], dtype=np.int64)
        if len(self.known) > 1:
            self._restore(parts)
        return self

    @abstractmethod
    def _fit(self, seen: Floats, codes: Ints) -> None: ...

    @abstractmethod
    def _predict(self, seen: Floats) -> Ints: ...

    @abstractmethod
    def _parts(self) -> Parts: ...

    @abstractmethod
    def _restore(self, parts: Parts) -> None: ...


class SupportVectors(Classifier):
    """Support vector machine with a radial kernel; weighted where nothing is over-sampled.

    ``balance`` is the power of a bin's rarity that becomes its weight: 0 weighs all runs alike,
    1 gives all bins the same say.
    """

    name = "svm"
    space: ClassVar[Mapping[str, tuple[float, float, bool, bool]]] = {
        "C": (0.3, 300.0, True, False),
        "gamma": (0.003, 0.3, True, False),
    }

    @classmethod
    def searched(cls, sampling: Sampling) -> dict[str, tuple[float, float, bool, bool]]:
        weighted = {"balance": (0.0, 1.2, False, False)} if sampling == "none" else {}
        return {**cls.space, **weighted}

    def _fit(self, seen: Floats, codes: Ints) -> None:
        counts = np.bincount(codes)
        rarity = len(codes) / (len(counts) * counts)
        weights = rarity ** self.settings.get("balance", 0.0)
        learner = (
            library("sklearn.svm")
            .SVC(
                C=self.settings.get("C", 10.0),
                gamma=self.settings.get("gamma", 0.03),
                class_weight=dict(enumerate(weights.tolist())),
                cache_size=64,
            )
            .fit(seen, codes)
        )
        self.vectors = np.asarray(learner.support_vectors_, dtype=np.float64)
        self.per_class = np.asarray(learner.n_support_, dtype=np.int64)
        self.dual = np.asarray(learner.dual_coef_, dtype=np.float64)
        # scikit-learn turns the sign of two-class machines; the file holds one rule for all
        sign = -1.0 if len(counts) == 2 else 1.0
        self.dual, self.offset = sign * self.dual, sign * np.asarray(learner.intercept_, float)

    def _predict(self, seen: Floats) -> Ints:
        """Let every pair of bins vote; ties go to the lower one, as in libsvm."""
        gamma = self.settings.get("gamma", 0.03)
        apart = (
            (seen**2).sum(axis=1)[:, None]
            + (self.vectors**2).sum(axis=1)[None, :]
            - 2 * seen @ self.vectors.T
        )
        kernel = np.exp(-gamma * np.maximum(apart, 0.0))
        first = np.concatenate([[0], np.cumsum(self.per_class)])
        size = len(self.per_class)
        votes = np.zeros((len(seen), size), dtype=np.int64)
        pair = 0
        for low in range(size):
            for high in range(low + 1, size):
                mine, theirs = (slice(first[k], first[k + 1]) for k in (low, high))
                value = (
                    kernel[:, mine] @ self.dual[high - 1, mine]
                    + kernel[:, theirs] @ self.dual[low, theirs]
                    + self.offset[pair]
                )
                votes[np.arange(len(seen)), np.where(value > 0, low, high)] += 1
                pair += 1
        found: Ints = np.argmax(votes, axis=1).astype(np.int64)
        return found

    def _parts(self) -> Parts:
        return Parts(
            arrays={
                "vectors": self.vectors,
                "per_class": self.per_class,
                "dual": self.dual,
                "offset": self.offset,
            }
        )

    def _restore(self, parts: Parts) -> None:
        held = parts.arrays
        self.vectors, self.per_class = held["vectors"], held["per_class"]
        self.dual, self.offset = held["dual"], held["offset"]


class BoostedTrees(Classifier):
    """XGBoost's trees."""

    name = "xgboost"
    space: ClassVar[Mapping[str, tuple[float, float, bool, bool]]] = {
        "rounds": (20, 90, False, True),
        "max_depth": (2, 5, False, True),
        "eta": (0.03, 0.4, True, False),
        "min_child_weight": (0.3, 8.0, True, False),
        "subsample": (0.6, 1.0, False, False),
    }

    def _fit(self, seen: Floats, codes: Ints) -> None:
        module = library("xgboost")
        settings: JsonObject = {
            "objective": "multi:softprob",
            "num_class": len(self.known),
            "seed": self.random_state,
            # several threads wait for each other on a busy machine
            "nthread": 1,
            **self.settings,
        }
        rounds = int(settings.pop("rounds", 60))
        settings["max_depth"] = int(settings.get("max_depth", 4))
        data = module.DMatrix(seen, codes, nthread=1)
        self.booster = module.train(settings, data, rounds)

    def _predict(self, seen: Floats) -> Ints:
        likely = np.asarray(self.booster.inplace_predict(seen)).reshape(len(seen), len(self.known))
        found: Ints = np.argmax(likely, axis=1).astype(np.int64)
        return found

    def _parts(self) -> Parts:
        return Parts(blobs={_BLOB: bytes(self.booster.save_raw("ubj"))})

    def _restore(self, parts: Parts) -> None:
        module = library("xgboost")
        try:
            self.booster = module.Booster({"nthread": 1}, model_file=bytearray(parts.blobs[_BLOB]))
        except module.core.XGBoostError as cause:
            raise ModelFileError(
                f"the trees in the file cannot be read: {str(cause).splitlines()[0]}. Fit again."
            ) from cause
