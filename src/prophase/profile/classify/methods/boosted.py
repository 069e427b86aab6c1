"""XGBoost with its default settings: on one-hot words as in the paper, or on other features."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from prophase.errors import ModelFileError
from prophase.modelfile import Parts
from prophase.profile.classify.encoding import OneHot
from prophase.profile.classify.metadata import Words
from prophase.profile.classify.methods.method import Floats, Ints, Method
from prophase.profile.predict.trees import xgboost

#: the library's default of its scikit-learn interface, which the paper uses
ROUNDS = 100
_BLOB = "booster.ubj"


class Boosted(Method):
    """Trees on features that a subclass makes of the words."""

    def _learn(self, words: Words, codes: Ints, classes: int) -> None:
        seen = self._learn_features(words, codes, classes)
        self.booster: Any = None
        if classes < 2 or not seen.shape[1]:
            # there is nothing to choose from, or nothing to choose by
            return
        settings = {
            "objective": "multi:softprob",
            "num_class": classes,
            "seed": self.random_state,
            # several threads wait for each other on a busy machine
            "nthread": 1,
        }
        data = xgboost().DMatrix(seen, codes, nthread=1)
        self.booster = xgboost().train(settings, data, ROUNDS)

    def probabilities(self, words: Words) -> Floats:
        if self.booster is None or not len(words):
            return np.tile(self.prior, (len(words), 1))
        found = self.booster.inplace_predict(self._features(words))
        return np.asarray(found, dtype=np.float64).reshape(len(words), len(self.prior))

    @abstractmethod
    def _learn_features(self, words: Words, codes: Ints, classes: int) -> Any:
        """Learn how words become features, and return those of the jobs learnt from."""

    @abstractmethod
    def _features(self, words: Words) -> Any:
        """Return the features of jobs, one row each."""

    @abstractmethod
    def _feature_parts(self) -> Parts:
        """Return what makes features of words, for a file."""

    @abstractmethod
    def _restore_features(self, parts: Parts) -> None:
        """Take back what :meth:`_feature_parts` returned."""

    def _parts(self) -> Parts:
        own = self._feature_parts()
        blobs = {} if self.booster is None else {_BLOB: bytes(self.booster.save_raw("ubj"))}
        return Parts(own.meta, own.arrays, blobs)

    def _restore(self, parts: Parts) -> None:
        self._restore_features(parts)
        self.booster = None
        if _BLOB in parts.blobs:
            module = xgboost()
            try:
                self.booster = module.Booster(
                    {"nthread": 1}, model_file=bytearray(parts.blobs[_BLOB])
                )
            except module.core.XGBoostError as cause:
                raise ModelFileError(
                    f"the trees in the file cannot be read: {str(cause).splitlines()[0]}. "
                    "Train the classifier anew."
                ) from cause


class OneHotBoosted(Boosted):
    """The paper's classifier: sparse one-hot words, default settings."""

    name = "xgboost"
    about = "XGBoost, default settings, on one-hot words: the paper's classifier"

    encoding: OneHot

    def _learn_features(self, words: Words, codes: Ints, classes: int) -> Any:
        self.encoding = OneHot.learnt(words)
        return self.encoding.encode(words)

    def _features(self, words: Words) -> Any:
        return self.encoding.encode(words)

    def _feature_parts(self) -> Parts:
        return Parts({"columns": list(self.encoding.columns), "words": self.encoding.to_lists()})

    def _restore_features(self, parts: Parts) -> None:
        self.encoding = OneHot.from_lists(tuple(parts.meta["columns"]), parts.meta["words"])
