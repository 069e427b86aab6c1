"""Labels of jobs as the classifier wants them: numbered, without outliers and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.array_types import Array, Ints
from prophase.errors import InputError
from prophase.plural import counted
from prophase.profile.clusters.quality import OUTLIERS

#: a profile's number, or the word of another label column
Label = int | str


@dataclass(frozen=True)
class Labels:
    """The jobs that have a label: their rows, the number of each label, and its meaning."""

    classes: tuple[Label, ...]
    rows: NDArray[np.intp]
    codes: Ints
    notes: tuple[str, ...]


def numbered(labels: Sequence[Any] | Array | pd.Series, jobs: int) -> Labels:
    """Return the labels that can be learned; outliers (-1) and missing ones are left out.

    Examples
    --------
    >>> found = numbered([8, 8, -1, None, 9], 5)
    >>> found.classes, found.rows.tolist(), found.codes.tolist()
    ((8, 9), [0, 1, 4], [0, 0, 1])
    """
    held = pd.Series(list(labels), dtype=object)
    if len(held) != jobs:
        raise InputError(
            f"there are {counted(len(held), 'label')} for {counted(jobs, 'job')}. Give one each."
        )
    missing = held.isna().to_numpy()
    plain = ["" if gone else _plain(one) for one, gone in zip(held, missing, strict=True)]
    outlier = np.array([one == OUTLIERS for one in plain], dtype=bool)
    rows = np.flatnonzero(~missing & ~outlier)
    notes = []
    if outlier.any():
        share = outlier.mean()
        notes.append(
            f"{counted(int(outlier.sum()), 'outlier')} ({share:.0%}) left out, as in the paper."
        )
    if missing.any():
        notes.append(f"{counted(int(missing.sum()), 'job')} without a label left out.")
    if not len(rows):
        why = "every job is an outlier" if outlier.any() else "no job has a label"
        raise InputError(
            f"{why}, so there is no profile to learn. Learn profiles with a smaller least size, "
            "or give a longer history."
        )
    classes, codes = _sorted_classes([plain[row] for row in rows])
    return Labels(classes, rows, codes, tuple(notes))


def _sorted_classes(labels: list[Label]) -> tuple[tuple[Label, ...], Ints]:
    """Return the different labels in order, as numbers if all are, and the place of each."""
    classes: list[Label]
    if all(isinstance(one, int) for one in labels):
        classes = sorted(set(labels), key=int)
    else:
        labels = [str(one) for one in labels]
        classes = sorted(set(labels), key=str)
    place = {one: code for code, one in enumerate(classes)}
    return tuple(classes), np.array([place[one] for one in labels], dtype=np.int64)


def _plain(label: Any) -> Label:
    if isinstance(label, str):
        return label
    if isinstance(label, bool | np.bool_):
        return str(bool(label))
    try:
        value = float(label)
    except (TypeError, ValueError):
        return str(label)
    return int(value) if value.is_integer() else str(label)
