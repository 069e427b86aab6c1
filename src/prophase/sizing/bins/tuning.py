"""Stratified splits by run or by scenario, and Bayesian search of settings on them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.sizing.bins.binning import Binning
from prophase.sizing.bins.classifiers import Classifier, Runs, Sampling, resample
from prophase.sizing.bins.scores import PENALTY, Score, score
from prophase.sizing.sizer import library
from prophase.trace.describe.column_arrays import Floats, Ints

#: share of the runs that models are judged on
TEST_SHARE = 0.2
#: folds inside the rest, on which settings are chosen
FOLDS = 3


class TrainTestSplit(NamedTuple):
    """Rows learned from and rows judged on."""

    train: Ints
    test: Ints


def split_runs(classes: Ints, *, random_state: int) -> TrainTestSplit:
    """Return the thesis' split: at random, with the same share of every bin on both sides."""
    count = round(1 / TEST_SHARE)
    return folds(classes, count=count, random_state=random_state)[0]


def folds(
    classes: Ints, groups: Ints | None = None, *, count: int = FOLDS, random_state: int
) -> list[TrainTestSplit]:
    """Return folds with every bin spread over them; with groups, none is on both sides.

    Groups are dealt one by one, those with the rarest bins first, each to the fold that has the
    least of what it brings.

    Examples
    --------
    >>> classes = np.array([0, 0, 0, 0, 1, 1])
    >>> parts = folds(classes, count=2, random_state=0)
    >>> [np.bincount(classes[part.test]).tolist() for part in parts]
    [[2, 1], [2, 1]]
    """
    owner = np.arange(len(classes)) if groups is None else np.unique(groups, return_inverse=True)[1]
    size = int(classes.max()) + 1
    brings = np.zeros((int(owner.max()) + 1, size))
    np.add.at(brings, (owner, classes), 1.0)
    # a run of a rare bin weighs more: each bin as a whole weighs the same
    brings /= np.maximum(brings.sum(axis=0), 1.0)
    shuffled = np.random.default_rng(random_state).permutation(len(brings))
    order = shuffled[np.argsort(-brings.max(axis=1)[shuffled], kind="stable")]
    held = np.zeros((count, size))
    fold_of = np.empty(len(brings), dtype=np.int64)
    for one in order:
        chosen = int(np.argmin((held * brings[one]).sum(axis=1) + 1e-9 * held.sum(axis=1)))
        fold_of[one] = chosen
        held[chosen] += brings[one]
    of_row = fold_of[owner]
    return [
        TrainTestSplit(np.flatnonzero(of_row != k), np.flatnonzero(of_row == k))
        for k in range(count)
    ]


def refuse_unsplittable(classes: Ints, binning: Binning, *, fewest: int = 0) -> None:
    """Say why runs cannot be split: a single class, or a bin with too few of them.

    Parameters
    ----------
    fewest : int, default=0
        Runs that every bin has to have.

    Examples
    --------
    >>> refuse_unsplittable(np.zeros(9, dtype=int), Binning((10.0, 60.0)))
    Traceback (most recent call last):
        ...
    prophase.errors.InputError: all 9 runs are in the bin up to 10 GiB, so there is nothing to
    tell apart. Ask for 10 GiB always, or choose other bins.
    """
    counts = np.bincount(classes, minlength=len(binning))
    if len(classes) and counts.max() == len(classes):
        edge = binning.edges_gib[int(counts.argmax())]
        raise InputError(
            f"all {counted(len(classes), 'run is', 'runs are')} in the bin up to {edge:g} GiB, so "
            f"there is nothing to tell apart. Ask for {edge:g} GiB always, or choose other bins."
        )
    short = [
        f"{edge:g} GiB ({count})"
        for edge, count in zip(binning.edges_gib, counts, strict=True)
        if count < fewest
    ]
    if short:
        raise InputError(
            f"too few runs to learn from in the bins up to {', '.join(short)}: training, "
            f"validation and test need {fewest} together. Choose fewer bins, or other edges."
        )


def scenarios_of(jobs: pd.DataFrame) -> Ints:
    """Return the scenario of each run as a number: its group, else its parent; alone without."""
    for column in ("group", "parent_id"):
        if column in jobs and jobs[column].nunique() > 1:
            codes = pd.factorize(jobs[column])[0].astype(np.int64)
            alone = codes.max() + 1 + np.arange(len(codes))
            return np.where(codes < 0, alone, codes).astype(np.int64)
    return np.arange(len(jobs), dtype=np.int64)


#: trials drawn at random before the search learns from earlier ones
_AT_RANDOM = 6


@dataclass(frozen=True)
class Tuned:
    """The best settings of a search, and all that were tried."""

    settings: dict[str, float]
    u_score: float
    #: one row per trial: ``trial``, the settings, ``u_score``, ``accuracy_pct``, ``u_rate_pct``,
    #: ``seconds``
    history: pd.DataFrame


def tune(
    kind: type[Classifier],
    seen: Floats,
    runs: Runs,
    parts: list[TrainTestSplit],
    *,
    sampling: Sampling = "none",
    trials: int = 20,
    penalty: float = PENALTY,
    random_state: int = 0,
) -> Tuned:
    """Return the settings with the least u_score over all validation folds together.

    Parameters
    ----------
    runs : Runs
        Peaks of the rows and the bins they are classified into.
    parts : list of Split
        Folds of the rows; over-sampling happens inside each, never on what it is judged on.
    trials : int, default=20
        Settings tried. Equal scores go to the higher accuracy, then to the earlier trial.
    random_state : int, default=0
        The same seed tries the same settings and finds the same best.
    """
    if trials < 1:
        raise ParameterError(f"trials is {trials}; at least one has to be tried.")
    optuna = library("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(
            seed=random_state, n_startup_trials=min(_AT_RANDOM, trials)
        )
    )
    rows: list[JsonObject] = []
    space = kind.searched(sampling)
    for number in range(trials):
        trial = study.ask()
        settings = {name: _suggested(trial, name, *limits) for name, limits in space.items()}
        begun = time.perf_counter()
        found = validated(
            kind, settings, seen, runs, parts,
            sampling=sampling, penalty=penalty, random_state=random_state,
        )  # fmt: skip
        study.tell(trial, found.u_score)
        rows.append(
            {
                "trial": number,
                **settings,
                "u_score": found.u_score,
                "accuracy_pct": found.accuracy_pct,
                "u_rate_pct": found.u_rate_pct,
                "seconds": time.perf_counter() - begun,
            }
        )
    history = pd.DataFrame(rows)
    order = np.lexsort((history["trial"], -history["accuracy_pct"], history["u_score"]))
    best = rows[int(order[0])]
    return Tuned({name: best[name] for name in space}, best["u_score"], history)


def validated(
    kind: type[Classifier],
    settings: dict[str, float],
    seen: Floats,
    runs: Runs,
    parts: list[TrainTestSplit],
    *,
    sampling: Sampling,
    penalty: float = PENALTY,
    random_state: int = 0,
) -> Score:
    """Return the score of settings over all folds together."""
    peak, binning = runs
    classes, bins = binning.classes(peak), len(binning)
    total = np.zeros((bins, bins), dtype=np.int64)
    for train, test in parts:
        runs = Runs(peak[train], binning)
        made = trained(kind, settings, seen[train], runs, sampling, random_state)
        total += score(classes[test], made.predict(seen[test]), bins=bins).confusion
    return Score(total, penalty)


def trained(
    kind: type[Classifier],
    settings: dict[str, float],
    seen: Floats,
    runs: Runs,
    sampling: Sampling,
    random_state: int,
) -> Classifier:
    """Return a classifier that has learned from over-sampled rows."""
    classes = runs.binning.classes(runs.peak_gib)
    made = kind(settings, random_state=random_state)
    if sampling == "none":
        return made.fit(seen, classes, runs)
    return made.fit(*resample(seen, classes, sampling, random_state=random_state))


def _suggested(
    trial: Any, name: str, low: float, high: float, logarithmic: bool, whole: bool
) -> float:
    if whole:
        return float(trial.suggest_int(name, int(low), int(high)))
    return float(trial.suggest_float(name, low, high, log=logarithmic))
