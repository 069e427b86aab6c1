"""Section III-C: the classifier, Table V and what its accuracy is worth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from prophase.errors import InputError
from prophase.papers.claims import PublishedClaim, verdict_on
from prophase.papers.polaris.paper_data import Inputs
from prophase.papers.polaris.published_claims import (
    ACCURACY_PCT,
    CLUSTERED,
    DECIDING_WORDS,
    FETCH_ROWS,
    METADATA,
    ONE_HOT,
    SAMPLED,
    TABLE_V_F1,
    TABLE_V_MACRO_F1,
    TABLE_V_RECALL,
    TABLE_V_SUPPORT,
    TABLE_V_WEIGHTED_F1,
    TEXT_WEIGHTED_F1,
)
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.classify.classifier_comparison import (
    ClassifierComparison,
    compare_classifiers,
)
from prophase.profile.classify.explanation import shap_summary
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.quality import OUTLIERS

_PRINTED = "Table V as printed"
#: an accuracy that falls by more than this on an honest split was flattered by the row split
_LEAK_PCT = 2.0
_WHY = {
    "job": "a split by row lets rows of one job fall on both sides, and its name is a feature",
    "time": "in use a classifier meets jobs that come later, with users and names it never saw",
}


def table_v_items() -> Iterator[PublishedClaim]:
    """Whether Table V agrees with itself and with the text."""
    support = np.array(TABLE_V_SUPPORT, dtype=float)
    f1, recall = np.array(TABLE_V_F1), np.array(TABLE_V_RECALL)
    macro, weighted = float(f1.mean()), float((f1 * support).sum() / support.sum())
    averages = round(macro, 2) == TABLE_V_MACRO_F1 and round(weighted, 2) == TABLE_V_WEIGHTED_F1
    yield PublishedClaim(
        "Table V, averages", "macro and weighted F1 follow from the 26 profiles",
        f"{TABLE_V_MACRO_F1:.2f} and {TABLE_V_WEIGHTED_F1:.2f}", f"{macro:.2f} and {weighted:.2f}",
        verdict_on(averages), "", _PRINTED,
    )  # fmt: skip
    accuracy = 100 * float((recall * support).sum() / support.sum())
    # 26 recalls rounded to two decimals leave half a point of room
    yield PublishedClaim(
        "Table V, accuracy", "the text's accuracy", f"{ACCURACY_PCT} %", f"{accuracy:.1f} %",
        verdict_on(abs(accuracy - ACCURACY_PCT) <= 0.5), "recalls weighted by support", _PRINTED,
    )  # fmt: skip
    yield PublishedClaim(
        "Section III-C, F1", "weighted F1 of 90 %", f"{TEXT_WEIGHTED_F1:.2f}", f"{weighted:.2f}",
        verdict_on(round(weighted, 2) == TEXT_WEIGHTED_F1),
        "0.90 is the macro average; the table itself has 0.94 as the weighted one", _PRINTED,
    )  # fmt: skip
    never = [profile for profile, value in enumerate(TABLE_V_RECALL) if value == 0]
    share = 100 * support.sum() / CLUSTERED
    yield PublishedClaim(
        "Table V, profile 6", "one profile is never predicted", "profile 6",
        ", ".join(f"profile {one}" for one in never), verdict_on(never == [6]),
        f"validated on {support.sum():,.0f} rows, {share:.1f} % of those in a profile", _PRINTED,
    )  # fmt: skip


def classifier_items(
    inputs: Inputs, profiler: WorkloadProfiler, *, random_state: int = 0
) -> Iterator[PublishedClaim]:
    """The classifier retrained: how wide its input is, and its accuracy on honest splits."""
    wide = ("Section III-C, one-hot", "metadata features become columns", f"{METADATA} to "
            f"{ONE_HOT:,}")  # fmt: skip
    accuracy = ("Section III-C, accuracy", "profiles are predicted from metadata alone",
                f"{ACCURACY_PCT} %, split by row")  # fmt: skip
    try:
        found = compare_classifiers(
            inputs.rows, profiler.labels_, ["xgboost"], random_state=random_state
        )
    except InputError:
        # one profile or none: nothing to tell apart
        for item in (wide, accuracy):
            yield PublishedClaim.waiting(*item, FETCH_ROWS, data=inputs.origin)
        return
    width = f"{len(found.columns)} to {found.size.dimension:,}"
    if inputs.whole:
        yield PublishedClaim(
            *wide, width, verdict_on(found.size.dimension == ONE_HOT), "", inputs.origin
        )
    else:
        yield PublishedClaim.waiting(*wide, FETCH_ROWS, ours=width, data=inputs.origin)
    yield _accuracy(inputs, accuracy, found)
    yield _explanation(inputs, profiler, random_state)


def _accuracy(
    inputs: Inputs, item: tuple[str, str, str], found: ClassifierComparison
) -> PublishedClaim:
    percent = {
        str(row.split): 100 * float(row.accuracy)  # type: ignore[arg-type]
        for row in found.table.itertuples()
    }
    ours = ", ".join(f"{value:.1f} % by {split}" for split, value in percent.items())
    lost = {split: percent["row"] - value for split, value in percent.items() if split != "row"}
    why = [_WHY[split] for split, points in lost.items() if points > _LEAK_PCT]
    reason, holds = "; ".join(why), not why
    if not inputs.whole:
        reason += f"{'; ' if reason else ''}the value itself needs the {SAMPLED:,} rows"
    return PublishedClaim(*item, ours, verdict_on(holds, real=inputs.whole), reason, inputs.origin)


def _explanation(inputs: Inputs, profiler: WorkloadProfiler, random_state: int) -> PublishedClaim:
    """The words that decide, by SHAP values of the trees: those that the text names."""
    inside = profiler.labels_ != OUTLIERS
    jobs = inputs.rows[inside]
    classifier = ProfileClassifier(unknown_below=0.0, random_state=random_state)
    top = shap_summary(classifier.fit(jobs, profiler.labels_[inside].tolist()), jobs).words
    words = [f"{column}={value}" for column, value in top[["column", "value"]].to_numpy()]
    there = [word for word in DECIDING_WORDS if word in words]
    kinds = set(top["column"]) & {"task", "workload", "user"}
    return PublishedClaim(
        "Section III-C, explanation", "words among the twenty that decide most",
        ", ".join((*DECIDING_WORDS, "one user")),
        ", ".join((*there, f"words of {', '.join(sorted(set(top['column'])))}")),
        verdict_on(len(kinds) == 3, real=inputs.whole),
        f"holds if task, workload and user are among them; first is {words[0]}"
        + ("" if inputs.whole else f"; the order itself needs the {SAMPLED:,} rows"),
        inputs.origin,
    )  # fmt: skip
