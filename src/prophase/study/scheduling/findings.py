"""What the study of Alibaba's PAI found (Weng et al., NSDI 2022), beside what this trace shows."""

from __future__ import annotations

import math
from typing import Any

from prophase.study.scheduling.comparing import ScheduleStudy
from prophase.study.scheduling.policies import (
    BALANCED,
    FIFO,
    NO_SHARING,
    ORACLE,
    RESERVED,
    predicted,
)


def published_beside(study: ScheduleStudy) -> list[dict[str, Any]]:
    """Return one row per published number: theirs, ours with its interval, and whether they agree.

    Agreement is a matter of the same direction: their cluster, load and jobs are others.
    """
    best = next((one.policy for one in study.overall if "predicted by" in one.policy), "")
    rows = [
        _row(study, "mean completion time, shortest predicted against fifo", "-63 to -77 %",
             FIFO, best or predicted("default"), "mean_jct_s"),
        _row(study, "mean completion time, shortest true against fifo", "more than predicted",
             FIFO, ORACLE, "mean_jct_s"),
        _row(study, "p90 wait with sharing against whole GPUs", "-57 % (1,150 s to 497 s)",
             NO_SHARING, FIFO, "p90_wait_s"),
        _row(study, "mean wait, reserving and packing against load balancing", "-45 %",
             BALANCED, RESERVED, "mean_wait_s"),
    ]  # fmt: skip
    shared = study.gpus_saved_by_sharing_pct
    says = "same direction" if shared > 0 else "nobody asks for a part of a GPU"
    rows.append(
        {
            "finding": "GPUs needed with sharing against whole GPUs",
            "published": "-50 % on average",
            "ours_pct": -shared if shared > 0 else None,
            "ours_pct_low": None,
            "ours_pct_high": None,
            "says": says,
        }
    )
    return rows


def _row(
    study: ScheduleStudy, finding: str, published: str, before: str, after: str, measure: str
) -> dict[str, Any]:
    found = study.change(before, after, measure)
    if found is None:
        missing = before if study.of(before) is None else after
        why = f"no {missing!r} on this trace" if study.of(missing) is None else "nobody waits"
        return {
            "finding": finding, "published": published, "ours_pct": None, "ours_pct_low": None,
            "ours_pct_high": None, "says": why,
        }  # fmt: skip
    value, low, high = found
    idle = study.nobody_waits and measure == "mean_jct_s"
    return {
        "finding": finding,
        "published": published,
        "ours_pct": value,
        "ours_pct_low": low if math.isfinite(low) else None,
        "ours_pct_high": high if math.isfinite(high) else None,
        "says": "hardly anybody waits here" if idle else _says(value, low, high),
    }


def _says(value: float, low: float, high: float) -> str:
    if value >= 0:
        return "no gain here, not certain" if low < 0 else "contradicted here: no gain"
    return "same direction, not certain" if high >= 0 else "same direction"
