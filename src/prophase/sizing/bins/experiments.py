"""18 models per heavy task: three binnings x two classifiers x three kinds of sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.json_types import JsonObject
from prophase.sizing.bins.bin_predictor import BinPredictor, known_runs
from prophase.sizing.bins.binning import Binning, improvement
from prophase.sizing.bins.classifier_catalogue import PUBLISHED
from prophase.sizing.bins.classifiers import SAMPLINGS, Sampling
from prophase.sizing.bins.scores import (
    PENALTY,
    Score,
    estimated_improvement,
    realised_improvement,
    score,
)
from prophase.sizing.bins.tuning import (
    FOLDS,
    TrainTestSplit,
    folds,
    refuse_unsplittable,
    scenarios_of,
    split_runs,
)
from prophase.trace.describe.column_arrays import Ints, numbers

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Experiment:
    """One model: what it was, how it was tuned, and how it did on runs it had not seen."""

    task: str
    binning: Binning
    classifier: str
    sampling: Sampling
    #: "runs" as in the thesis, or "unseen scenarios"
    split: str
    score: Score
    #: improvement if every bin were known, by runs and by time, of all runs
    optimal_pct: float
    time_optimal_pct: float
    #: time-based improvement with kills and retries, of the judged runs
    realised_pct: float
    predictor: BinPredictor

    @property
    def estimated_pct(self) -> float:
        """Time-based estimate, as in Table 11."""
        return estimated_improvement(
            self.time_optimal_pct, self.score.accuracy_pct, self.score.u_rate_pct
        )

    def row(self) -> JsonObject:
        """Return parameters and measures in one row, to compare models by."""
        return {
            "task": self.task,
            "binning": str(self.binning),
            "classifier": self.classifier,
            "sampling": self.sampling,
            "split": self.split,
            "accuracy_pct": self.score.accuracy_pct,
            "u_score": self.score.u_score,
            "u_rate_pct": self.score.u_rate_pct,
            "optimal_pct": self.optimal_pct,
            "time_optimal_pct": self.time_optimal_pct,
            "estimated_pct": self.estimated_pct,
            "realised_pct": self.realised_pct,
            "validation_u_score": self.predictor.tuned_.u_score,
            "settings": self.predictor.tuned_.settings,
        }


def run_experiments(
    jobs: pd.DataFrame,
    binnings: Sequence[Sequence[float]],
    *,
    classifiers: Sequence[str] = PUBLISHED,
    samplings: Sequence[Sampling] = SAMPLINGS,
    columns: Sequence[str] | None = None,
    penalty: float = PENALTY,
    trials: int = 20,
    random_state: int = 0,
    progress: Progress = lambda step: None,
) -> list[Experiment]:
    """Train and judge every combination on the thesis' split: stratified, by runs at random.

    Parameters
    ----------
    jobs : DataFrame
        Runs of one task.
    binnings : sequence of sequences of float
        Upper edges of bins in GiB.
    columns : sequence of str, optional
        What describes a run; by default the columns that are known at submission.
    penalty : float, default=10
        What an under-estimate weighs against an over-estimate; 1 is plain accuracy.

    Returns
    -------
    list of Experiment
        In the order of binnings, classifiers and samplings.
    """
    runs, peak = known_runs(jobs)
    found = []
    for edges in binnings:
        binning = Binning(tuple(map(float, edges)))
        classes = binning.classes(peak)
        refuse_unsplittable(classes, binning, fewest=FOLDS + 2)
        split = split_runs(classes, random_state=random_state)
        for classifier in classifiers:
            for sampling in samplings:
                progress(f"{binning}, {classifier}, {sampling}")
                model = BinPredictor(
                    binning.edges_gib, classifier=classifier, sampling=sampling, trials=trials,
                    penalty=penalty, random_state=random_state,
                )  # fmt: skip
                found.append(_judged(model, runs, [split], "runs", columns))
    return found


def on_unseen_scenarios(
    jobs: pd.DataFrame,
    edges: Sequence[float],
    *,
    classifier: str = "cautious",
    sampling: Sampling = "none",
    tuned_on_unseen: bool = True,
    trials: int = 20,
    random_state: int = 0,
    progress: Progress = lambda step: None,
) -> Experiment:
    """Judge a model on scenarios it has not seen: five folds, so that every run is judged once.

    Parameters
    ----------
    tuned_on_unseen : bool, default=True
        Choose the settings on unseen scenarios, too; the thesis did not.
    """
    runs, peak = known_runs(jobs)
    binning = Binning(tuple(map(float, edges)))
    classes = binning.classes(peak)
    refuse_unsplittable(classes, binning)
    parts = folds(classes, scenarios_of(runs), count=5, random_state=random_state)
    progress(f"{binning}, {classifier}, unseen scenarios")
    model = BinPredictor(
        binning.edges_gib, classifier=classifier, sampling=sampling,
        unseen_scenarios=tuned_on_unseen, trials=trials, random_state=random_state,
    )  # fmt: skip
    return _judged(model, runs, parts, "unseen scenarios")


def _judged(
    model: BinPredictor,
    runs: pd.DataFrame,
    parts: Sequence[TrainTestSplit],
    split: str,
    columns: Sequence[str] | None = None,
) -> Experiment:
    """Fit on each training side, judge on the other; the last model fitted is kept."""
    binning = Binning(tuple(map(float, model.edges_gib)))
    peak, time_s = numbers(runs, "memory_peak_gib"), _times(runs)
    classes = binning.classes(peak)
    judged: list[Ints] = []
    said: list[Ints] = []
    for train, test in parts:
        model.fit(runs.iloc[train], columns=columns)
        judged.append(test)
        said.append(model.classes(runs.iloc[test]))
    rows, predicted = np.concatenate(judged), np.concatenate(said)
    return Experiment(
        task=model.task_,
        binning=binning,
        classifier=model.classifier,
        sampling=model.sampling,
        split=split,
        score=score(classes[rows], predicted, bins=len(binning), penalty=model.penalty),
        optimal_pct=improvement(binning, peak),
        time_optimal_pct=improvement(binning, peak, weight=time_s),
        realised_pct=realised_improvement(binning, peak[rows], predicted, weight=time_s[rows]),
        predictor=model,
    )


def _times(runs: pd.DataFrame) -> np.ndarray:
    """Return run times; where none is known, all count alike, and zero counts as nothing."""
    time_s = numbers(runs, "duration_s")
    return np.ones(len(runs)) if not (time_s > 0).any() else np.nan_to_num(np.maximum(time_s, 0.0))


def best_of(found: Sequence[Experiment], **wanted: object) -> Experiment | None:
    """Return the experiment with the least u_score among those with these properties, if any."""
    among = [one for one in found if all(getattr(one, k) == v for k, v in wanted.items())]
    return min(among, key=lambda one: (one.score.u_score, -one.score.accuracy_pct), default=None)
