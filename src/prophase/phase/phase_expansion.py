"""New behaviour gets phases of its own, and no old phase gets another number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.phase.detector import PhaseDetector
from prophase.phase.fitted_phases import PhaseSplit
from prophase.phase.novelty import Familiar, remember
from prophase.plain import finite
from prophase.result import Result, Table
from prophase.trace.series.kmeans_centres import kmeans
from prophase.trace.series.usage_series import Floats, Ints

#: new samples of a phase that are needed to make another one of them
_ENOUGH = 10
#: new phases may be this many times as wide as the known ones
_WIDTH = 2.0
_MOST_GROUPS = 6


@dataclass(frozen=True)
class Expansion:
    """What new series are like under the phases that are known."""

    #: a row per phase: samples, new_samples, new_pct, variance, variance_before
    table: pd.DataFrame
    #: the phase to split, or None if there is nothing new
    phase: int | None
    reason: str
    #: phases that were added
    added: tuple[int, ...] = ()

    def result(self) -> Result:
        """Return a row per phase, and which one is split."""
        rows = finite(self.table.to_dict("records"))
        notes = [self.reason]
        if self.added:
            notes.append(
                f"New phases: {', '.join(map(str, self.added))}. Samples like those that were "
                "learnt from keep their phase."
            )
        values = {
            "phase": self.phase, "reason": self.reason, "added": list(self.added), "phases": rows,
        }  # fmt: skip
        return Result("phase-expand", tables=[Table("phases", rows)], notes=notes, values=values)


def propose(detector: PhaseDetector, usage: pd.DataFrame) -> Expansion:
    """Say which phase new series should split, and why.

    Every phase is a row: how many samples of the new series fall into it, how many of those
    are unlike anything seen before, and how widely they spread in scaled units.
    """
    phases, scaled, strange = _labelled(detector, usage)
    rows: list[dict[str, float]] = []
    for number in range(detector.n_phases_):
        inside = phases == number
        new = inside & strange
        rows.append(
            {
                "phase": number,
                "samples": int(inside.sum()),
                "new_samples": int(new.sum()),
                "new_pct": 100 * float(new.sum() / max(inside.sum(), 1)),
                "variance": float(scaled[inside].var(axis=0).mean()) if inside.any() else np.nan,
            }
        )
    table = pd.DataFrame(rows)
    worst = max(rows, key=lambda row: row["new_samples"])
    if worst["new_samples"] < _ENOUGH:
        return Expansion(
            table,
            None,
            f"at most {int(worst['new_samples'])} samples of a phase are new, and {_ENOUGH} are "
            "needed for a phase of their own. Nothing to split.",
        )
    return Expansion(
        table,
        int(worst["phase"]),
        f"phase {int(worst['phase'])} takes {int(worst['new_samples']):,} of "
        f"{int(strange.sum()):,} new samples, {worst['new_pct']:.0f} % of its own.",
    )


def expand(
    detector: PhaseDetector,
    usage: pd.DataFrame,
    *,
    phase: int | None = None,
    groups: int | None = None,
) -> Expansion:
    """Give the new behaviour in a phase numbers of its own; the model is changed in place.

    Samples like those the model was learned from keep their phase: all of them, by construction.

    Parameters
    ----------
    usage : DataFrame
        Series with the new behaviour.
    phase : int, optional
        Phase to split; the one that `propose` names if not given.
    groups : int, optional
        How many new phases; as many as make them about as narrow as known ones if not given.
    """
    found = propose(detector, usage)
    if phase is not None and not 0 <= phase < detector.n_phases_:
        raise ParameterError(
            f"there is no phase {phase}; the model has 0 to {detector.n_phases_ - 1}."
        )
    chosen = found.phase if phase is None else phase
    if chosen is None:
        return found
    phases, scaled, strange = _labelled(detector, usage)
    rows = scaled[(phases == chosen) & strange]
    if len(rows) < _ENOUGH:
        raise InputError(
            f"phase {chosen} has {len(rows)} new samples, and {_ENOUGH} are needed to split it. "
            "Give more series, or another phase."
        )
    centres = _centres(rows, groups, _width(detector), detector.random_state)
    first = detector.n_phases_
    split = PhaseSplit(chosen, first, centres, detector.familiar_)
    series = detector.series_in(usage)
    values = [(one.values - detector.mean_) / detector.scale_ for one in series.series]
    known = remember(values, random_state=detector.random_state)
    seen = np.concatenate([detector.familiar_.seen, known.seen])
    detector.splits_ = (*detector.splits_, split)
    detector.n_phases_ += len(centres)
    # what was new is known from now on
    detector.familiar_ = Familiar(seen, detector.familiar_.limit)
    detector.extend_description(series)
    after = split.apply(phases, scaled)
    table = found.table.rename(columns={"variance": "variance_before"})
    kept = [
        float(scaled[after == n].var(axis=0).mean()) if (after == n).any() else np.nan
        for n in table["phase"]
    ]
    return Expansion(
        table.assign(variance=kept),
        chosen,
        found.reason if phase is None else f"phase {phase} was asked for.",
        tuple(range(first, first + len(centres))),
    )


def _labelled(
    detector: PhaseDetector, usage: pd.DataFrame
) -> tuple[Ints, Floats, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    series = detector.series_in(usage).series
    phases = np.concatenate([detector.labels(one) for one in series])
    scaled = np.concatenate([(one.values - detector.mean_) / detector.scale_ for one in series])
    return phases, scaled, detector.familiar_.is_new(scaled)


def _width(detector: PhaseDetector) -> float:
    """Return the variance inside the known phases, summed over metrics, in scaled units."""
    table = detector.statistics_
    table = table[(table["samples"] > 1) & table["std"].notna()]
    scale = dict(zip(detector.metrics_, detector.scale_, strict=True))
    spread = (table["std"] / table["metric"].map(scale)) ** 2
    weighted = float((spread * table["samples"]).sum() / table["samples"].sum())
    return weighted * len(detector.metrics_)


def _centres(rows: Floats, groups: int | None, width: float, random_state: int) -> Floats:
    """Return as many centres as are asked for, or as make groups about as narrow as known ones."""
    if groups is not None:
        return kmeans(rows, groups, random_state=random_state).places
    most = min(_MOST_GROUPS, len(np.unique(rows, axis=0)))
    for count in range(1, most + 1):
        found = kmeans(rows, count, random_state=random_state)
        if found.inertia <= _WIDTH * width:
            break
    return found.places
