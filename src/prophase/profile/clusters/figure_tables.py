"""The numbers behind the figures on profiles: boxes per profile, and metadata heat maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Floats, Ints
from prophase.errors import MissingColumnError, ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.profile.clusters.quality import OUTLIERS, Silhouettes

#: the row of all values that are not among the commonest
OTHERS = "(others)"
_MISSING = "(missing)"


@dataclass(frozen=True)
class BoxTable:
    """One box per profile, sorted by standard deviation, and the deviations to annotate.

    As in Fig. 4 of the paper the outlier group has a box, marked by ``outliers``; least,
    largest and mean deviation are over the profiles proper.
    """

    metric: str
    #: profile, n, mean, std, whisker_low, q25, q50, q75, whisker_high, beyond, outliers
    boxes: pd.DataFrame
    least_std: float
    least_profile: int
    largest_std: float
    largest_profile: int
    mean_std: float


def box_statistics(jobs: pd.DataFrame, labels: Ints, metric: str) -> BoxTable | None:
    """Return the boxes of one metric; None if no profile has a value of it.

    Examples
    --------
    >>> jobs = pd.DataFrame({"cpu_mean_cores": [1.0, 1.1, 5.0, 9.0]})
    >>> table = box_statistics(jobs, np.array([1, 1, 0, 0]), "cpu_mean_cores")
    >>> table.boxes["profile"].tolist(), table.least_profile
    ([1, 0], 1)
    """
    _need(jobs, metric)
    values = pd.to_numeric(jobs[metric], errors="coerce").to_numpy(np.float64, na_value=np.nan)
    rows = []
    for profile in np.unique(labels):
        held = values[(labels == profile) & np.isfinite(values)]
        if held.size:
            rows.append({"profile": int(profile), **_box(held)})
    if not rows:
        return None
    boxes = pd.DataFrame(rows).sort_values(["std", "profile"], ignore_index=True)
    boxes["outliers"] = boxes["profile"] == OUTLIERS
    proper = boxes[~boxes["outliers"]]
    if proper.empty:
        proper = boxes
    return BoxTable(
        metric,
        boxes,
        float(proper["std"].iloc[0]),
        int(proper["profile"].iloc[0]),
        float(proper["std"].iloc[-1]),
        int(proper["profile"].iloc[-1]),
        float(proper["std"].mean()),
    )


def metadata_heat_map(
    jobs: pd.DataFrame, labels: Ints, column: str, *, top: int = 10
) -> pd.DataFrame:
    """Return how the jobs of each metadata value spread over the profiles, in % of the row.

    Rows are the commonest values, then all others together; columns are the profiles with
    outliers first; ``jobs`` is the number of jobs with the value. The last row, ``(jobs)``,
    holds the size of each profile, in jobs.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann", "ann", "bob", None]})
    >>> metadata_heat_map(jobs, np.array([0, -1, 0, 0]), "user")
                 -1      0  jobs
    user
    ann        50.0   50.0     2
    bob         0.0  100.0     1
    (missing)   0.0  100.0     1
    (jobs)      1.0    3.0     4
    """
    _need(jobs, column)
    if top < 1:
        raise ParameterError(f"top is {top}; show one value or more.")
    words = jobs[column].astype("string").fillna(_MISSING)
    counts = words.value_counts()
    kept = list(counts.index[:top])
    shown = words.where(words.isin(kept), OTHERS)
    order = [*kept, *([OTHERS] if len(counts) > len(kept) else [])]
    table = pd.crosstab(shown.to_numpy(), labels).reindex(order)
    sizes = table.sum(axis=1)
    percent = table.div(sizes, axis=0) * 100.0
    percent["jobs"] = sizes
    percent.loc["(jobs)"] = [*table.sum(axis=0), len(jobs)]
    percent.columns = pd.Index([str(name) for name in percent.columns])
    return percent.astype({"jobs": np.int64}).rename_axis(index=column)


def silhouette_boxes(scores: Silhouettes) -> pd.DataFrame:
    """Return a box of silhouettes per profile, sorted by mean, and the share below zero."""
    rows = []
    for profile in np.unique(scores.labels):
        held = scores.values[scores.labels == profile]
        negative = float((held < 0).mean())
        rows.append({"profile": int(profile), **_box(held), "negative_frac": negative})
    columns = ["profile", "n", "mean", "std", "negative_frac"]
    if not rows:
        return pd.DataFrame(columns=columns)
    return pd.DataFrame(rows).sort_values(["mean", "profile"], ignore_index=True)


def _box(held: Floats) -> JsonObject:
    """Whiskers end at the farthest value within 1.5 interquartile ranges, as Tukey has them."""
    q25, q50, q75 = (float(one) for one in np.quantile(held, [0.25, 0.5, 0.75]))
    room = 1.5 * (q75 - q25)
    inside = held[(held >= q25 - room) & (held <= q75 + room)]
    return {
        "n": int(held.size),
        "mean": float(held.mean()),
        "std": float(held.std(ddof=1)) if held.size > 1 else 0.0,
        "whisker_low": float(inside.min()),
        "q25": q25,
        "q50": q50,
        "q75": q75,
        "whisker_high": float(inside.max()),
        "beyond": int(held.size - inside.size),
    }


def _need(jobs: pd.DataFrame, column: str) -> None:
    if column not in jobs:
        said = f"the job table has no column {column!r}."
        raise MissingColumnError(not_among(said, column, map(str, jobs.columns)))
