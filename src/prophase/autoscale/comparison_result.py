"""Policies compared on unseen series, as a result."""

from __future__ import annotations

from collections.abc import Sequence

from prophase.autoscale.policy_comparison import PolicyComparison
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import Result, Table

#: columns of the table for a terminal; all are in JSON and CSV
_SHOWN = (
    "policy",
    "allocation_over_usage",
    "satisfied_pct",
    "violation_episodes",
    "kills_per_pod_day",
    "lost_pct",
    "unmet_pct",
    "resizes_per_1000",
    "cost",
    "worst_series_satisfied_pct",
)


def comparison_result(found: PolicyComparison, notes: Sequence[str] = ()) -> Result:
    """Return a row per policy, and which of them satisfies as asked with the least."""
    won = found.winner.policy if found.winner else None
    rows = [finite({**one.row(), "winner": one.policy == won}) for one in found.judged]
    fit, test = found.fit, found.test
    said = [
        *notes,
        f"{test.metric}, decided every {test.every} samples of {test.step_s:g} s; learnt and tuned "
        f"on {counted(len(fit.series), 'series', 'series')} ({fit.samples:,} samples), judged on "
        f"{len(test.series):,} ({test.samples:,}).",
        found.verdict(),
        "The oracle looks ahead: no policy can do better than it at 100 %.",
    ]
    narrow = [{name: row[name] for name in _SHOWN if row[name] is not None} for row in rows]
    gains = [finite(one.row()) for one in found.gains]
    return Result(
        "autoscale",
        tables=[Table("policies", narrow), *([Table("what phases add", gains)] if gains else [])],
        records=rows,
        notes=said,
        values={
            "target": found.target,
            "kills_per_pod_day": found.objective.kills_per_pod_day,
            "winner": won, "metric": test.metric, "policies": rows, "phases": gains, "notes": said,
        },
    )  # fmt: skip
