"""Bayesian search of a classifier's settings, on u_score, with every trial kept."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import ParameterError
from prophase.sizing.assess.libraries import library
from prophase.sizing.thesis.classifiers import Classifier, Runs
from prophase.sizing.thesis.sampling import Sampling, resample
from prophase.sizing.thesis.scores import PENALTY, Score, score
from prophase.sizing.thesis.splits import Split
from prophase.trace.describe.part import Floats

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
    parts: list[Split],
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
        Peaks of the rows and the bins they are to be told into.
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
    rows: list[dict[str, Any]] = []
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
    parts: list[Split],
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
        learnt = Runs(peak[train], binning)
        made = trained(kind, settings, seen[train], learnt, sampling, random_state)
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
    """Return a classifier that has learnt from over-sampled rows."""
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
