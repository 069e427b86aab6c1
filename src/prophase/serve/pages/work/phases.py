"""Phases: what every phase is, and one series with its phases and allocations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from prophase.autoscale.fleet import Fleet, fleet_of
from prophase.autoscale.policy_comparison import PolicyComparison, compare
from prophase.errors import ProphaseError
from prophase.phase.detector import PhaseDetector
from prophase.serve.pages.work import Progress
from prophase.trace.trace_tables import open_trace
from prophase.trace.workspace_paths import PHASES

#: points of a line
_POINTS = 360
#: series that allocations are learnt from
_LEARNT = 40
_LISTED = 300


def phases(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return the phases and the series there are."""
    progress("reading the series", 10)
    usage = open_trace(folder, tables=["usage"]).usage
    metrics = metrics_of(usage)
    told: dict[str, Any] = {"metrics": metrics, "samples": len(usage)}
    detector = _detector(folder)
    shares: dict[str, Any] = {}
    if detector is not None:
        progress("labelling the series", 40)
        labels = detector.label(usage)
        known = labels[labels["phase"] >= 0]
        counts = known.groupby(["series_id", "phase"], sort=False).size()
        for row in counts.reset_index(name="samples").to_dict("records"):
            shares.setdefault(str(row["series_id"]), {})[str(row["phase"])] = int(row["samples"])
        told["model"] = _model(detector)
        told["new_pct"] = float(100 * labels["new"].mean())
    lengths = usage.groupby("series_id", sort=False)["time_s"].agg(["size", "min", "max"])
    told["count"] = len(lengths)
    told["series"] = [
        {
            "series": str(name), "samples": int(row["size"]),
            "lasted_s": float(row["max"] - row["min"]), "phases": shares.get(str(name), {}),
        }
        for name, row in lengths.head(_LISTED).iterrows()
    ]  # fmt: skip
    return told


def series(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return one series: its metrics, its phases, and what policies would allocate to it."""
    progress("reading the series", 5)
    usage = open_trace(folder, tables=["usage"]).usage
    name = arguments["series"]
    own = usage[usage["series_id"].astype(str) == name].sort_values("time_s")
    if own.empty:
        raise ProphaseError(f"there is no series {name!r} in the usage table.")
    told: dict[str, Any] = {"series": name, "samples": len(own)}
    every = max(len(own) // _POINTS, 1)
    seen = own.iloc[::every]
    told["time_s"] = (seen["time_s"] - own["time_s"].iloc[0]).tolist()
    told["metrics"] = {metric: seen[metric].tolist() for metric in metrics_of(usage)}
    detector = _detector(folder)
    if detector is not None:
        progress("labelling it", 20)
        labels = detector.label(own).set_index("time_s")["phase"]
        told["phases"] = labels.reindex(seen["time_s"]).fillna(-1).astype(int).tolist()
        told["n_phases"] = detector.n_phases_
        told |= _ahead(detector, int(labels.iloc[-1]))
    told["allocation"] = _allocation(usage, name, progress)
    return told


def metrics_of(usage: pd.DataFrame) -> list[str]:
    """Return the columns of a usage table that hold measurements."""
    return [
        str(name)
        for name in usage
        if name not in ("series_id", "time_s")
        and pd.api.types.is_numeric_dtype(usage[name])
        and usage[name].notna().any()
    ]


def _detector(folder: Path) -> PhaseDetector | None:
    path = folder / PHASES
    return PhaseDetector.load(path) if path.is_file() else None


def _model(detector: PhaseDetector) -> dict[str, Any]:
    return {
        "labeller": detector.labeller,
        "phases": detector.n_phases_,
        "metrics": list(detector.metrics_),
        "statistics": detector.statistics_.to_dict("records"),
        "lengths": detector.lengths_.to_dict("records"),
        "transitions": detector.transitions_.tolist(),
        "said": detector.prototypes_said_,
        "notes": list(detector.notes_),
    }


def _ahead(detector: PhaseDetector, phase: int) -> dict[str, Any]:
    """Return what is foretold to follow the last sample."""
    foreseen = detector.next_.forecast(phase) if phase >= 0 else None
    if foreseen is None:
        return {"now": phase, "ahead": None}
    return {
        "now": phase,
        "ahead": {
            "next": foreseen.next_phase,
            "probability": foreseen.probability,
            "samples": foreseen.remaining,
            "low": foreseen.remaining_low,
            "high": foreseen.remaining_high,
        },
    }


def _allocation(usage: pd.DataFrame, name: str, progress: Progress) -> dict[str, Any]:
    """Let policies learn from the other series and allocate to this one."""
    try:
        whole, notes = fleet_of(usage, None, every=5)
        others = [one for one in whole.series if one != name]
        if len(others) < 2 or name not in whole.series:
            return {"missing": "fewer than two other long series to learn from"}
        chosen = np.random.default_rng(0).permutation(others)[:_LEARNT].tolist()
        found = compare(
            whole.only(chosen),
            whole.only([name]),
            policies=["phase-relative"],
            progress=lambda policy: progress(f"allocating by {policy}", None),
        )
    except ProphaseError as error:
        return {"missing": str(error)}
    return {**_curves(found), "notes": list(notes)}


def _curves(found: PolicyComparison) -> dict[str, Any]:
    test: Fleet = found.test
    run = int(np.argmax(test.lengths))
    inside = slice(int(test.run_start[run]), int(test.run_start[run] + test.lengths[run]))
    use = test.use[inside]
    every = max(len(use) // _POINTS, 1)
    won = found.winner.policy if found.winner else None
    return {
        "metric": test.metric,
        "target": found.target,
        "time_s": (np.arange(len(use))[::every] * test.step_s).tolist(),
        "use": use[::every].tolist(),
        "policies": [
            {
                "policy": one.policy,
                "given": test.per_sample(one.allocation)[inside][::every].tolist(),
                "ratio": one.measures.allocation_over_usage,
                "satisfied_pct": one.measures.satisfied_pct,
                "resizes_per_1000": one.measures.resizes_per_1000,
                "winner": one.policy == won,
            }
            for one in found.judged
        ],
        "verdict": found.verdict(),
        "learnt_from": len(found.fit.series),
    }
