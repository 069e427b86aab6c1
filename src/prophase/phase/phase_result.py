"""Phases as results: what they are, one of them, and the phase of every sample of a series."""

from __future__ import annotations

import pandas as pd

from prophase import units
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.phase.detector import PhaseDetector, labels_as_json, phases_as_json
from prophase.phase.model_selection import doubt, reason
from prophase.phase.next_phase import in_words
from prophase.phase.stays import seen_once, stays_of
from prophase.phase.time_scales import cycle_in
from prophase.plain import finite
from prophase.result import Result, Row, Table

#: metrics of the table for a terminal
_MOST_METRICS = 4
_MOST_PROTOTYPES = 8


def phases_result(detector: PhaseDetector, *, fitted: bool = False, **values: object) -> Result:
    """Return what phases there are; just after a fit also why so many."""
    why = reason(detector.trials_) if fitted else None
    said = [one for one in (why, doubt(detector.trials_), seen_once(detector.lengths_)) if one]
    if fitted:
        cycle = cycle_in(stays_of(detector.labels_), detector.usual_step_s_)
        said += [cycle.sentence()] if cycle else []
    return Result(
        "phases",
        tables=[
            Table("phases", _overview(detector)),
            *_prototypes(detector.prototype_rows_),
        ],
        notes=[*detector.notes_, *said, f"{detector.prototypes_said_}."],
        values=finite({**values, **phases_as_json(detector)}),
    )


def phase_result(detector: PhaseDetector, phase: int) -> Result:
    """Return what one phase uses, how long it lasts and what follows."""
    if not 0 <= phase < detector.n_phases_:
        raise ParameterError(
            f"there is no phase {phase}; the model has 0 to {detector.n_phases_ - 1}."
        )
    rows = detector.statistics_[detector.statistics_["phase"] == phase].to_dict("records")
    leaving = detector.transitions_[phase]
    total = max(float(leaving.sum()), 1.0)
    follows = sorted(
        ((float(count) / total, number) for number, count in enumerate(leaving) if count),
        reverse=True,
    )
    said: list[str] = []
    if follows:
        then = ", ".join(f"phase {number} {100 * share:.0f} %" for share, number in follows[:4])
        said.append(f"Followed by: {then}.")
    foreseen = detector.next_.forecast(phase)

    def told(samples: float) -> str:
        return units.duration(samples * detector.usual_step_s_)

    if foreseen is not None:
        said.append(
            f"Lasts {told(foreseen.remaining.value)} (four stays of five: "
            f"{told(foreseen.remaining.low)} to {told(foreseen.remaining.high)})."
        )
    values: JsonObject = finite(
        {
            "phase": phase,
            "statistics": rows,
            "followed_by": {str(number): share for share, number in follows},
        }
    )
    return Result(
        "phase", tables=[Table("statistics", values["statistics"])], notes=said, values=values
    )


def labels_result(detector: PhaseDetector, usage: pd.DataFrame, labels: pd.DataFrame) -> Result:
    """Return the phases that series are in, and how well the next one is predicted."""
    values: JsonObject = finite(labels_as_json(detector, labels))
    new = values["new_pct"]
    return Result(
        "phase-labels",
        tables=[Table("series", values["series"])],
        notes=[
            *detector.series_in(usage).notes,
            in_words(values["forecasts"]),
            f"{new:.1f} % of {len(labels):,} samples are unlike all the phases were learnt "
            "from." + (" Split a phase with: prophase phase expand" if new > 10 else ""),
        ],
        values=values,
    )


def _prototypes(rows: list[JsonObject]) -> list[Table]:
    """Return the executions that stand for most; none if there is but one execution."""
    if sum(row["executions"] for row in rows) < 2:
        return []
    return [Table("prototypes", finite(rows[:_MOST_PROTOTYPES]))]


def _overview(detector: PhaseDetector) -> list[Row]:
    """Return a row per phase: how much of the time, how long, and what is used."""
    rows: list[Row] = []
    for held in detector.lengths_.to_dict("records"):
        number = int(held["phase"])
        inside = detector.statistics_[detector.statistics_["phase"] == number]
        row: JsonObject = {
            "phase": number,
            "share_pct": float(inside["share_pct"].iloc[0]),
            "stays": int(held["stays"]),
            "median_stay": units.amount(held["median_s"], "s", missing="-"),
        }
        for _, one in inside.head(_MOST_METRICS).iterrows():
            row[f"{one['metric']}_q50"] = one["q50"]
            row[f"{one['metric']}_q95"] = one["q95"]
        rows.append(finite(row))
    return rows
