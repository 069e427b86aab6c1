"""Intervals of ratios of sums, from days of a trace drawn with replacement."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtrit

from prophase.sim.measures.job_classes import JobClasses
from prophase.sim.signatures import Floats
from prophase.sim.why.causes import CAUSES, NAMES, WORDS, by_cause, whole_percent
from prophase.sim.why.wait_split import WaitSplit

_DAY_S, _DRAWS, _LEVEL = 86400.0, 1000, 0.95


def ratio_intervals(
    submit_s: Floats, parts: Floats, whole: Floats
) -> tuple[list[float], list[float]] | None:
    """Return 95 % intervals of sum(part) / sum(whole), one per column of ``parts``.

    Both sums are drawn together, so that what makes a day heavy drops out. None where jobs of
    fewer than two days waited: one day says nothing about others.

    Examples
    --------
    >>> days = 86400.0 * np.arange(20)
    >>> low, high = ratio_intervals(days, np.full((20, 1), 0.25), np.ones(20))
    >>> low, high
    ([0.25], [0.25])
    """
    names, place = np.unique(np.floor(submit_s / _DAY_S), return_inverse=True)
    wholes = np.bincount(place, whole)
    if np.count_nonzero(wholes) < 2:
        return None
    sums = np.stack([np.bincount(place, column) for column in parts.T], axis=1)
    drawn = np.random.default_rng(0).integers(len(names), size=(_DRAWS, len(names)))
    below = wholes[drawn].sum(axis=1)
    # days without any waiting alone say nothing
    ratios = sums[drawn[below > 0]].sum(axis=1) / below[below > 0][:, None]
    low, high = np.quantile(ratios, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
    middle = sums.sum(axis=0) / wholes.sum()
    # few days spread too little under the bootstrap: widen as t does over the normal law
    widen = float(stdtrit(len(names) - 1, (1 + _LEVEL) / 2) / stdtrit(1e9, (1 + _LEVEL) / 2))
    return (
        (middle - (middle - low) * widen).tolist(),
        (middle + (high - middle) * widen).tolist(),
    )


def share_rows(split: WaitSplit) -> list[dict[str, Any]]:
    """Return one row per cause: hours waited, share of all waiting, its interval.

    ``at_root_pct`` books the waiting of jobs that the queue held up on what the job in the way
    lacked; what is left under order had no waiting job in its way.
    """
    submit_s, cause_s, fine_s = split.schedule.workload.submit_s, split.cause_s, split.fine_s
    seconds = cause_s.sum(axis=0)
    root = by_cause(split.behind_s)
    root[:-1] += seconds[:-1]
    at_root = whole_percent(root, digits=2)
    percent = whole_percent(seconds, digits=2)
    between = ratio_intervals(submit_s, 100 * cause_s, cause_s.sum(axis=1))
    fine = fine_s.sum(axis=0)
    rows = []
    for number, cause in enumerate(CAUSES):
        by = {what: float(fine[code]) / 3600 for code, what in cause.fine if what}
        rows.append(
            {
                "cause": cause.name,
                "wait_h": float(seconds[number]) / 3600,
                "share_pct": float(percent[number]),
                "share_low_pct": None if between is None else max(0.0, between[0][number]),
                "share_high_pct": None if between is None else min(100.0, between[1][number]),
                "at_root_pct": float(at_root[number]),
                "resources_h": by,
                "words": WORDS[cause.name],
            }
        )
    return rows


def class_rows(groups: JobClasses, cause_s: Floats, *, most: int = 1000) -> list[dict[str, Any]]:
    """Return one row per class of jobs: how long it waits, and the share of each cause."""
    rows: list[dict[str, Any]] = []
    for name, members in groups.rows():
        if len(rows) == most:
            break
        seconds = cause_s[members].sum(axis=0)
        total = float(seconds.sum())
        row = {
            groups.by: name,
            "jobs": len(members),
            "wait_h": total / 3600,
            "mean_wait_s": total / len(members),
        }
        percent = whole_percent(seconds) if total else [None] * len(NAMES)
        row |= {
            f"{cause}_pct": None if value is None else float(value)
            for cause, value in zip(NAMES, percent, strict=True)
        }
        rows.append(row)
    return rows
