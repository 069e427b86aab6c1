"""Why that profile? Importance over all jobs, TreeSHAP of one, and trees as text.

SHAP values come from XGBoost itself and are in log-odds: a value of 0.7 doubles the odds of
the profile. They are taken per one-hot word and added up per metadata column, so that "not
being user x" counts for the column user as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Array, Bools, Floats
from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonObject
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.classify.metadata_words import Words
from prophase.profile.classify.methods.boosted_trees import OneHotBoosted
from prophase.profile.classify.profile_labels import Label
from prophase.profile.predict.leaf_forest import xgboost

#: floats that SHAP values of one batch may take
_MOST_VALUES = 20_000_000


@dataclass(frozen=True)
class ShapSummary:
    """Mean absolute SHAP value over jobs: per word, and per word and profile."""

    #: column, value and mean_abs_shap summed over profiles; largest first
    words: pd.DataFrame
    #: the same words by row, profiles by column
    per_profile: pd.DataFrame
    #: column -> mean_abs_shap of the whole column, summed over profiles
    columns: pd.DataFrame
    jobs: int


@dataclass(frozen=True)
class JobExplanation:
    """What pushed one job towards a profile, and away from it."""

    profile: Label
    probability: float
    #: log-odds before anything is known of the job
    base: float
    #: column, value, seen and push, the largest push first
    pushes: pd.DataFrame

    def sentences(self) -> list[str]:
        """Return one line per metadata column."""
        lines = []
        for column, value, seen, push in self.pushes.to_numpy().tolist():
            name = f"{column}={value}" if value is not None else f"no {column}"
            new = "" if seen or value is None else " (never seen before)"
            way = "towards" if push >= 0 else "away from"
            lines.append(f"{name}{new} pushes {way} profile {self.profile} by {abs(push):.2f}")
        return lines


def typical_job(jobs: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the job, as a table of one row, that has most of the commonest values.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["a", "b", "b"], "queue": ["x", "x", "y"]})
    >>> typical_job(jobs, ["user", "queue"]).index.tolist()
    [1]
    """
    score = np.zeros(len(jobs))
    for name in columns:
        if name in jobs and jobs[name].notna().any():
            score += (jobs[name] == jobs[name].mode().iloc[0]).to_numpy(bool)
    return jobs.iloc[[int(score.argmax())]]


def importance(classifier: ProfileClassifier, top: int = 20) -> pd.DataFrame:
    """Return the words that the trees split on: how often (weight) and to what gain.

    Parameters
    ----------
    top : int, default=20
        Words shown, by the gain of all their splits together.

    Returns
    -------
    DataFrame
        ``column``, ``value``, ``gain`` (mean per split), ``weight`` (splits) and
        ``total_gain_pct`` (share of the gain of all splits).
    """
    method = explained_method(classifier)
    score = {kind: method.booster.get_score(importance_type=kind) for kind in ("gain", "weight")}
    names = method.encoding.names()
    rows = []
    for feature, gain in score["gain"].items():
        column, value = names[int(feature[1:])]
        weight = score["weight"][feature]
        rows.append({"column": column, "value": value, "gain": gain, "weight": int(weight)})
    table = pd.DataFrame(rows, columns=["column", "value", "gain", "weight"])
    total = table["gain"] * table["weight"]
    table["total_gain_pct"] = 100 * total / max(float(total.sum()), 1e-300)
    ordered = table.sort_values("total_gain_pct", ascending=False, kind="stable")
    return ordered.head(top).reset_index(drop=True)


def shap_summary(
    classifier: ProfileClassifier,
    jobs: pd.DataFrame,
    *,
    top: int = 20,
    rows: int = 500,
    random_state: int = 0,
) -> ShapSummary:
    """Return which words matter most over jobs, by mean absolute SHAP value.

    Parameters
    ----------
    rows : int, default=500
        Jobs that are looked at, drawn at random if there are more.
    """
    method = explained_method(classifier)
    if jobs.empty:
        raise InputError("there is no job to explain. Give the jobs the classifier is used on.")
    if len(jobs) > rows:
        draw = np.random.default_rng(random_state)
        jobs = jobs.iloc[np.sort(draw.choice(len(jobs), rows, replace=False))]
    words = classifier.words(jobs, partial=True)
    names = method.encoding.names()
    per_word = np.zeros((len(names), len(classifier.classes_)))
    per_column = np.zeros(len(classifier.columns_))
    starts = _starts(method)
    for found in _batches(method, words, len(classifier.classes_)):
        per_word += np.abs(found).sum(axis=0).T
        summed = np.add.reduceat(found, starts, axis=2) if len(names) else found
        per_column[_filled(method)] += np.abs(summed).sum(axis=(0, 1))
    per_word /= len(jobs)
    order = np.argsort(-per_word.sum(axis=1), kind="stable")[:top]
    table = pd.DataFrame([names[place] for place in order], columns=["column", "value"])
    table["mean_abs_shap"] = per_word[order].sum(axis=1)
    index = [f"{column}={value}" for column, value in table[["column", "value"]].to_numpy()]
    columns = pd.DataFrame(
        {"column": classifier.columns_, "mean_abs_shap": per_column / len(jobs)}
    ).sort_values("mean_abs_shap", ascending=False, kind="stable")
    return ShapSummary(
        words=table,
        per_profile=pd.DataFrame(per_word[order], index=index, columns=list(classifier.classes_)),
        columns=columns.reset_index(drop=True),
        jobs=len(jobs),
    )


def shap_of_job(
    classifier: ProfileClassifier, job: pd.DataFrame, profile: Label | None = None
) -> JobExplanation:
    """Return what pushed one job towards a profile; the most probable one if none is named.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 30, "workload": ["bert", "gnn"] * 30})
    >>> classifier = ProfileClassifier(unknown_below=0.5).fit(jobs, [8, 3] * 30)
    >>> found = shap_of_job(classifier, jobs[:1])
    >>> found.profile, [row.column for row in found.pushes.itertuples() if row.push > 0.1]
    (8, ['user'])
    """
    method = explained_method(classifier)
    if len(job) != 1:
        raise ParameterError(f"one job is explained at a time; {len(job)} are given.")
    words = classifier.words(job, partial=True)
    probabilities = method.probabilities(words)[0]
    code = int(probabilities.argmax()) if profile is None else profile_code(classifier, profile)
    values = _contributions(method, words, len(classifier.classes_))[0, code]
    pushes = np.zeros(len(classifier.columns_))
    pushes[_filled(method)] = np.add.reduceat(values[:-1], _starts(method))
    seen = method.encoding.codes(words)[0] >= 0
    table = pd.DataFrame(
        {
            "column": classifier.columns_,
            "value": pd.Series(words.values[0].tolist(), dtype=object),
            "seen": seen,
            "push": pushes,
        }
    )
    order = np.argsort(-np.abs(pushes), kind="stable")
    return JobExplanation(
        profile=classifier.classes_[code],
        probability=float(probabilities[code]),
        base=float(values[-1]),
        pushes=table.iloc[order].reset_index(drop=True),
    )


def explained_method(classifier: ProfileClassifier) -> OneHotBoosted:
    """Return the trees behind a classifier, or say why there are none to look at."""
    method = classifier.fitted_method()
    if not isinstance(method, OneHotBoosted):
        raise ParameterError(
            f"explanations are of the xgboost classifier; this one is {classifier.method}."
        )
    if method.booster is None:
        raise ParameterError(
            f"there is one profile only, {classifier.classes_[0]}, so nothing decides between "
            "profiles. Learn from jobs of two or more."
        )
    return method


def profile_code(classifier: ProfileClassifier, profile: Label) -> int:
    """Return the place of a profile among the classes."""
    names = {str(one): code for code, one in enumerate(classifier.classes_)}
    if str(profile) not in names:
        raise ParameterError(f"there is no profile {profile}. There are: {', '.join(names)}.")
    return names[str(profile)]


def _filled(method: OneHotBoosted) -> Bools:
    """Say which columns have any word at all."""
    return np.array([bool(held) for held in method.encoding.places])


def _starts(method: OneHotBoosted) -> Array:
    """Return the first place of each column that has words."""
    sizes = [len(held) for held in method.encoding.places]
    return np.concatenate([[0], np.cumsum(sizes)[:-1]])[_filled(method)].astype(np.intp)


def _batches(method: OneHotBoosted, words: Words, classes: int) -> Iterator[Floats]:
    """Yield SHAP values without the base, (jobs, profiles, dimension), in bounded memory."""
    step = max(1, _MOST_VALUES // (classes * (method.encoding.dimension + 1)))
    for first in range(0, len(words), step):
        part = words.rows(np.arange(first, min(first + step, len(words))))
        yield _contributions(method, part, classes)[:, :, :-1]


def _contributions(method: OneHotBoosted, words: Words, classes: int) -> Floats:
    data = xgboost().DMatrix(method.encoding.encode(words), nthread=1)
    found = method.booster.predict(data, pred_contribs=True, strict_shape=True)
    return np.asarray(found, dtype=np.float64).reshape(len(words), classes, -1)


@dataclass(frozen=True)
class SplitNode:
    """A question of a tree and what follows on yes and on no; a leaf has none of these."""

    #: the question, or what the leaf adds to the log-odds
    words: str
    #: of a leaf, what it adds to the log-odds
    value: float = 0.0
    #: the branches on yes and on no
    branches: tuple[SplitNode, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the tree as text, branches indented."""
        yield self.words
        for word, branch in zip(("yes: ", "no:  "), self.branches, strict=False):
            first, *rest = branch.lines()
            yield f"  {word}{first}"
            yield from (f"  {line}" for line in rest)


def decision_tree(classifier: ProfileClassifier, profile: Label, tree: int = 0) -> SplitNode:
    """Return one tree of a profile; leaves are what it adds to the log-odds.

    Parameters
    ----------
    profile : int or str
        Profile whose trees are looked at; each round of training grows one per profile.
    tree : int, default=0
        Round of training, from 0 on. Later trees correct earlier ones.

    Examples
    --------
    >>> import pandas as pd
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 30})
    >>> classifier = ProfileClassifier(unknown_below=0.5).fit(jobs, [8, 3] * 30)
    >>> print("\\n".join(decision_tree(classifier, 8).lines()))
    user is ann?
      yes: +0.2812
      no:  -0.2812
    """
    method = explained_method(classifier)
    trees = method.booster.get_dump(dump_format="json")
    classes = len(classifier.classes_)
    rounds = len(trees) // classes
    if not 0 <= tree < rounds:
        raise ParameterError(f"tree is {tree}; there are {rounds} per profile, from 0 on.")
    root = json.loads(trees[tree * classes + profile_code(classifier, profile)])
    return _split_node(root, method.encoding.names())


def _split_node(node: JsonObject, names: list[tuple[str, str]]) -> SplitNode:
    if "leaf" in node:
        return SplitNode(f"{node['leaf']:+.4g}", float(node["leaf"]))
    column, value = names[int(str(node["split"]).removeprefix("f"))]
    children = {child["nodeid"]: child for child in node["children"]}
    # a job without the word has no entry in its sparse row: it follows the missing branch
    present = node["yes" if float(node["split_condition"]) > 1.0 else "no"]
    branches = (_split_node(children[one], names) for one in (present, node["missing"]))
    return SplitNode(f"{column} is {value}?", 0.0, tuple(branches))
