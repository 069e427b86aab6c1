"""Forests from XGBoost whose leaves remember outcomes, walked without XGBoost for a few rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Array, Floats, Ints
from prophase.errors import ModelFileError
from prophase.lazy_imports import optional

#: with more rows XGBoost is quicker
FEW = 64
#: arrays of a walk that hold places
_PLACES = ("roots", "left", "right", "feature")


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

        def joined(name: str, kind: Any) -> Array:
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

    def arrays(self) -> dict[str, Array]:
        """Return the trees for a file; :meth:`of_arrays` takes them back."""
        small = {name: vars(self)[f"_{name}"].astype(np.int32) for name in _PLACES}
        return {**small, "limit": self._limit, "default_left": self._default_left,
                "depth": np.array([self._depth])}  # fmt: skip

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """Return the trees that :meth:`arrays` was taken from, without XGBoost."""
        made = object.__new__(cls)
        for name in (*_PLACES, "limit", "default_left"):
            setattr(made, f"_{name}", arrays[name])
        made._depth = int(arrays["depth"][0])
        nodes = len(made._limit)
        places = np.concatenate([arrays[name] for name in ("roots", "left", "right")])
        lengths = {len(arrays[name]) for name in ("left", "right", "feature", "default_left")}
        if lengths != {nodes} or places.min() < 0 or places.max() >= nodes:
            raise ModelFileError("the trees in the file lead nowhere. Train the model again")
        return made

    def leaves(self, seen: NDArray[np.float32]) -> Ints:
        """Return the number of the leaf of each row in each tree, as XGBoost numbers them."""
        return self._ends(seen) - self._roots

    def values(self, seen: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what each tree says of each row, (rows, trees)."""
        return self._limit[self._ends(seen)]

    def _ends(self, seen: NDArray[np.float32]) -> Ints:
        place = np.broadcast_to(self._roots, (len(seen), len(self._roots)))
        cells, before = seen.ravel(), seen.shape[1] * np.arange(len(seen))[:, None]
        for _ in range(self._depth):
            value = cells.take(before + self._feature.take(place))
            to_left = value < self._limit.take(place)
            to_left |= np.isnan(value) & self._default_left.take(place)
            place = np.where(to_left, self._left.take(place), self._right.take(place))
        return place

    @classmethod
    def joined(cls, walks: Sequence[Walk]) -> Self:
        """Return the trees of several forests, those of the first first."""
        made = object.__new__(cls)
        before = np.cumsum([0, *(len(one._limit) for one in walks)])
        for name in (*_PLACES, "limit", "default_left"):
            parts = [vars(one)[f"_{name}"] for one in walks]
            if name in _PLACES:
                moved = before[:-1] * (name != "feature")
                parts = [part + np.int64(first) for part, first in zip(parts, moved, strict=True)]
            setattr(made, f"_{name}", np.concatenate(parts))
        made._depth = max(one._depth for one in walks)
        return made


def _depth(
    left: Ints,
    right: Ints,
    first: Ints,
    roots: Ints,
) -> int:
    """Return how many steps the deepest leaf is away from its root."""
    level, steps = roots, 0
    while True:
        inner = level[left[level] >= 0]
        if not len(inner):
            return steps
        level = np.concatenate([first[inner] + left[inner], first[inner] + right[inner]])
        steps += 1


TREES = 24
#: rows that a leaf holds at least; a share of few rows is mostly chance
FEWEST = 10
YES_NO_FEWEST = 40
#: outcomes kept per leaf
_KEPT = 4
_SETTINGS: dict[str, object] = {
    "max_depth": 8,
    "eta": 1.0,
    "subsample": 0.63,
    "reg_lambda": 0.0,
    "tree_method": "hist",
    # several threads wait for each other on a busy machine and are slower than one
    "nthread": 1,
}


def _joined(boosters: Sequence[Any]) -> Any:
    """Return a booster with the trees of several, as if they had been grown together."""
    raws = [json.loads(bytes(one.save_raw("json"))) for one in boosters]
    whole, models = raws[0], [raw["learner"]["gradient_booster"]["model"] for raw in raws]
    trees = [tree for model in models for tree in model["trees"]]
    for number, tree in enumerate(trees):
        tree["id"] = number
    count = str(len(trees))
    own = models[0]
    own["trees"], own["tree_info"] = trees, [0] * len(trees)
    own["iteration_indptr"] = [0, len(trees)]
    own["gbtree_model_param"] |= {"num_trees": count, "num_parallel_tree": count}
    made = xgboost().Booster()
    made.load_model(bytearray(json.dumps(whole).encode()))
    made.set_param({"nthread": 1})
    return made


def xgboost() -> ModuleType:
    """Return the xgboost module, or say how to install it."""
    module: ModuleType = optional("xgboost", "a learning method", "learn")
    return module


def read_booster(content: bytes) -> Any:
    """Return the trees that a file holds as XGBoost's bytes."""
    module = xgboost()
    try:
        # several threads wait for each other on a busy machine and are slower than one
        return module.Booster({"nthread": 1}, model_file=bytearray(content))
    except module.core.XGBoostError as cause:
        raise ModelFileError(
            f"the trees in the file cannot be read: {str(cause).splitlines()[0]}. "
            "Train the model again"
        ) from cause


def matrix(seen: Array, answers: Floats | None = None) -> object:
    """Return data as XGBoost wants it; NaN is missing."""
    return xgboost().DMatrix(_clean(seen), answers, nthread=1)


def rows_for_forests(seen: Array) -> object:
    """Return data as :meth:`LeafForest.outcomes` takes it: a few rows are left as they are."""
    return _clean(seen) if len(seen) <= FEW else matrix(seen)


def _clean(seen: Array) -> Array:
    return np.where(np.isfinite(seen), seen, np.nan)


class LeafForest:
    """Random forest that answers with outcomes of like jobs instead of their mean."""

    #: models of earlier versions have so many, and do not say it
    trees = TREES
    #: the trees as XGBoost holds them, read from what a file holds when they are needed
    _booster: Any = None
    _content: bytes = b""
    #: the same as arrays, which answer a few rows without XGBoost
    _walk: Walk | None = None
    #: the same of several forests, of which this is the first
    _together: tuple[list[LeafForest], Walk] | None = None

    def __init__(
        self, *, fewest: int = FEWEST, trees: int = TREES, random_state: int = 0
    ) -> None:  # fmt: skip
        self.fewest = fewest
        self.trees = trees
        self.random_state = random_state

    @property
    def booster_(self) -> Any:
        """The trees as XGBoost holds them."""
        if self._booster is None:
            self._booster = read_booster(self._content)
        return self._booster

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold; :meth:`of_state` takes it back."""
        named = {name: item for name, item in vars(self).items() if not name.startswith("_")}
        return {**named, "booster_": self.booster_, "walk": self._made_walk().arrays()}

    @classmethod
    def of_state(cls, state: Mapping[str, Any], content: bytes) -> LeafForest:
        """Return the forest of a file; files of earlier versions have no arrays of its trees."""
        made = object.__new__(cls)
        vars(made).update({name: item for name, item in state.items() if name != "walk"})
        made._content = content
        made._walk = Walk.of_arrays(state["walk"]) if "walk" in state else None
        return made

    @classmethod
    def joined(cls, parts: Sequence[LeafForest]) -> LeafForest:
        """Return the trees of several forests as one."""
        if len(parts) == 1:
            return parts[0]
        made = cls(
            fewest=parts[0].fewest,
            trees=sum(part.trees for part in parts),
            random_state=parts[0].random_state,
        )
        made._booster = _joined([part.booster_ for part in parts])
        most = max(part.kept_.shape[1] for part in parts)
        made.kept_ = np.concatenate(
            [np.pad(p.kept_, ((0, 0), (0, most - p.kept_.shape[1]), (0, 0))) for p in parts]
        )
        return made

    def fit(self, seen: Array, answers: Floats) -> Self:
        """Grow the trees and fill their leaves with outcomes."""
        data = matrix(seen, answers)
        settings = {
            **_SETTINGS,
            "num_parallel_tree": self.trees,
            # of few columns each branch has to see some
            "colsample_bynode": min(1.0, max(0.4, 4 / seen.shape[1])),
            "min_child_weight": self.fewest,
            "seed": self.random_state,
        }
        self._booster = xgboost().train(settings, data, 1)
        leaves = self._leaves(data)
        draw = np.random.default_rng(self.random_state)
        self.kept_ = np.zeros((self.trees, int(leaves.max()) + 1, _KEPT), dtype=np.float32)
        by_size = np.argsort(answers, kind="stable")
        for tree in range(self.trees):
            # one outcome of each quarter of a leaf's, so that chance moves answers less; leaves are
            # few, and small numbers sort fast
            leaf = leaves[by_size, tree].astype(np.uint16)
            order = by_size[np.argsort(leaf, kind="stable")]
            held = np.bincount(leaf)
            names = np.flatnonzero(held)
            held = held[names]
            first = np.cumsum(held) - held
            part = (np.arange(_KEPT) + draw.random((len(names), _KEPT))) / _KEPT
            # in no order, since some of them may be taken for all
            part = draw.permuted(part, axis=1)
            chosen = first[:, None] + (part * held[:, None]).astype(int)
            self.kept_[tree, names] = answers[order][chosen]
        return self

    def outcomes(self, data: Any) -> Floats:
        """Return equally likely outcomes of each row, in no order.

        ``data`` is a :func:`matrix`, or what :func:`rows_for_forests` returns.
        """
        return self._outcomes_at(self._leaves(data))

    def _outcomes_at(self, leaves: Ints) -> Floats:
        found = self.kept_[np.arange(self.trees)[None, :], leaves]
        return found.reshape(len(leaves), self.trees * _KEPT).astype(np.float64)

    @staticmethod
    def outcomes_of(forests: Mapping[str, LeafForest], data: Any) -> dict[str, Floats]:
        """Return the outcomes of several forests; a few rows go down all trees at once."""
        every = list(forests.values())
        if not isinstance(data, np.ndarray):
            return {name: forest.outcomes(data) for name, forest in forests.items()}
        known = every[0]._together
        if known is None or known[0] != every:
            known = (every, Walk.joined([one._made_walk() for one in every]))
            every[0]._together = known
        ends = np.cumsum([one.trees for one in every]).tolist()
        leaves = known[1].leaves(data)
        return {
            name: forest._outcomes_at(leaves[:, end - forest.trees : end])
            for (name, forest), end in zip(forests.items(), ends, strict=True)
        }

    def _leaves(self, data: Any) -> Ints:
        if isinstance(data, np.ndarray):
            return self._made_walk().leaves(data)
        found = self.booster_.predict(data, pred_leaf=True)
        return np.asarray(found).astype(np.int64).reshape(data.num_row(), self.trees)

    def _made_walk(self) -> Walk:
        if self._walk is None:
            self._walk = Walk(self.booster_)
        return self._walk
