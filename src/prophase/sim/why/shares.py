"""Shares of causes with intervals, in total and by class."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtrit

from prophase.sim.measures.groups import Groups
from prophase.sim.signatures import Floats
from prophase.sim.why.causes import CAUSES, NAMES, WORDS, whole_percent

_DAY_S, _DRAWS, _LEVEL = 86400.0, 1000, 0.95


def share_intervals(submit_s: Floats, cause_s: Floats) -> tuple[Floats, Floats] | None:
    """Return 95 % intervals of the causes' shares in percent, from days drawn again.

    None where jobs of fewer than two days waited.
    """
    waited = cause_s.sum(axis=1) > 0
    day = np.floor(submit_s[waited] / _DAY_S)
    names, place = np.unique(day, return_inverse=True)
    if len(names) < 2:
        return None
    sums = np.stack([np.bincount(place, column) for column in cause_s[waited].T], axis=1)
    drawn = np.random.default_rng(0).integers(len(names), size=(_DRAWS, len(names)))
    totals = sums[drawn].sum(axis=1)
    shares = 100 * totals / totals.sum(axis=1, keepdims=True)
    low, high = np.quantile(shares, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
    middle = 100 * sums.sum(axis=0) / sums.sum()
    # few days spread too little under the bootstrap: widen as t does over the normal law
    widen = float(stdtrit(len(names) - 1, (1 + _LEVEL) / 2) / stdtrit(1e9, (1 + _LEVEL) / 2))
    low, high = middle - (middle - low) * widen, middle + (high - middle) * widen
    return np.clip(low, 0, 100), np.clip(high, 0, 100)


def share_rows(submit_s: Floats, cause_s: Floats, fine_s: Floats) -> list[dict[str, Any]]:
    """Return one row per cause: hours waited, share of all waiting, its interval."""
    seconds = cause_s.sum(axis=0)
    percent = whole_percent(seconds, digits=2)
    between = share_intervals(submit_s, cause_s)
    fine = fine_s.sum(axis=0)
    rows = []
    for number, cause in enumerate(CAUSES):
        by = {what: float(fine[code]) / 3600 for code, what in cause.fine if what}
        rows.append(
            {
                "cause": cause.name,
                "wait_h": float(seconds[number]) / 3600,
                "share_pct": float(percent[number]),
                "share_low_pct": None if between is None else float(between[0][number]),
                "share_high_pct": None if between is None else float(between[1][number]),
                "resources_h": by,
                "words": WORDS[cause.name],
            }
        )
    return rows


def class_rows(groups: Groups, cause_s: Floats, *, most: int = 1000) -> list[dict[str, Any]]:
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
