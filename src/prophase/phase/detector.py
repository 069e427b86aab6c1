"""PhaseDetector: learn the phases of usage series, and label further ones."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Literal, Self

import numpy as np
import pandas as pd

from prophase import units
from prophase.array_types import Bools
from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.json_types import JsonObject
from prophase.phase.fitted_phases import FittedPhases, load_detector, save_detector
from prophase.phase.labellers.boltzmann import HIDDEN
from prophase.phase.labellers.labeller import NO_PHASE
from prophase.phase.model_selection import Progress, check_choice, choose
from prophase.phase.next_phase import NextPhase, learn_next, score_forecasts
from prophase.phase.novelty import remember
from prophase.phase.phase_stream import PhaseStream
from prophase.phase.prototypes import prototypes_of
from prophase.phase.stays import phase_statistics, stay_lengths, stays_of, transition_table
from prophase.phase.time_scales import (
    LEAST_SAMPLES,
    MULTIPLES,
    TimeScale,
    human,
    scale_of,
    steady,
)
from prophase.trace.series.usage_series import Floats, Ints, Series, SeriesSet, series_of


@dataclass(eq=False, repr=False)
class PhaseDetector(FittedPhases):
    """Find the phases of containers, pods, VMs or jobs in what they use.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> cores = np.repeat([1.0, 4.0] * 5, 30) + rng.normal(0, 0.1, 300)
    >>> usage = pd.DataFrame({"series_id": "a", "time_s": np.arange(300.0), "cpu_cores": cores})
    >>> detector = PhaseDetector(window=1).fit(usage)
    >>> detector.n_phases_, detector.label(usage)["phase"].tolist()[28:33]
    (2, [0, 0, 1, 1, 1])
    """

    #: ``hmm``: hidden Markov model whose states have a level and a movement; ``crbm``: AI4DL's
    #: way; ``samples``, ``windows``: k-means on single samples, or on statistics of recent ones;
    #: ``change-points``
    labeller: str = "hmm"
    _: KW_ONLY
    #: number of phases; chosen by what explains the series best if not given
    n_phases: int | None = None
    #: samples that are looked back at; likewise
    window: int | None = None
    #: hidden features, for ``crbm``
    hidden: int = HIDDEN
    #: columns to use; all that vary if not given
    metrics: Sequence[str] | None = None
    #: bring samples to this step; see `series_of`. ``"auto"``: a common one if theirs vary, and a
    #: longer one if phases of single samples would only flicker. None: samples as they are
    step_s: float | Literal["auto"] | None = "auto"
    #: no phase is told for less than this; without a step, half of it is the step
    min_stay_s: float | None = None
    #: a pause longer than this starts a new history; five usual steps if not given
    gap_s: float | None = None
    #: the same seed and series give the same model, byte by byte
    random_state: int = 0

    def fit(self, usage: pd.DataFrame, *, progress: Progress = lambda step, percent: None) -> Self:
        """Learn phases from a usage table: ``series_id``, ``time_s`` and metrics."""
        check_choice(self.labeller, self.n_phases, self.window)
        if self.step_s == "auto" and self.min_stay_s is None:
            found = series_of(usage, self.metrics, gap_s=self.gap_s)
            self._fit_at(usage, found.common_step_s, progress)
            if found.common_step_s is not None:
                self.notes_ += (
                    f"Samples come at irregular steps and were brought to "
                    f"{units.duration(found.common_step_s)}. --step sets another.",
                )
            self._take_human_scale(usage, progress)
        else:
            self._fit_at(usage, self._asked_step(usage), progress)
        return self

    def _fit_at(self, usage: pd.DataFrame, step_s: float | None, progress: Progress) -> None:
        """Learn phases at one step; None takes samples as they are."""
        found = series_of(usage, self.metrics, step_s=step_s, gap_s=self.gap_s)
        found = _without_constants(found)
        values = np.concatenate([one.values for one in found.series])
        self.metrics_, self.step_s_, self.usual_step_s_ = found.metrics, step_s, found.step_s
        self.hold_ = 1
        if self.min_stay_s is not None:
            self.hold_ = max(1, math.ceil(self.min_stay_s / found.step_s - 1e-9))
        self.mean_, self.scale_ = values.mean(axis=0), values.std(axis=0)
        self.gap_s_ = found.gap_s
        stretches, series = _scaled(found, self.mean_, self.scale_)
        self.labeller_, self.trials_ = choose(
            stretches,
            self.labeller,
            n_phases=self.n_phases,
            window=self.window,
            hidden=self.hidden,
            series=series,
            random_state=self.random_state,
            progress=progress,
        )
        self.splits_ = ()
        self.n_phases_ = self.labeller_.n_phases
        scaled = [(one.values - self.mean_) / self.scale_ for one in found.series]
        self.familiar_ = remember(scaled, random_state=self.random_state)
        self.notes_ = found.notes
        self.data_hash_ = hashlib.sha256(values.tobytes()).hexdigest()
        self._describe(found)

    def _asked_step(self, usage: pd.DataFrame) -> float | None:
        if isinstance(self.step_s, float | int):
            return float(self.step_s)
        if self.min_stay_s is None:
            return None
        if not 0 < self.min_stay_s < np.inf:
            raise ParameterError(f"min_stay_s is {self.min_stay_s}. Pass seconds above 0.")
        own = series_of(usage, self.metrics, gap_s=self.gap_s).step_s
        return self.min_stay_s / 2 if self.min_stay_s > 3 * own else None

    def scales(
        self, usage: pd.DataFrame, *, progress: Progress = lambda step, percent: None
    ) -> list[TimeScale]:
        """Return what phases there are at several time scales, the finest first."""
        self._fit_at(usage, None, progress)
        return [self._own_scale(), *self._coarser(usage, progress)]

    def _own_scale(self) -> TimeScale:
        return scale_of(self.labels_, self.usual_step_s_, self.n_phases_)

    def _coarser(self, usage: pd.DataFrame, progress: Progress) -> list[TimeScale]:
        """Return the scales above that of single samples."""
        own, samples = self.usual_step_s_, sum(map(len, self.labels_))
        found = []
        for times in MULTIPLES[1:]:
            if samples / times < LEAST_SAMPLES:
                break
            other = replace(self, step_s=times * own)
            progress(f"steps of {times * own:g} s", None)
            try:
                other.fit(usage)
            except InputError:
                break
            found.append(other._own_scale())
        return found

    def _take_human_scale(self, usage: pd.DataFrame, progress: Progress) -> None:
        """Take a longer step if phases of single samples only flicker."""
        own = self._own_scale()
        if self.labeller != "hmm" or self.window is not None or not own.flickers:
            return
        scales = [own, *self._coarser(usage, progress)]
        taken = human(scales)
        if taken is own:
            return
        self._fit_at(usage, taken.step_s, progress)
        self.notes_ += (
            f"Sample by sample there are {own.phases} phases that last "
            f"{units.duration(own.mean_stay_s)} on average; these are of steps of "
            f"{units.duration(taken.step_s)}. --step {own.step_s:g}s gives the shorter ones.",
        )

    def series_in(self, usage: pd.DataFrame) -> SeriesSet:
        """Return the series of a table as this model reads them, mended."""
        self._require_fit()
        lacking = [name for name in self.metrics_ if name not in usage]
        if lacking:
            raise MissingColumnError(
                f"these phases were learned with {', '.join(lacking)}, which the usage table "
                f"lacks; it has {', '.join(map(str, usage))}. Give series of the same source, "
                "or learn phases again."
            )
        return series_of(
            usage, self.metrics_, step_s=self.step_s_, gap_s=self.gap_s_, min_samples=1
        )

    def label(self, usage: pd.DataFrame) -> pd.DataFrame:
        """Return a row per sample: ``series_id``, ``time_s``, ``phase``, ``new``.

        ``phase`` is -1 while a history is too short. A phase depends on no later sample.
        """
        found = self.series_in(usage)
        parts = [
            pd.DataFrame(
                {
                    "series_id": one.series_id,
                    "time_s": one.time_s,
                    "phase": self.labels(one),
                    "new": self.is_new(one),
                }
            )
            for one in found.series
        ]
        return pd.concat(parts, ignore_index=True)

    def labels(self, series: Series) -> Ints:
        """Return the phase of each sample of one series; `NO_PHASE` before the history is full."""
        found = np.full(len(series), NO_PHASE, dtype=np.int64)
        scaled = (series.values - self.mean_) / self.scale_
        for part in series.stretches():
            held = self.renumbered(self.labeller_.label(scaled[part]), scaled[part])
            found[part] = steady(held, self.hold_)
        return found

    def is_new(self, series: Series) -> Bools:
        """Say of each sample whether it is unlike anything the model has seen."""
        return self.familiar_.is_new((series.values - self.mean_) / self.scale_)

    def stream(self) -> PhaseStream:
        """Return what labels one series sample by sample, with the labels of the batch.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> cores = np.repeat([1.0, 4.0] * 5, 30) + rng.normal(0, 0.1, 300)
        >>> usage = pd.DataFrame({"series_id": "a", "time_s": np.arange(300.0), "cpu": cores})
        >>> live = PhaseDetector(n_phases=2, window=1).fit(usage).stream()
        >>> [live.push(t, {"cpu": 1.0 if t < 5 else 4.0}).phase for t in range(8)]
        [-1, 0, 0, 0, 0, 1, 1, 1]
        """
        self._require_fit()
        return PhaseStream(self)

    def save(self, path: Path | str) -> str:
        """Write the model to one file, which `load` reads, and return its checksum."""
        self._require_fit()
        return save_detector(self, path)

    @staticmethod
    def load(path: Path | str) -> PhaseDetector:
        """Return the model in a file; refuse one that is damaged or of another kind."""
        return load_detector(path, PhaseDetector)

    def extend_description(self, found: SeriesSet) -> None:
        """Learn how further series move between phases, beside what is known."""
        labels = [self.labels(one) for one in found.series]
        before = np.zeros((self.n_phases_, self.n_phases_))
        old = len(self.transitions_)
        before[:old, :old] = self.transitions_
        self.transitions_ = before + transition_table(stays_of(labels), self.n_phases_)
        pairs = np.concatenate([self.next_.pairs, learn_next(labels, self.n_phases_).pairs])
        self.next_ = NextPhase(pairs, self.n_phases_)
        fresh = phase_statistics(found, labels, self.n_phases_)
        fresh = fresh[fresh["phase"] >= old]
        self.statistics_ = pd.concat([self.statistics_, fresh], ignore_index=True)
        totals = self.statistics_.groupby("metric")["samples"].transform("sum")
        self.statistics_["share_pct"] = 100 * self.statistics_["samples"] / totals
        longer = stay_lengths(stays_of(labels), self.n_phases_, found)
        self.lengths_ = pd.concat(
            [self.lengths_, longer[longer["phase"] >= old]], ignore_index=True
        )

    def _describe(self, found: SeriesSet) -> None:
        """Learn what phases are like and how they follow each other, from these series."""
        labels = [self.labels(one) for one in found.series]
        stays = stays_of(labels)
        self.labels_ = labels
        self.statistics_ = phase_statistics(found, labels, self.n_phases_)
        self.lengths_ = stay_lengths(stays, self.n_phases_, found)
        self.transitions_ = transition_table(stays, self.n_phases_)
        self.next_ = learn_next(labels, self.n_phases_)
        self.prototypes_ = prototypes_of(labels)
        self.prototypes_said_ = self.prototypes_.sentence()
        self.prototype_rows_ = self.prototypes_.rows([one.series_id for one in found.series])

    def _require_fit(self) -> None:
        if not hasattr(self, "labeller_"):
            raise ParameterError("this PhaseDetector is not fitted yet. Call fit first.")


def scaled_stretches(
    usage: pd.DataFrame, metrics: Sequence[str] | None = None, *, step_s: float | None = None
) -> tuple[list[Floats], list[int]]:
    """Return the uninterrupted parts of series in standard scores, and whose they are.

    What `model_selection.sweep` takes.
    """
    found = _without_constants(series_of(usage, metrics, step_s=step_s))
    values = np.concatenate([one.values for one in found.series])
    return _scaled(found, values.mean(axis=0), values.std(axis=0))


def _scaled(found: SeriesSet, mean: Floats, scale: Floats) -> tuple[list[Floats], list[int]]:
    stretches = [(part - mean) / scale for part in found.stretches()]
    return stretches, [n for n, one in enumerate(found.series) for _ in one.stretches()]


def _without_constants(found: SeriesSet) -> SeriesSet:
    """Leave out metrics that never change in the series that are kept."""
    values = np.concatenate([one.values for one in found.series])
    varies = values.std(axis=0) > 1e-12 * np.maximum(np.abs(values).max(axis=0), 1e-300)
    if varies.all():
        return found
    constant = [name for name, yes in zip(found.metrics, varies, strict=True) if not yes]
    if not varies.any():
        raise InputError(
            f"{', '.join(constant)} never change in these series, so there are no phases to "
            "find. Take more samples, or other metrics."
        )
    series = tuple(
        Series(one.series_id, one.time_s, one.values[:, varies], one.begins, one.rows)
        for one in found.series
    )
    kept = tuple(name for name, yes in zip(found.metrics, varies, strict=True) if yes)
    note = f"{', '.join(constant)} never change and were left out."
    return replace(found, series=series, metrics=kept, notes=(*found.notes, note))


def phases_as_json(detector: PhaseDetector) -> dict[str, object]:
    """Return everything about the phases, for JSON."""
    return {
        "labeller": detector.labeller,
        "phases": detector.n_phases_,
        "window": detector.labeller_.history,
        "metrics": list(detector.metrics_),
        "step_s": detector.step_s_,
        "usual_step_s": detector.usual_step_s_,
        "gap_s": detector.gap_s_,
        "statistics": detector.statistics_.to_dict("records"),
        "lengths": detector.lengths_.to_dict("records"),
        "transitions": detector.transitions_.tolist(),
        "prototypes": detector.prototypes_said_,
        "executions": detector.prototype_rows_,
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
        shares = part["phase"].value_counts(normalize=True).head(4).to_dict()
        rows.append(
            {
                "series_id": str(name),
                "samples": len(part),
                "span_s": float(part["time_s"].max() - part["time_s"].min()),
                "changes": int((phase[1:] != phase[:-1]).sum()),
                "phase_now": int(phase[-1]),
                "new_pct": 100 * float(part["new"].mean()),
                "phases": ", ".join(
                    f"{number if number != NO_PHASE else 'none'}: {100 * share:.0f} %"
                    for number, share in shares.items()
                ),
            }
        )
    return rows
