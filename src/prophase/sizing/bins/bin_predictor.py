"""BinPredictor: preprocessing, tuned classifier and bins of one task in one file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from prophase.errors import InputError, ModelFileError, ParameterError
from prophase.modelfile import Parts, load_model, save_model
from prophase.plural import counted
from prophase.sizing.assess.utilisation import refuse_negative
from prophase.sizing.bins.binning import Binning
from prophase.sizing.bins.classifier_catalogue import classifier_named
from prophase.sizing.bins.classifiers import Classifier, Runs, Sampling
from prophase.sizing.bins.preprocessing import Preprocessing
from prophase.sizing.bins.scores import PENALTY
from prophase.sizing.bins.tuning import (
    Tuned,
    folds,
    refuse_unsplittable,
    scenarios_of,
    trained,
    tune,
)
from prophase.trace.describe.column_arrays import Floats, Ints, numbers

KIND = "sizing.thesis-bins"


@dataclass(eq=False, repr=False)
class BinPredictor:
    """Predict into which bin of memory each run of a task will fall.

    Attributes
    ----------
    preprocessing_ : Preprocessing
        From submit-time columns to features; the same in :meth:`fit` and :meth:`predict`.
    tuned_ : Tuned
        Best settings and the history of the search.
    task_ : str
        The task it was fitted with; runs of another are refused.

    Examples
    --------
    >>> rows = np.arange(1.0, 121.0)
    >>> jobs = pd.DataFrame({"attr_rows": rows, "memory_peak_gib": rows / 2})
    >>> sizer = BinPredictor((20.0, 60.0), trials=3).fit(jobs)
    >>> sizer.predict(pd.DataFrame({"attr_rows": [3.0, 118.0]})).tolist()
    [[20.0, 60.0], [60.0, 120.0]]
    """

    #: upper edges of the bins, rising. The last one is what a run asks for at most
    edges_gib: Sequence[float]
    _: KW_ONLY
    #: the thesis' two, or ours: a line with a tuned margin, which can name bins that no run was in
    #: yet
    classifier: str = "svm"
    #: how rare bins are over-sampled. Without it, ``svm`` is weighted
    sampling: Sampling = "none"
    #: choose settings on scenarios that were not trained on, as new ones will be. The thesis chose
    #: them on runs at random, which share scenarios with the training runs
    unseen_scenarios: bool = False
    #: settings tried by the Bayesian search
    trials: int = 20
    #: what an under-estimate weighs against an over-estimate
    penalty: float = PENALTY
    #: seed of folds, over-sampling and search
    random_state: int = 0

    def fit(self, jobs: pd.DataFrame, *, columns: Sequence[str] | None = None) -> Self:
        """Learn from past runs of one task with known peaks.

        Parameters
        ----------
        columns : sequence of str, optional
            What describes a run; by default the columns that are known at submission.
        """
        kind = classifier_named(self.classifier)
        runs, peak = known_runs(jobs)
        self.binning_ = Binning(tuple(map(float, self.edges_gib)))
        refuse_above(peak, self.binning_)
        classes = self.binning_.classes(peak)
        refuse_unsplittable(classes, self.binning_)
        self.task_ = _task_of(runs)
        self.preprocessing_ = Preprocessing().fit(runs, peak, columns=columns)
        seen = self.preprocessing_.transform(runs)
        groups = scenarios_of(runs) if self.unseen_scenarios else None
        binned = Runs(peak, self.binning_)
        self.tuned_: Tuned = tune(
            kind, seen, binned, folds(classes, groups, random_state=self.random_state),
            sampling=self.sampling, trials=self.trials, penalty=self.penalty,
            random_state=self.random_state,
        )  # fmt: skip
        self.classifier_: Classifier = trained(
            kind, self.tuned_.settings, seen, binned, self.sampling, self.random_state
        )
        self.data_hash_ = hashlib.sha256(seen.tobytes() + classes.tobytes()).hexdigest()
        return self

    def classes(self, jobs: pd.DataFrame | Mapping[str, Sequence[Any]]) -> Ints:
        """Return the predicted bin of each run, 0 the lowest."""
        self._require_fit()
        if isinstance(jobs, pd.DataFrame):
            self._refuse_other_task(jobs)
        return self.classifier_.predict(self.preprocessing_.transform(jobs))

    def predict(
        self, jobs: pd.DataFrame | Mapping[str, Sequence[Any]], *, attempts: int | None = None
    ) -> Floats:
        """Return the requests of each run in GiB, (runs, attempts).

        After a kill the next bin is asked for; above the last bin, twice as much (Fig. 17).
        """
        first = self.classes(jobs)
        tries = len(self.binning_) if attempts is None else attempts
        ladder = np.empty((len(first), tries))
        top = len(self.binning_) - 1
        for attempt in range(tries):
            beyond = np.maximum(first + attempt - top, 0)
            ladder[:, attempt] = (
                self.binning_.requests(np.minimum(first + attempt, top)) * 2.0**beyond
            )
        return ladder

    def save(self, path: Path | str) -> str:
        """Write preprocessing, classifier, bins and the history of the search to one file."""
        held = self.parts()
        return save_model(
            path,
            kind=KIND,
            meta=held.meta,
            arrays=held.arrays,
            blobs=held.blobs,
            columns=self.preprocessing_.columns,
            data_hash=self.data_hash_,
            seed=self.random_state,
        )

    def parts(self) -> Parts:
        """Return all that was learned, for a model file."""
        self._require_fit()
        parts = self.classifier_.parts()
        history = self.tuned_.history.drop(columns="seconds")
        meta = {
            "classifier": self.classifier,
            "classifier_parts": dict(parts.meta),
            "edges_gib": list(self.binning_.edges_gib),
            "sampling": self.sampling,
            "unseen_scenarios": self.unseen_scenarios,
            "trials": self.trials,
            "penalty": self.penalty,
            "task": self.task_,
            "preprocessing": self.preprocessing_.to_dict(),
            "settings": self.tuned_.settings,
            "u_score": self.tuned_.u_score,
            "history": {str(name): history[name].tolist() for name in history},
        }
        return Parts(meta, parts.arrays, parts.blobs)

    @classmethod
    def load(cls, path: Path | str) -> BinPredictor:
        """Return the predictor of a file; it answers as before."""
        model = load_model(path, kind=KIND)
        held = Parts(model.meta, model.arrays, model.blobs)
        return cls.of_parts(held, model.data_hash, model.seed or 0, str(path))

    @classmethod
    def of_parts(cls, parts: Parts, data_hash: str, seed: int, path: str) -> BinPredictor:
        """Return the predictor that :meth:`parts` described."""
        meta = parts.meta
        try:
            self = cls(
                tuple(meta["edges_gib"]),
                classifier=meta["classifier"],
                sampling=meta["sampling"],
                unseen_scenarios=meta["unseen_scenarios"],
                trials=meta["trials"],
                penalty=meta["penalty"],
                random_state=seed,
            )
            self.binning_ = Binning(tuple(meta["edges_gib"]))
            self.task_ = meta["task"]
            self.preprocessing_ = Preprocessing.from_dict(meta["preprocessing"])
            self.tuned_ = Tuned(
                dict(meta["settings"]), meta["u_score"], pd.DataFrame(meta["history"])
            )
            self.data_hash_ = data_hash
            kind = classifier_named(meta["classifier"])
            self.classifier_ = kind(
                meta["classifier_parts"]["settings"], random_state=self.random_state
            ).restore(Parts(meta["classifier_parts"], parts.arrays, parts.blobs))
        except (KeyError, TypeError, ValueError) as cause:
            raise ModelFileError(
                f"{path}: lacks a part of the predictor ({cause}). Fit it again."
            ) from cause
        except (ModelFileError, ParameterError) as cause:
            raise ModelFileError(f"{path}: {cause}") from cause
        return self

    def _require_fit(self) -> None:
        if not hasattr(self, "classifier_"):
            raise ParameterError("the predictor is not fitted yet. Call fit(jobs) first.")

    def _refuse_other_task(self, jobs: pd.DataFrame) -> None:
        if not self.task_ or "task" not in jobs:
            return
        other = sorted({str(task) for task in jobs["task"].dropna().unique()} - {self.task_})
        if other:
            raise InputError(
                f"the predictor knows the task {self.task_} only, and not {', '.join(other[:5])}. "
                "Fit one for each task, or keep the request of the others."
            )


def known_runs(jobs: pd.DataFrame) -> tuple[pd.DataFrame, Floats]:
    """Return the runs whose peak is known, and the peaks.

    Runs killed for lack of memory are left out: their need is only known to be higher.
    """
    refuse_negative(jobs)
    peak = numbers(jobs, "memory_peak_gib")
    known = ~np.isnan(peak)
    if "status" in jobs:
        known &= ~jobs["status"].eq("oom").to_numpy(dtype=bool, na_value=False)
    if not known.any():
        raise InputError(
            f"of {counted(len(jobs), 'run')} none has a memory_peak_gib and was not killed for "
            "lack of memory, so there is nothing to learn from."
        )
    return jobs[known], peak[known]


def refuse_above(peak: Floats, binning: Binning) -> None:
    """Say which peaks no bin is large enough for."""
    above = int((peak > binning.top_gib).sum())
    if above:
        raise InputError(
            f"{counted(above, 'peak is', 'peaks are')} above the largest bin of "
            f"{binning.top_gib:g} GiB, up to {peak.max():g}. Raise the last edge."
        )


def _task_of(jobs: pd.DataFrame) -> str:
    tasks = jobs["task"].dropna().unique().tolist() if "task" in jobs else []
    if len(tasks) > 1:
        raise InputError(
            f"the runs are of {len(tasks)} tasks ({', '.join(map(str, tasks[:4]))} ...), whose "
            "memory has nothing in common. Fit one predictor for each."
        )
    return str(tasks[0]) if tasks else ""
