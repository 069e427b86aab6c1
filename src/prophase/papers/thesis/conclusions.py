"""The three conclusions of section 6.1, on the printed tables and on our models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from prophase.papers.thesis import published_tables as published
from prophase.papers.thesis.comparison_rows import Row, said
from prophase.sizing.bins.experiments import Experiment
from prophase.sizing.bins.scores import Score

#: task, edges, classifier, sampling -> u_score; and accuracy of the best, where it is printed
UScores = Mapping[tuple[str, tuple[int, ...], str, str], float]
_SAMPLINGS = ("none", "random", "smote")


def conclusion_rows(found: Mapping[str, Sequence[Experiment]]) -> Iterator[Row]:
    """Return a row per conclusion: how often it holds in the thesis' tables, and in ours.

    A conclusion holds in kind if it holds in more than half of the cases; the thesis' own tables do
    not bear out all of them in every case either.
    """
    scores: dict[tuple[str, tuple[int, ...], str, str], Score] = {
        (
            task,
            tuple(int(edge) for edge in one.binning.edges_gib),
            one.classifier,
            one.sampling,
        ): one.score
        for task, many in found.items()
        for one in many
    }
    theirs = {
        (task, edges, classifier, sampling): value
        for (classifier, task, edges), values in published.TABLES_9_10.items()
        for sampling, value in zip(_SAMPLINGS, values, strict=True)
    }
    ours = {key: one.u_score for key, one in scores.items()}
    for claim, cases in (
        ("1: u_score of the best models rises with the number of bins", _more_bins),
        ("2: with four bins SVM reaches the better u_score", _svm_with_more_bins),
        ("2: neither classifier is better throughout (less than all)", _one_classifier),
        ("3: with four bins a weighted SVM beats over-sampling", _weighted),
        ("3: XGBoost is better with over-sampling", _over_sampled),
        ("3: and best with SMOTE", _smote),
    ):
        printed, mine = cases(theirs), cases(ours)
        none = claim.endswith("(less than all)")
        holds = 0 < sum(mine) < len(mine) if none else 2 * sum(mine) > len(mine)
        yield said(
            f"Section 6.1, conclusion {claim[0]}",
            claim[3:],
            f"{sum(printed)} of {len(printed)} cases of its tables",
            f"{sum(mine)} of {len(mine)}" if mine else "no models to compare",
            bool(mine) and holds,
        )


def _settings() -> list[tuple[str, tuple[int, ...]]]:
    return list(published.TABLE_6)


def _best(
    scores: UScores, task: str, edges: tuple[int, ...], classifier: str | None = None
) -> float:
    kinds = ("svm", "xgboost") if classifier is None else (classifier,)
    return min(
        (scores[key] for kind in kinds for sampling in _SAMPLINGS
         if (key := (task, edges, kind, sampling)) in scores),
        default=float("nan"),
    )  # fmt: skip


def _known(cases: Sequence[tuple[float, float]], strict: bool = False) -> list[bool]:
    """Say for each pair whether the first is less (or equal); unknown pairs are left out."""
    whole = [(a, b) for a, b in cases if a == a and b == b]
    return [a < b if strict else a <= b for a, b in whole]


def _more_bins(scores: UScores) -> list[bool]:
    cases = []
    for task in published.TASKS:
        edges = [bins for name, bins in _settings() if name == task]
        best = [_best(scores, task, bins) for bins in edges]
        cases += list(pairwise(best))
    return _known(cases)


def _svm_with_more_bins(scores: UScores) -> list[bool]:
    return _known(
        [
            (_best(scores, task, edges, "svm"), _best(scores, task, edges, "xgboost"))
            for task, edges in _settings()
            if len(edges) == 4
        ]
    )


def _one_classifier(scores: UScores) -> list[bool]:
    return _known(
        [
            (_best(scores, task, edges, "xgboost"), _best(scores, task, edges, "svm"))
            for task, edges in _settings()
        ],
        strict=True,
    )


def _sampled(scores: UScores, classifier: str, *, bins: int | None = None) -> list[list[float]]:
    return [
        [scores.get((task, edges, classifier, one), float("nan")) for one in _SAMPLINGS]
        for task, edges in _settings()
        if bins is None or len(edges) == bins
    ]


def _weighted(scores: UScores) -> list[bool]:
    return _known([(none, min(others)) for none, *others in _sampled(scores, "svm", bins=4)])


def _over_sampled(scores: UScores) -> list[bool]:
    return _known([(min(others), none) for none, *others in _sampled(scores, "xgboost")])


def _smote(scores: UScores) -> list[bool]:
    return _known(
        [(smote, min(none, random)) for none, random, smote in _sampled(scores, "xgboost")]
    )
