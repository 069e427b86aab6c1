"""What phases a table of series has, in plain values."""

from __future__ import annotations

import pandas as pd

from prophase.json_types import JsonObject
from prophase.phase.detector import PhaseDetector
from prophase.phase.next_phase import score_forecasts


def phases_as_json(detector: PhaseDetector) -> dict[str, object]:
    """Return everything about the phases, for JSON."""
    return {
        "labeller": detector.labeller,
        "phases": detector.n_phases_,
        "window": detector.labeller_.history,
        "metrics": list(detector.metrics_),
        "step_s": detector.step_s,
        "gap_s": detector.gap_s_,
        "statistics": detector.statistics_.to_dict("records"),
        "lengths": detector.lengths_.to_dict("records"),
        "transitions": detector.transitions_.tolist(),
        "prototypes": detector.prototypes_said_,
        "tried": [one.row() for one in detector.trials_],
        "notes": list(detector.notes_),
    }


def labels_as_json(detector: PhaseDetector, labels: pd.DataFrame) -> JsonObject:
    """Return what ``detector.label`` found, series by series, and how good forecasts would be."""
    parts = labels.groupby("series_id", sort=False)["phase"]
    return {
        "samples": len(labels),
        "new_pct": 100 * float(labels["new"].mean()),
        "series": by_series(labels),
        "forecasts": score_forecasts(detector.next_, [part.to_numpy() for _, part in parts]),
    }


def by_series(labels: pd.DataFrame) -> list[dict[str, object]]:
    """Return a row per series: how often its phase changes, and which it is in at the end."""
    rows = []
    for name, part in labels.groupby("series_id", sort=False):
        phase = part["phase"].to_numpy()
        counts = part["phase"].value_counts(normalize=True)
        rows.append(
            {
                "series_id": str(name),
                "samples": len(part),
                "changes": int((phase[1:] != phase[:-1]).sum()),
                "phase_now": int(phase[-1]),
                "new_pct": 100 * float(part["new"].mean()),
                "phases": ", ".join(
                    f"{number}: {100 * share:.0f} %" for number, share in counts.head(4).items()
                ),
            }
        )
    return rows
