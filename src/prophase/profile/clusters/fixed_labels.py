"""What if a metadata column itself were the profile? The baseline of the paper's Table II."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from prophase.errors import MissingColumnError
from prophase.profile.clusters.quality import silhouettes
from prophase.profile.clusters.usage_metrics import Floats

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
