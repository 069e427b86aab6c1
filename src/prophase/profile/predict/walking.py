"""The leaves of a few rows, found without XGBoost: calling it takes longer than the walk itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: with more rows XGBoost is quicker
FEW = 64


class Walk:
    """All trees of a forest as flat arrays, walked down level by level for every row at once.

    Parameters
    ----------
    booster : xgboost.Booster
        The forest.
    """

    def __init__(self, booster: Any) -> None:
        raw = json.loads(bytes(booster.save_raw("json")))
        trees = raw["learner"]["gradient_booster"]["model"]["trees"]
        sizes = [len(tree["left_children"]) for tree in trees]
        self._roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        first = np.repeat(self._roots, sizes)

        def joined(name: str, kind: Any) -> NDArray[Any]:
            return np.concatenate([np.array(tree[name], dtype=kind) for tree in trees])

        left, right = joined("left_children", np.int64), joined("right_children", np.int64)
        here = np.arange(len(first))
        # a leaf leads to itself, so that rows may reach theirs at different depths
        self._left = np.where(left < 0, here, first + left)
        self._right = np.where(left < 0, here, first + right)
        self._feature = joined("split_indices", np.int64)
        self._limit = joined("split_conditions", np.float32)
        self._default_left = joined("default_left", np.bool_)
        self._depth = _depth(left, right, first, self._roots)

    def leaves(self, seen: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the number of the leaf of each row in each tree, as XGBoost numbers them."""
        place = np.broadcast_to(self._roots, (len(seen), len(self._roots)))
        rows = np.arange(len(seen))[:, None]
        for _ in range(self._depth):
            value = seen[rows, self._feature[place]]
            to_left = value < self._limit[place]
            to_left |= np.isnan(value) & self._default_left[place]
            place = np.where(to_left, self._left[place], self._right[place])
        return place - self._roots


def _depth(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    first: NDArray[np.int64],
    roots: NDArray[np.int64],
) -> int:
    """Return how many steps the deepest leaf is away from its root."""
    level, steps = roots, 0
    while True:
        inner = level[left[level] >= 0]
        if not len(inner):
            return steps
        level = np.concatenate([first[inner] + left[inner], first[inner] + right[inner]])
        steps += 1
