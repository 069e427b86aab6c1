"""What the recommender says of each task, for an assessment: one number per task everywhere."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from prophase.errors import InputError
from prophase.sizing.assess.utilisation import task_names
from prophase.sizing.kind_recommendation import as_rows, recommend

#: resource of the recommender -> columns of the assessment: number, words
COLUMNS = {"memory": ("recommended_gib", "recommendation"),
           "cpu": ("recommended_cores", "core_recommendation")}  # fmt: skip


def recommended_requests(
    jobs: pd.DataFrame,
    *,
    risk: float = 0.01,
    progress: Callable[[str], None] = lambda step: None,
) -> pd.DataFrame:
    """Return ``task`` and what ``prophase size`` recommends for memory and cores, as far as known.

    Parameters
    ----------
    risk : float, default=0.01
        Share of runs that may be killed at their first request.

    Examples
    --------
    >>> jobs = pd.DataFrame({"task": ["load"] * 40, "request_memory_gib": 20.0})
    >>> jobs = jobs.assign(memory_peak_gib=1.5, duration_s=60.0, submit_s=range(40))
    >>> recommended_requests(jobs)[["task", "recommended_gib"]].round(1).values.tolist()
    [['load', 1.7]]
    """
    # both name tasks alike, whatever columns a source has
    jobs = jobs.assign(task=task_names(jobs))
    table = pd.DataFrame({"task": pd.Series(dtype="str")})
    for resource, (number, words) in COLUMNS.items():
        progress(f"asking what to recommend for {resource}")
        try:
            rows = as_rows(recommend(jobs, risk=risk, resource=resource))
        except InputError:
            # no use of it was measured
            continue
        found = pd.DataFrame(
            {
                "task": [str(row["task"]) for row in rows],
                number: [row["advice"] for row in rows],
                words: [row["why"] for row in rows],
            }
        )
        table = table.merge(found, on="task", how="outer", validate="one_to_one")
    return table
