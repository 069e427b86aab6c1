"""Head-of-line cost: what jobs lost while they would have fitted, and who held them up."""

from __future__ import annotations

from typing import Any

import numpy as np

from prophase.sim.measures.job_classes import JobClasses
from prophase.sim.why.causes import NAMES, by_cause, whole_percent
from prophase.sim.why.wait_split import WaitSplit

_ORDER = NAMES.index("order")


def victims(split: WaitSplit) -> list[dict[str, Any]]:
    """Return what short and long jobs lost while they would have fitted."""
    lost, wait = split.cause_s[:, _ORDER], split.fine_s.sum(axis=1)
    rows = []
    for name, members in (("short", split.is_short), ("long", ~split.is_short)):
        mine, hit = lost[members], lost[members] > 0
        total = float(wait[members].sum())
        rows.append(
            {
                "length": name,
                "jobs": int(members.sum()),
                "held_up": int(hit.sum()),
                "lost_h": float(mine.sum()) / 3600,
                "lost_share_pct": 100 * float(mine.sum()) / total if total else None,
                "mean_lost_s": float(mine[hit].mean()) if hit.any() else 0.0,
                "p95_lost_s": float(np.percentile(mine[hit], 95)) if hit.any() else 0.0,
            }
        )
    return rows


def culprits(split: WaitSplit, groups: JobClasses, most: int = 10) -> list[dict[str, Any]]:
    """Return whose jobs held others up, the worst first; the last row is nobody's."""
    blame = split.blame_s
    total = float(blame.sum())
    if not total:
        return []
    guilty = blame[:-1].sum(axis=1) > 0
    rows = []
    for name, members in groups.rows():
        short, long = (blame[members].sum(axis=0) / 3600).tolist()
        if short + long:
            rows.append(
                {
                    groups.by: name,
                    "blocking_jobs": int(guilty[members].sum()),
                    "short_jobs_lost_h": short,
                    "long_jobs_lost_h": long,
                    "share_pct": 100 * 3600 * (short + long) / total,
                }
            )
    rows.sort(key=lambda row: -row["share_pct"])
    rows = _with_rest(rows[:most], rows[most:], groups.by, "all others")
    short, long = (blame[-1] / 3600).tolist()
    if short + long:
        rows.append(
            {
                groups.by: "no waiting job",
                "blocking_jobs": 0,
                "short_jobs_lost_h": short,
                "long_jobs_lost_h": long,
                "share_pct": 100 * 3600 * (short + long) / total,
            }
        )
    return rows


def lacking(split: WaitSplit) -> list[dict[str, Any]]:
    """Return what the jobs in the way lacked themselves, as shares of what others lost."""
    seconds = by_cause(split.behind_s)
    if not seconds.sum():
        return []
    shares = whole_percent(seconds)
    # a wait with no job in the way is booked under its own name
    names = [name if name != "order" else "no waiting job" for name in NAMES]
    return [
        {"lacked": name, "others_lost_h": float(lost) / 3600, "share_pct": float(share)}
        for name, lost, share in zip(names, seconds, shares, strict=True)
        if lost
    ]


def _with_rest(
    rows: list[dict[str, Any]], rest: list[dict[str, Any]], by: str, name: str
) -> list[dict[str, Any]]:
    if not rest:
        return rows
    numbers = [column for column in rest[0] if column != by]
    return [*rows, {by: name, **{column: sum(row[column] for row in rest) for column in numbers}}]
