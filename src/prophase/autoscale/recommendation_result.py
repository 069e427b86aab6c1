"""What a saved policy gives to every series now, as a result."""

from __future__ import annotations

import pandas as pd

from prophase.autoscale.fleet import live_fleet
from prophase.autoscale.live_decision import Samples, rounded
from prophase.autoscale.saved_policy import SavedPolicy
from prophase.errors import InputError, MissingColumnError, not_among
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import Result, Table


def current_runs(usage: pd.DataFrame, policy: SavedPolicy) -> dict[str, Samples]:
    """Return the last uninterrupted run of every series, cut as the back-test cuts it."""
    if policy.metric not in usage:
        raise MissingColumnError(
            not_among(
                f"the series have no metric {policy.metric!r}.", policy.metric, [*map(str, usage)]
            )
        )
    if usage.empty or not usage[policy.metric].notna().any():
        return {}
    fleet = live_fleet(
        usage, policy.metric, every=policy.every, step_s=policy.step_s, others=policy.others
    )
    assert fleet.time_s is not None
    found = {}
    for name, run in zip(fleet.series_id, fleet.runs(), strict=True):
        others = {other: values[run] for other, values in fleet.others.items()}
        found[name] = Samples(float(fleet.time_s[run.start]), fleet.use[run], others)
    return found


def recommendation_result(policy: SavedPolicy, usage: pd.DataFrame) -> Result:
    """Return a row per series: what to give it, beside what it uses."""
    runs = current_runs(usage, policy)
    if not runs:
        raise InputError(f"no series has a value of {policy.metric}.")
    rows = []
    for name, run in runs.items():
        known = policy.is_known(run.use)
        exact = policy.allocation(run.use, run.others, fallback=not known)
        rows.append(
            finite(
                {
                    "series_id": name,
                    "allocation": rounded(exact, policy.metric),
                    "exact": exact,
                    "last_use": float(run.use[-1]),
                    "peak_use": float(max(run.use)),
                    "samples": len(run.use),
                    "next_decision_in": policy.every - len(run.use) % policy.every,
                    "by": policy.name if known else "vpa",
                }
            )
        )
    strange = sum(row["by"] != policy.name for row in rows)
    notes = [
        f"{policy.metric} by {policy.name}, decided every {policy.every} samples of "
        f"{policy.step_s:g} s; tuned for {policy.asked}."
    ]
    if strange:
        notes.append(
            f"{counted(strange, 'series', 'series')} used more than was ever learnt from "
            f"({policy.highest:.4g}): VPA's rule answers for them."
        )
    return Result(
        "autoscale recommend",
        tables=[Table("recommendations", rows)],
        records=rows,
        notes=notes,
        values={"metric": policy.metric, "policy": policy.name, "recommendations": rows},
    )
