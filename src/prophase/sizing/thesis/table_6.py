"""Table 6 for any task: the best two, three and four bins, by runs and by run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sizing.assess.rounding import round_up
from prophase.sizing.thesis.binning import improvement, search_binning
from prophase.trace.describe.part import Floats

#: numbers of bins that are tried
BINS = (2, 3, 4)
#: edges lie on a grid of at least so many steps
_STEPS = 40
#: runs each bin holds at least: some for training, validation and test
FEWEST = 5


def best_binnings(peak_gib: Floats, duration_s: Floats, request_gib: float) -> pd.DataFrame:
    """Return the best bins of a task, each with what it saves if every bin were known.

    Parameters
    ----------
    peak_gib, duration_s : array
        Past runs. Without run times above 0 only runs are counted.
    request_gib : float
        What every run asks for now.

    Returns
    -------
    DataFrame
        ``bins``, ``by`` (runs or time), ``binning``, ``optimal_pct``, ``time_based_pct``; no
        rows if the runs are too few or too much alike. The largest bin ends at the largest
        peak, rounded up, and not above the request.

    Examples
    --------
    >>> peak = np.array([2.0] * 80 + [25.0] * 15 + [90.0] * 5)
    >>> table = best_binnings(peak, np.ones(100), 350.0)
    >>> table.loc[table["by"] == "runs", ["binning", "optimal_pct"]].round(1).values.tolist()
    [['2.5; 100', 93.7], ['2.5; 25; 100', 96.9]]
    """
    top = round_up(float(peak_gib.max()))
    if peak_gib.max() <= request_gib < top:
        top = request_gib
    time_s = np.maximum(np.nan_to_num(duration_s), 0.0)
    weights: dict[str, Floats | None] = {"runs": None}
    if (time_s > 0).any():
        weights["time"] = time_s
    rows: list[dict[str, Any]] = []
    for bins in BINS:
        for by, weight in weights.items():
            try:
                found = search_binning(
                    peak_gib,
                    bins=bins,
                    stride_gib=_stride(top),
                    top_gib=top,
                    weight=weight,
                    fewest=FEWEST,
                )
            except InputError:
                continue
            optimal, by_time = (
                improvement(found, peak_gib, before_gib=request_gib, weight=held)
                for held in (None, weights.get("time"))
            )
            rows.append(
                {
                    "bins": bins,
                    "by": by,
                    "binning": str(found),
                    "optimal_pct": optimal,
                    "time_based_pct": by_time if "time" in weights else float("nan"),
                }
            )
    return pd.DataFrame(rows, columns=["bins", "by", "binning", "optimal_pct", "time_based_pct"])


def _stride(top: float) -> float:
    """Return a round step that divides the largest bin into enough of them."""
    return round_up(top / _STEPS) if top > 0 else 1.0
