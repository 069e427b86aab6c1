"""Rare bins made as large as the largest: by duplicates, or by SMOTE's interpolation."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from prophase.errors import ParameterError, not_among
from prophase.sizing.assess.libraries import library
from prophase.trace.describe.part import Floats, Ints

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
