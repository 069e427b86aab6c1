"""Shares of causes with intervals, in total and by class."""

from __future__ import annotations

from typing import Any

from prophase.sim.measures.groups import Groups
from prophase.sim.signatures import Floats
from prophase.sim.why.causes import CAUSES, NAMES, WORDS, by_cause, whole_percent
from prophase.sim.why.intervals import ratio_intervals
from prophase.sim.why.splitting import WaitSplit


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
