"""Which node type suits which profile? Use and duration of a profile on each type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from prophase.errors import MissingColumnError
from prophase.profile.clusters.quality import OUTLIERS, Ints

#: columns that may hold the type of node a job ran on, the surest first
NODE_TYPES = ("after_gpu_type", "after_node_type", "gpu_type", "attr_node_type", "queue")
#: fewer jobs of a profile on a type than this prove nothing
ENOUGH = 30


def node_type_affinity(
    jobs: pd.DataFrame,
    labels: Ints,
    *,
    column: str | None = None,
    metrics: Sequence[str] = ("cpu_mean_cores", "memory_peak_gib", "gpu_util_mean_pct"),
    enough: int = ENOUGH,
) -> pd.DataFrame:
    """Return one row per profile and node type, the fastest type of a profile first.

    ``relative_duration`` is the median duration on that type over the median of the profile:
    below 1 the type is faster than usual. Jobs choose their nodes and are not assigned at
    random, so this shows association; ``enough`` says whether there are jobs enough to look.

    Parameters
    ----------
    column : str, optional
        Column with the node type; the first of ``NODE_TYPES`` that has values if not given.
    enough : int, default=30
        Jobs from which on a row counts.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {"after_gpu_type": ["T4", "V100"] * 2, "duration_s": [90.0, 30, 90, 30]}
    ... )
    >>> table = node_type_affinity(jobs, np.zeros(4, dtype=np.int64), enough=2)
    >>> table[["node_type", "relative_duration"]].values.tolist()
    [['V100', 0.5], ['T4', 1.5]]
    """
    named = column or next((n for n in NODE_TYPES if n in jobs and jobs[n].notna().any()), None)
    if named is None or named not in jobs:
        raise MissingColumnError(
            f"no column says which type of node a job ran on ({column or ', '.join(NODE_TYPES)}). "
            "Name one, or import a source with nodes."
        )
    held = pd.DataFrame({"profile": labels, "node_type": jobs[named].to_numpy()})
    used = [name for name in metrics if name in jobs and jobs[name].notna().any()]
    for name in (*used, "duration_s"):
        held[name] = jobs[name].to_numpy(np.float64) if name in jobs else np.nan
    held = held[held["node_type"].notna() & (held["profile"] != OUTLIERS)]
    if held.empty:
        return pd.DataFrame(columns=["profile", "node_type", "jobs", "share"])
    groups = held.groupby(["profile", "node_type"], observed=True)
    table = groups.agg(
        jobs=("duration_s", "size"),
        duration_median_s=("duration_s", "median"),
        **{f"{name}_median": (name, "median") for name in used},
    ).reset_index()
    table.insert(3, "share", table["jobs"] / table.groupby("profile")["jobs"].transform("sum"))
    usual = held.groupby("profile")["duration_s"].median()
    table.insert(5, "relative_duration", table["duration_median_s"] / table["profile"].map(usual))
    table["enough"] = table["jobs"] >= enough
    return table.sort_values(["profile", "relative_duration", "node_type"], ignore_index=True)
