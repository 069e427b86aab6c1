"""Hopkins statistic: are there clusters at all?

Compares how far real jobs are from their nearest neighbour with how far random points in the
same box are. 0 means clustered, 0.5 random; the paper takes 0.3 and above as random. The
plain sum of distances is used, as in the library the paper took, not their d-th power.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from prophase.array_types import Floats
from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.profile.clusters.quality import silhouettes

#: from here on the paper speaks of a random distribution
RANDOM_FROM = 0.3


@dataclass(frozen=True)
class Hopkins:
    """The statistic, and how far repeats with other random points lie apart."""

    statistic: float
    spread: float
    repeats: int
    points: int

    @property
    def clustered(self) -> bool:
        return self.statistic < RANDOM_FROM


def hopkins(
    values: Floats, *, points: int | None = None, repeats: int = 5, random_state: int = 0
) -> Hopkins:
    """Return the Hopkins statistic of values, (rows, columns), as the mean over repeats.

    Parameters
    ----------
    points : int, optional
        Rows and random points per repeat; a tenth of the rows, at most 1,000, if not given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> blobs = rng.normal(0, 0.01, (200, 2)) + rng.integers(0, 3, (200, 1))
    >>> hopkins(blobs).statistic < 0.1
    True
    """
    count = len(values)
    if count < 3:
        raise InputError(f"the Hopkins statistic needs 3 rows or more, and there are {count}.")
    points = points if points is not None else max(2, min(1000, count // 10))
    if not 1 <= points <= count or repeats < 1:
        raise ParameterError(
            f"hopkins: points is {points} and repeats {repeats}; take 1 to {count} points and "
            "one repeat or more."
        )
    rng = np.random.default_rng(random_state)
    tree = cKDTree(values)
    low, high = values.min(axis=0), values.max(axis=0)
    found = []
    for _ in range(repeats):
        rows = rng.choice(count, points, replace=False)
        anywhere = rng.uniform(low, high, (points, values.shape[1]))
        real = tree.query(values[rows], k=2)[0][:, 1].sum()
        random = tree.query(anywhere, k=1)[0].sum()
        total = real + random
        # all rows the same: nothing lies apart, which is as clustered as can be
        found.append(real / total if total else 0.0)
    return Hopkins(float(np.mean(found)), float(np.ptp(found)), repeats, points)


#: Table II: how well workload and task name group jobs
PAPER_LABELS: tuple[tuple[str, ...], ...] = (("workload",), ("task",), ("workload", "task"))
#: Table II as printed, from the authors' 100,001 rows
PUBLISHED_TABLE_II: Mapping[str, Mapping[str, float]] = {
    "workload": {"euclidean": 0.17, "cosine": 0.03, "manhattan": 0.21},
    "task": {"euclidean": -0.07, "cosine": -0.19, "manhattan": -0.10},
    "workload, task": {"euclidean": 0.02, "cosine": -0.01, "manhattan": 0.08},
}


def fixed_label_silhouettes(
    jobs: pd.DataFrame,
    values: Floats,
    *,
    labels: Sequence[Sequence[str]] = PAPER_LABELS,
    rows: int | None = 5000,
    random_state: int = 0,
) -> pd.DataFrame:
    """Return the mean silhouette of metadata labels, one row per label, one column per distance.

    Parameters
    ----------
    values : array
        Transformed metrics of the jobs, (jobs, metrics).
    labels : sequence of column names
        Columns whose joint values name the groups.
    rows : int, optional
        Rows to look at, see ``silhouettes``.

    Examples
    --------
    >>> jobs = pd.DataFrame({"workload": ["a", "a", "b", "b"]})
    >>> values = np.array([[1.0, 0.0], [1.1, 0.0], [0.0, 1.0], [0.0, 1.1]])
    >>> fixed_label_silhouettes(jobs, values, labels=[["workload"]]).round(2)
          label  euclidean  cosine  manhattan  groups
    0  workload       0.93     1.0       0.95       2
    """
    found = []
    for columns in labels:
        for name in columns:
            if name not in jobs:
                raise MissingColumnError(
                    f"the job table has no column {name!r} to label jobs with. Name others."
                )
        keys = jobs[list(columns)].astype("string").fillna("(missing)")
        codes = np.asarray(keys.groupby(list(columns), sort=False).ngroup(), dtype=np.int64)
        found.append(
            {
                "label": ", ".join(columns),
                **{
                    metric: silhouettes(
                        values, codes, metric=metric, rows=rows, random_state=random_state
                    ).mean
                    for metric in ("euclidean", "cosine", "manhattan")
                },
                "groups": int(codes.max()) + 1,
            }
        )
    return pd.DataFrame(found)


def label_columns(jobs: pd.DataFrame, wanted: str) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return each column of a comma-separated list that has values, then the first two together.

    The second value says, one sentence each, which columns the jobs do not have.

    Examples
    --------
    >>> label_columns(pd.DataFrame({"workload": ["a"], "task": ["b"]}), "workload,task")
    ([('workload',), ('task',), ('workload', 'task')], [])
    """
    asked = [word.strip() for word in wanted.split(",") if word.strip()]
    there = [name for name in asked if name in jobs and jobs[name].notna().any()]
    absent = [f"No job has a {name}, so it is not judged." for name in asked if name not in there]
    singles: list[tuple[str, ...]] = [(name,) for name in there]
    return [*singles, (there[0], there[1])] if len(there) > 1 else singles, absent
