"""When a job table was taken: the last moment that it tells of."""

from __future__ import annotations

import numpy as np
import pandas as pd


def latest_moment_s(jobs: pd.DataFrame) -> float:
    """Return the last submission, start or end, or until when a job is known to have run; or NaN.

    Examples
    --------
    >>> jobs = pd.DataFrame({"start_s": [50.0, 90.0], "end_s": [80.0, None]})
    >>> latest_moment_s(jobs), latest_moment_s(jobs.assign(after_elapsed_s=[None, 600.0]))
    (90.0, 690.0)
    """
    held = {name: jobs[name] for name in ("submit_s", "start_s", "end_s") if name in jobs}
    if "start_s" in held and "after_elapsed_s" in jobs:
        # on a calm day the youngest job began long ago
        held["until"] = jobs["start_s"] + jobs["after_elapsed_s"].astype(np.float64)
    times = np.array([np.nan, *(column.max() for column in held.values())], dtype=np.float64)
    return float(np.nanmax(times)) if np.isfinite(times).any() else float("nan")
