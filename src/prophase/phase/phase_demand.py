"""What the phases of series need, as a table that a replay packs jobs by."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError, not_among
from prophase.phase.detector import PhaseDetector

#: what of a phase's statistics a job holds
LEVELS = ("max", "q95", "q50", "mean")
_HELD = ("memory_gib", "cpu_cores")


def phase_demand(
    detector: PhaseDetector, usage: pd.DataFrame, *, hold: str = "max"
) -> pd.DataFrame:
    """Return a row per series and phase: when it begins, and what phases like it need.

    ``simulate(demand=...)`` reads it. A job holds what its phase was seen to need in the series
    that phases were learnt from; what it took itself is beside it.

    Parameters
    ----------
    usage : DataFrame
        Series; ``series_id`` is the id of the job.
    hold : {"max", "q95", "q50", "mean"}
        Which of the phase's statistics is held.

    Returns
    -------
    DataFrame
        ``job_id``, ``after_s``, ``phase``, ``memory_gib`` and ``cpu_cores`` as far as phases know
        them, ``used_memory_gib``.

    Examples
    --------
    >>> gib = np.repeat([1.0, 6.0] * 5, 30) + np.tile([0.0, 0.1, 0.2], 100)
    >>> usage = pd.DataFrame({"series_id": "a", "time_s": np.arange(300.0), "memory_gib": gib})
    >>> detector = PhaseDetector(n_phases=2, window=1).fit(usage)
    >>> phase_demand(detector, usage).head(3)["memory_gib"].round(1).tolist()
    [1.2, 6.2, 1.2]
    """
    if hold not in LEVELS:
        raise ParameterError(not_among(f"hold {hold!r} is unknown.", hold, LEVELS))
    metrics = [name for name in _HELD if name in detector.metrics_]
    if not metrics:
        raise InputError(
            f"the phases were learnt from {', '.join(detector.metrics_)}; to pack jobs by phase "
            f"learn them from {' or '.join(_HELD)} as well."
        )
    known = detector.statistics_.pivot(index="phase", columns="metric", values=hold)
    parts = []
    for one in detector.series_in(usage).series:
        phase = _from_the_first(detector.labels(one))
        starts = np.flatnonzero(np.diff(phase, prepend=-2))
        columns: dict[str, object] = {
            "job_id": one.series_id,
            "after_s": one.time_s[starts] - one.time_s[0],
            "phase": phase[starts],
        }
        for metric in metrics:
            place = detector.metrics_.index(metric)
            used = np.maximum.reduceat(one.values[:, place], starts)
            held = known[metric].reindex(phase[starts]).to_numpy(np.float64)
            columns[metric] = np.where(np.isfinite(held), held, used)
            if metric == "memory_gib":
                columns["used_memory_gib"] = used
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def killed_share(table: pd.DataFrame) -> float:
    """Return the share of series that take more memory than a phase holds; NaN if unknown."""
    if "used_memory_gib" not in table:
        return math.nan
    short = table["used_memory_gib"] > table["memory_gib"]
    return float(short.groupby(table["job_id"]).any().mean())


def _from_the_first(phase: np.ndarray) -> np.ndarray:
    """Return phases whose unknown beginning is taken to belong to the first that is known."""
    known = np.flatnonzero(phase >= 0)
    if len(known) == 0:
        return phase
    return np.where(np.arange(len(phase)) < known[0], phase[known[0]], phase)
