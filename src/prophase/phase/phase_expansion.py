"""New behaviour gets phases of its own, and no old phase gets another number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Bools
from prophase.errors import InputError, ParameterError
from prophase.phase.detector import PhaseDetector
from prophase.phase.fitted_phases import PhaseSplit
from prophase.phase.novelty import remember
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

    #: a row per phase: samples, new_samples, new_pct, variance; after a split also
    #: variance_before and share_pct, and rows of the new phases
    table: pd.DataFrame
    #: the phase to split, or None if there is nothing new
    phase: int | None
    reason: str
    #: phases that were added
    added: tuple[int, ...] = ()
    #: variance inside phases before and after, in scaled units; None if nothing was split
    variance: tuple[float, float] | None = None

    def result(self) -> Result:
        """Return a row per phase, and which one is split."""
        rows = finite(self.table.to_dict("records"))
        notes = [self.reason]
        if self.added:
            notes.append(
                f"New phases: {', '.join(map(str, self.added))}. Samples like those that were "
                "learnt from keep their phase."
            )
        if self.variance is not None:
            before, after = self.variance
            notes.append(
                f"Variance inside phases, of metrics in standard scores: {before:.3g} before, "
                f"{after:.3g} after."
            )
        values = {
            "phase": self.phase, "reason": self.reason, "added": list(self.added), "phases": rows,
            "variance": list(self.variance) if self.variance else None,
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
    features = _features(detector, usage)
    rows = features[(phases == chosen) & strange]
    if len(rows) < _ENOUGH:
        raise InputError(
            f"phase {chosen} has {len(rows)} new samples, and {_ENOUGH} are needed to split it. "
            "Give more series, or another phase."
        )
    hidden = detector.splits_activations
    width = _width(detector) if not hidden else _spread_of(features, phases, strange)
    centres = _centres(rows, groups, width, detector.random_state)
    first = detector.n_phases_
    split = PhaseSplit(chosen, first, centres, detector.familiar_, hidden)
    series = detector.series_in(usage)
    values = [(one.values - detector.mean_) / detector.scale_ for one in series.series]
    known = remember(values, random_state=detector.random_state)
    detector.splits_ = (*detector.splits_, split)
    detector.n_phases_ += len(centres)
    # what was new is known from now on
    detector.familiar_ = detector.familiar_.joined(known)
    detector.extend_description(series)
    after = split.apply(phases, scaled, features)
    added = tuple(range(first, first + len(centres)))
    rows_after = found.table.rename(columns={"variance": "variance_before"}).to_dict("records")
    rows_after += [{"phase": n, "new_samples": int((after == n).sum())} for n in added]
    table = pd.DataFrame(rows_after)
    table["samples"] = [int((after == n).sum()) for n in table["phase"]]
    labelled = max(int((after >= 0).sum()), 1)
    table["share_pct"] = 100 * table["samples"] / labelled
    table["variance"] = [_variance(scaled[after == n]) for n in table["phase"]]
    return Expansion(
        table,
        chosen,
        found.reason if phase is None else f"phase {phase} was asked for.",
        added,
        (_inside(scaled, phases), _inside(scaled, after)),
    )


def _variance(rows: Floats) -> float:
    return float(rows.var(axis=0).mean()) if len(rows) else np.nan


def _inside(scaled: Floats, phases: Ints) -> float:
    """Return the variance inside phases, by samples, in scaled units."""
    known = phases[phases >= 0]
    parts = [(number, int((known == number).sum())) for number in np.unique(known)]
    total = sum(_variance(scaled[phases == number]) * count for number, count in parts)
    return total / max(len(known), 1)


def _features(detector: PhaseDetector, usage: pd.DataFrame) -> Floats:
    """Return what phases are split by, a row per sample."""
    parts = []
    for one in detector.series_in(usage).series:
        scaled = (one.values - detector.mean_) / detector.scale_
        parts += [detector.split_features(scaled[part]) for part in one.stretches()]
    return np.concatenate(parts)


def _spread_of(features: Floats, phases: Ints, strange: Bools) -> float:
    """Return the variance of activations inside phases of samples that are nothing new.

    With none, as narrow as a tenth of what all samples spread.
    """
    known = features[(phases >= 0) & ~strange]
    labels = phases[(phases >= 0) & ~strange]
    if len(known) < 2 * _ENOUGH:
        return float(features.var(axis=0).sum()) / 10
    inside = [known[labels == n].var(axis=0).sum() * (labels == n).sum() for n in np.unique(labels)]
    return float(sum(inside) / len(known))


def _labelled(detector: PhaseDetector, usage: pd.DataFrame) -> tuple[Ints, Floats, Bools]:
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
