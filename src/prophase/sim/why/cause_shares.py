"""Shares of causes with intervals, in total and by class."""

from __future__ import annotations

from typing import Any

from prophase.sim.measures.backlog_blocks import backlog_blocks, why_too_few
from prophase.sim.measures.job_classes import JobClasses
from prophase.sim.signatures import Floats
from prophase.sim.why.causes import CAUSES, NAMES, WORDS, by_cause, whole_percent
from prophase.sim.why.wait_split import WaitSplit
from prophase.stats import ratio


def share_rows(split: WaitSplit) -> list[dict[str, Any]]:
    """Return one row per cause: hours waited, share of all waiting, its interval.

    ``at_root_pct`` books the waiting of jobs that the queue held up on what the job in the way
    lacked; what is left under order had no waiting job in its way.
    """
    cause_s, fine_s = split.cause_s, split.fine_s
    seconds = cause_s.sum(axis=0)
    root = by_cause(split.behind_s)
    root[:-1] += seconds[:-1]
    at_root = whole_percent(root, digits=2)
    percent = whole_percent(seconds, digits=2)
    blocks, whole_s = backlog_blocks(split.schedule), cause_s.sum(axis=1)
    shares: list[tuple[float | None, float | None]] = [(None, None)] * len(CAUSES)
    if not why_too_few(blocks):
        each = [ratio(100 * one_s, whole_s, blocks) for one_s in cause_s.T]
        shares = [one.within(0.0, 100.0).ends() for one in each]
    fine = fine_s.sum(axis=0)
    rows = []
    for number, cause in enumerate(CAUSES):
        by = {what: float(fine[code]) / 3600 for code, what in cause.fine if what}
        rows.append(
            {
                "cause": cause.name,
                "wait_h": float(seconds[number]) / 3600,
                "share_pct": float(percent[number]),
                "share_low_pct": shares[number][0],
                "share_high_pct": shares[number][1],
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
