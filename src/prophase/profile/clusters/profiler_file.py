"""What a file of profiles holds, and how it becomes a profiler again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Floats, Ints
from prophase.json_types import JsonMapping, JsonObject
from prophase.modelfile import Model
from prophase.profile.clusters.assigner import Assigner
from prophase.profile.clusters.clustering import CondensedTree, Reachability
from prophase.profile.clusters.profiles import Profile, profile_from_dict
from prophase.profile.clusters.quality import Silhouettes
from prophase.profile.clusters.transforms import Transform


class FittedProfiles:
    """What a profiler has learned from jobs; its file holds all of it."""

    transform: str
    leaking: bool
    members: int
    reject_below: float
    columns_: tuple[str, ...]
    transform_: Transform
    labels_: Ints
    strength_: Floats
    tree_: CondensedTree | None
    reachability_: Reachability | None
    job_ids_: NDArray[np.str_]
    scores_: Silhouettes
    statistics_: JsonObject
    generator_settings_: dict[str, object]
    profiles_: list[Profile]
    metadata_: list[str]
    assigner_: Assigner
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


def arrays_to_keep(profiler: FittedProfiles) -> JsonObject:
    """Return what goes into the file as arrays."""
    assigner, scores = profiler.assigner_, profiler.scores_
    arrays = {
        **profiler.transform_.to_arrays(),
        "labels": profiler.labels_,
        "strength": profiler.strength_,
        "job_ids": np.char.encode(profiler.job_ids_, "utf-8"),
        "members": assigner.members,
        "member_labels": assigner.labels,
        "member_profiles": assigner.profiles,
        "reach": assigner.reach,
        "silhouette_rows": scores.rows,
        "silhouettes": scores.values,
    }
    arrays |= _later_to_keep(assigner)
    if profiler.tree_ is not None:
        tree = profiler.tree_
        arrays |= {
            "tree_parent": tree.parent,
            "tree_child": tree.child,
            # equal jobs split at an infinite density, which arrays can hold
            "tree_density": tree.density,
            "tree_size": tree.size,
            "tree_profiles": np.array(sorted(tree.profile_of.items()), dtype=np.int64),
        }
    if profiler.reachability_ is not None:
        arrays |= {
            "reach_order": profiler.reachability_.order,
            "reach_distance": profiler.reachability_.distance,
        }
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


def _later_to_keep(assigner: Assigner) -> JsonObject:
    """Return what was learned since the fit, numbered in the order it came."""
    arrays: JsonObject = {}
    number = 1
    while assigner.later is not None:
        arrays[f"later{number}_retired"] = assigner.retired
        assigner = assigner.later
        arrays |= {
            f"later{number}_members": assigner.members,
            f"later{number}_member_labels": assigner.labels,
            f"later{number}_member_profiles": assigner.profiles,
            f"later{number}_reach": assigner.reach,
        }
        number += 1
    return arrays


def _assigner(arrays: JsonMapping, metric: str, number: int = 0) -> Assigner:
    start = f"later{number}_" if number else ""
    parts = [
        arrays[start + part] for part in ("members", "member_labels", "member_profiles", "reach")
    ]
    members, labels, profiles, reach = parts
    if (retired := arrays.get(f"later{number + 1}_retired")) is None:
        return Assigner(members, labels, profiles, reach, metric)
    later = _assigner(arrays, metric, number + 1)
    return Assigner(members, labels, profiles, reach, metric, retired, later)


def _tree(arrays: JsonMapping) -> CondensedTree | None:
    if "tree_parent" not in arrays:
        return None
    return CondensedTree(
        arrays["tree_parent"],
        arrays["tree_child"],
        arrays["tree_density"],
        arrays["tree_size"],
        {int(node): int(profile) for node, profile in arrays["tree_profiles"]},
    )


def _reachability(arrays: JsonMapping) -> Reachability | None:
    if "reach_order" not in arrays:
        return None
    return Reachability(arrays["reach_order"], arrays["reach_distance"])
