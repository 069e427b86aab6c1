"""Classifiers of a job's profile by its metadata, one file each, behind one interface."""

from __future__ import annotations

from prophase.errors import ParameterError, not_among
from prophase.profile.classify.methods.autoencoder_embedding import AutoencoderEmbedding
from prophase.profile.classify.methods.boosted_trees import Embedding, OneHotBoosted, TargetEncoded
from prophase.profile.classify.methods.majority_rules import Majority, MajorityRules
from prophase.profile.classify.methods.method import Method
from prophase.profile.classify.methods.nearest_neighbour import Nearest

_CLASSES: tuple[type[Method], ...] = (
    OneHotBoosted,
    TargetEncoded,
    Embedding,
    AutoencoderEmbedding,
    Nearest,
    MajorityRules,
    Majority,
)
#: name -> class; the last one learns nothing
METHODS: dict[str, type[Method]] = {cls.name: cls for cls in _CLASSES}
DEFAULT = OneHotBoosted.name
BASELINE = Majority.name


def method_named(name: str, *, random_state: int = 0) -> Method:
    """Return a method that is not fitted yet.

    Examples
    --------
    >>> method_named("rules").about
    'majority of the finest key seen before, group and task down to workload'
    """
    if name not in METHODS:
        raise ParameterError(not_among(f"there is no classifier {name!r}.", name, METHODS))
    return METHODS[name](random_state=random_state)
