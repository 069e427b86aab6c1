"""What a file of profiles holds, and how it becomes a profiler again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Array, Floats, Ints
from prophase.json_types import JsonObject
from prophase.modelfile import Model
from prophase.profile.clusters.assigner import Assigner
from prophase.profile.clusters.clustering import CondensedTree, Reachability
from prophase.profile.clusters.profiles import Profile, profile_from_dict
from prophase.profile.clusters.quality import Silhouettes
from prophase.profile.clusters.transforms import Transform

#: arrays of an assigner, and of a condensed tree, in the order of their fields
_ASSIGNER = ("members", "member_labels", "member_profiles", "reach")
_TREE = ("parent", "child", "density", "size")


class FittedProfiles:
    """What a profiler has learned from jobs; its file holds all of it."""

    transform: str
    leaking: bool
    members: int
    reject_below: float
    columns_: tuple[str, ...]
    transform_: Transform
    #: profile of every job it was fitted on, -1 for outliers; how firmly it belongs there, 0 to 1
    labels_: Ints
    strength_: Floats
    tree_: CondensedTree | None
    reachability_: Reachability | None
    job_ids_: NDArray[np.str_]
    scores_: Silhouettes
    #: number of clusters and outliers, silhouette and Davies-Bouldin index
    statistics_: JsonObject
    generator_settings_: dict[str, object]
    #: outliers first, then by number
    profiles_: list[Profile]
    metadata_: list[str]
    assigner_: Assigner
    #: what a reader of the result has to know
    notes_: tuple[str, ...]
    data_hash_: str


def settings_to_keep(profiler: FittedProfiles) -> JsonObject:
    """Return what goes into the file as JSON."""
    return {
        "generator": profiler.generator_settings_,
        "transform": profiler.transform_.name,
        "leaking": profiler.leaking,
        "reject_below": profiler.reject_below,
        "metric": profiler.assigner_.metric,
        "profiles": [one.to_dict() for one in profiler.profiles_],
        "statistics": profiler.statistics_,
        "metadata": profiler.metadata_,
        "notes": list(profiler.notes_),
        "members": profiler.members,
    }


def arrays_to_keep(profiler: FittedProfiles) -> dict[str, Array]:
    """Return what goes into the file as arrays."""
    scores, tree, reached = profiler.scores_, profiler.tree_, profiler.reachability_
    arrays: dict[str, Array] = {
        **profiler.transform_.to_arrays(),
        "labels": profiler.labels_,
        "strength": profiler.strength_,
        "job_ids": np.char.encode(profiler.job_ids_, "utf-8"),
        "silhouette_rows": scores.rows,
        "silhouettes": scores.values,
        **_assigner_arrays(profiler.assigner_),
    }
    if tree is not None:
        # equal jobs split at an infinite density, which arrays can hold
        arrays |= {f"tree_{name}": getattr(tree, name) for name in _TREE}
        arrays["tree_profiles"] = np.array(sorted(tree.profile_of.items()), dtype=np.int64)
    if reached is not None:
        arrays |= {"reach_order": reached.order, "reach_distance": reached.distance}
    return arrays


def restore(profiler: FittedProfiles, model: Model) -> None:
    """Give a new profiler all that ``fit`` had learned; KeyError if a part is missing."""
    meta, arrays = model.meta, model.arrays
    profiler.columns_ = model.columns
    profiler.transform_ = Transform(
        meta["transform"], arrays["centre"], arrays["scale"], arrays["lambdas"]
    )
    profiler.labels_, profiler.strength_ = arrays["labels"], arrays["strength"]
    profiler.job_ids_ = np.char.decode(arrays["job_ids"], "utf-8")
    profiler.assigner_ = _assigner(arrays, meta["metric"])
    rows = arrays["silhouette_rows"]
    profiler.scores_ = Silhouettes(rows, arrays["silhouettes"], profiler.labels_[rows])
    profiler.tree_, profiler.reachability_ = _tree(arrays), _reachability(arrays)
    profiler.profiles_ = [profile_from_dict(held) for held in meta["profiles"]]
    profiler.generator_settings_ = dict(meta["generator"])
    profiler.statistics_ = dict(meta["statistics"])
    profiler.metadata_ = list(meta["metadata"])
    profiler.notes_ = tuple(meta["notes"])
    profiler.data_hash_ = model.data_hash


def _assigner_arrays(assigner: Assigner, number: int = 0) -> dict[str, Array]:
    """Return the members that stand for profiles, and what was learned since the fit, numbered."""
    start = f"later{number}_" if number else ""
    parts = (assigner.members, assigner.labels, assigner.profiles, assigner.reach)
    arrays = {start + name: part for name, part in zip(_ASSIGNER, parts, strict=True)}
    if assigner.later is not None:
        arrays[f"later{number + 1}_retired"] = assigner.retired
        arrays |= _assigner_arrays(assigner.later, number + 1)
    return arrays


def _assigner(arrays: Mapping[str, Array], metric: str, number: int = 0) -> Assigner:
    start = f"later{number}_" if number else ""
    members, labels, profiles, reach = (arrays[start + name] for name in _ASSIGNER)
    found = Assigner(members, labels, profiles, reach, metric)
    if (retired := arrays.get(f"later{number + 1}_retired")) is None:
        return found
    return replace(found, retired=retired, later=_assigner(arrays, metric, number + 1))


def _tree(arrays: Mapping[str, Array]) -> CondensedTree | None:
    if "tree_parent" not in arrays:
        return None
    named = {int(node): int(profile) for node, profile in arrays["tree_profiles"]}
    parent, child, density, size = (arrays[f"tree_{name}"] for name in _TREE)
    return CondensedTree(parent, child, density, size, named)


def _reachability(arrays: Mapping[str, Array]) -> Reachability | None:
    if "reach_order" not in arrays:
        return None
    return Reachability(arrays["reach_order"], arrays["reach_distance"])
