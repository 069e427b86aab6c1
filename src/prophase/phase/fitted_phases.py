"""What a phase detector has learned: what its stream labels with, in memory and in one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import pandas as pd

from prophase.array_types import Array
from prophase.errors import ModelFileError
from prophase.json_types import JsonObject
from prophase.modelfile import load_model, save_model
from prophase.phase.labellers import LABELLERS
from prophase.phase.labellers.boltzmann import HIDDEN, BoltzmannMeans
from prophase.phase.labellers.labeller import Labeller
from prophase.phase.model_selection import LabellerTrial
from prophase.phase.next_phase import NextPhase
from prophase.phase.novelty import Familiar
from prophase.phase.prototypes import Prototypes
from prophase.trace.series.kmeans_centres import nearest
from prophase.trace.series.usage_series import GAP_STEPS, Floats, Ints


@dataclass(frozen=True)
class PhaseSplit:
    """A phase whose unfamiliar samples became phases of their own.

    A sample keeps its phase if it is like those that were seen before the split; otherwise it
    takes the number of the nearest new centre.
    """

    phase: int
    #: number of the first new phase
    first: int
    #: (new phases, features): scaled samples, or activations of a network
    centres: Floats
    #: what was seen before
    familiar: Familiar
    #: centres are of activations
    hidden: bool = False

    def apply(self, phases: Ints, scaled: Floats, features: Floats) -> Ints:
        """Return the phases with those of new samples of the split one renumbered."""
        inside = np.flatnonzero(phases == self.phase)
        if len(inside) == 0:
            return phases
        strange = inside[self.familiar.is_new(scaled[inside])]
        found = phases.copy()
        found[strange] = self.first + nearest(features[strange], self.centres)
        return found


class FittedPhases:
    """Settings of a detector and what it has learned from series."""

    labeller: str
    n_phases: int | None
    window: int | None
    hidden: int
    metrics: Sequence[str] | None
    step_s: float | Literal["auto"] | None
    min_stay_s: float | None
    gap_s: float | None
    random_state: int
    #: step that samples are brought to, if any, and the time between two samples as labelled
    step_s_: float | None
    usual_step_s_: float
    #: samples that a new phase must last before it is told
    hold_: int
    #: what gives samples their phase
    labeller_: Labeller
    #: what was tried, and how well it explained the series
    trials_: tuple[LabellerTrial, ...]
    metrics_: tuple[str, ...]
    mean_: Floats
    scale_: Floats
    gap_s_: float
    splits_: tuple[PhaseSplit, ...]
    #: number of phases, with those that were added later
    n_phases_: int
    familiar_: Familiar
    next_: NextPhase
    #: what is used in each phase, and how long it lasts
    statistics_: pd.DataFrame
    lengths_: pd.DataFrame
    #: (phases, phases) how often each phase was followed by each other
    transitions_: Floats
    #: of the series that were learned from, while they are in memory
    labels_: list[Ints]
    #: executions that stand for the others
    prototypes_: Prototypes
    #: how few executions stand for most, in words
    prototypes_said_: str
    #: a row per such execution
    prototype_rows_: list[JsonObject]
    #: what a reader of the result has to know
    notes_: tuple[str, ...]
    data_hash_: str

    def renumbered(self, phases: Ints, scaled: Floats) -> Ints:
        """Return phases after the splits that were made later.

        ``scaled`` may begin earlier than ``phases``, with the samples that a network looks back at.
        """
        own = scaled[len(scaled) - len(phases) :]
        for split in self.splits_:
            rows = self.split_features(scaled)[-len(own) :] if split.hidden else own
            phases = split.apply(phases, own, rows)
        return phases

    @property
    def splits_activations(self) -> bool:
        """Say whether a phase is split by what a network makes of samples, as AI4DL does."""
        return isinstance(self.labeller_, BoltzmannMeans)

    def split_features(self, scaled: Floats) -> Floats:
        """Return what phases are split by, a row per sample: activations, or the sample itself."""
        if not isinstance(self.labeller_, BoltzmannMeans):
            return scaled
        found = np.zeros((len(scaled), self.labeller_.centres.shape[1]))
        if len(scaled) > self.labeller_.history:
            found[self.labeller_.history :] = self.labeller_.features(scaled)
        return found


KIND = "phase.detector"
Detector = TypeVar("Detector", bound=FittedPhases)


def save_detector(detector: FittedPhases, path: Path | str) -> str:
    """Write a fitted detector and return the checksum of the file."""
    arrays: dict[str, Array] = {
        f"labeller.{name}": value for name, value in detector.labeller_.arrays().items()
    }
    for number, split in enumerate(detector.splits_):
        arrays[f"split.{number}.centres"] = split.centres
        arrays |= _known(f"split.{number}.", split.familiar)
    arrays |= {
        "mean": detector.mean_,
        "scale": detector.scale_,
        "pairs": detector.next_.pairs,
        "transitions": detector.transitions_,
        **_known("", detector.familiar_),
    }
    meta = {
        "labeller": detector.labeller,
        "n_phases": detector.n_phases,
        "window": detector.window,
        "hidden": detector.hidden,
        "step_s": detector.step_s_,
        "usual_step_s": detector.usual_step_s_,
        "min_stay_s": detector.min_stay_s,
        "hold": detector.hold_,
        "gap_s": detector.gap_s_,
        "limit": detector.familiar_.limit,
        "n_phases_now": detector.n_phases_,
        "splits": [
            {"phase": s.phase, "first": s.first, "limit": s.familiar.limit, "hidden": s.hidden}
            for s in detector.splits_
        ],
        "trials": [one.row() for one in detector.trials_],
        "statistics": _records(detector.statistics_),
        "lengths": _records(detector.lengths_),
        "prototypes": detector.prototypes_said_,
        "prototype_rows": detector.prototype_rows_,
        "notes": list(detector.notes_),
    }
    return save_model(
        path,
        kind=KIND,
        meta=meta,
        arrays=arrays,
        columns=detector.metrics_,
        data_hash=detector.data_hash_,
        seed=detector.random_state,
    )


def load_detector(path: Path | str, make: Callable[..., Detector]) -> Detector:
    """Return the detector of a file; refuse one that is damaged or of another kind."""
    held = load_model(path, KIND)
    meta, arrays = held.meta, held.arrays
    try:
        found = make(
            meta["labeller"],
            n_phases=meta["n_phases"],
            window=meta["window"],
            hidden=meta.get("hidden", HIDDEN),
            metrics=held.columns,
            step_s=meta["step_s"],
            min_stay_s=meta.get("min_stay_s"),
            gap_s=meta["gap_s"],
            random_state=held.seed or 0,
        )
        own = {
            name.removeprefix("labeller."): value
            for name, value in arrays.items()
            if name.startswith("labeller.")
        }
        found.labeller_ = LABELLERS[meta["labeller"]][0].from_arrays(own)
        found.metrics_ = held.columns
        found.mean_, found.scale_ = arrays["mean"], arrays["scale"]
        found.gap_s_, found.step_s_ = meta["gap_s"], meta["step_s"]
        found.usual_step_s_ = meta.get("usual_step_s", meta["gap_s"] / GAP_STEPS)
        found.hold_ = meta.get("hold", 1)
        found.familiar_ = _familiar("", arrays, meta["limit"])
        found.splits_ = tuple(
            PhaseSplit(
                one["phase"],
                one["first"],
                arrays[f"split.{number}.centres"],
                _familiar(f"split.{number}.", arrays, one["limit"]),
                one.get("hidden", False),
            )
            for number, one in enumerate(meta["splits"])
        )
        found.n_phases_ = meta["n_phases_now"]
        found.next_ = NextPhase(arrays["pairs"], found.n_phases_)
        found.transitions_ = arrays["transitions"]
        found.trials_ = tuple(_trial(row) for row in meta["trials"])
        found.statistics_ = pd.DataFrame(meta["statistics"])
        found.lengths_ = pd.DataFrame(meta["lengths"])
        for word in ("mean", "median", "longest"):
            # files of earlier versions count in samples
            if f"{word}_s" not in found.lengths_:
                found.lengths_[f"{word}_s"] = (
                    found.lengths_[f"{word}_samples"] * found.usual_step_s_
                )
        found.prototypes_said_ = meta["prototypes"]
        found.prototype_rows_ = meta.get("prototype_rows", [])
        found.notes_, found.data_hash_ = tuple(meta["notes"]), held.data_hash
    except (KeyError, TypeError, ValueError) as cause:
        raise ModelFileError(
            f"{path}: the phases in it cannot be understood ({cause!r}). Learn them again."
        ) from cause
    return found


def _known(name: str, familiar: Familiar) -> dict[str, Array]:
    return {
        f"{name}seen": familiar.seen,
        f"{name}low": familiar.low,
        f"{name}high": familiar.high,
    }


def _familiar(name: str, arrays: Mapping[str, Array], limit: float) -> Familiar:
    """Return what was seen; a file of an earlier version knows no range."""
    none = np.full(arrays[f"{name}seen"].shape[1], np.inf)
    low, high = arrays.get(f"{name}low", -none), arrays.get(f"{name}high", none)
    return Familiar(arrays[f"{name}seen"], limit, low, high)


def _records(table: pd.DataFrame) -> list[dict[str, object]]:
    """Return the rows for JSON, which knows no NaN."""
    return [
        {str(key): None if pd.isna(value) else value for key, value in row.items()}
        for row in table.to_dict("records")
    ]


def _trial(row: JsonObject) -> LabellerTrial:
    return LabellerTrial(
        row["labeller"],
        row["phases"],
        row["window"],
        np.nan if row["bits"] is None else row["bits"],
        np.nan if row["changes_per_1000"] is None else row["changes_per_1000"],
        row["stability"],
        row.get("hidden"),
        row.get("chosen") == "yes",
        row.get("chosen") == "as good",
    )
