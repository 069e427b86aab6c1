from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.profile.classify.classifier_comparison import compare_classifiers
from prophase.profile.clusters.generators.generator_names import paper_generator
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.trace.trace_tables import open_trace

Labelled = tuple[pd.DataFrame, np.ndarray]


def test_every_method_is_scored_on_every_split_beside_one_that_learns_nothing(
    labelled: Labelled,
) -> None:
    found = compare_classifiers(*labelled, ["xgboost", "rules", "most-frequent"])
    accuracy = found.table.pivot(index="method", columns="split", values="accuracy")
    assert list(accuracy.columns) == ["job", "row", "time"]
    assert (accuracy.loc["xgboost"] > accuracy.loc["most-frequent"] + 0.3).all()
    assert all(train + test <= 240 for train, test in found.sides.values())
    document = found.to_dict()
    assert document["encoding"]["dimension"] == found.size.dimension
    assert set(document["methods"]["rules"]["time"]) >= {"accuracy", "macro_f1", "confusion"}


def test_a_split_the_table_does_not_allow_is_left_out_with_the_reason(
    labelled: Labelled,
) -> None:
    jobs, labels = labelled
    bare = jobs[["user", "workload"]]
    found = compare_classifiers(bare, labels, ["rules"])
    assert list(found.sides) == ["row"]
    assert (
        sum(note.startswith(("No split by job", "No split by time")) for note in found.notes) == 2
    )
    with pytest.raises(InputError, match="the jobs cannot be divided"):
        compare_classifiers(bare, labels, ["rules"], splits=["time"])
    with pytest.raises(ParameterError, match="no split by 'tme'"):
        compare_classifiers(jobs, labels, ["rules"], splits=["tme"])


def test_a_profile_that_appears_only_later_is_named(labelled: Labelled) -> None:
    jobs, labels = labelled
    late = np.where(np.arange(len(labels)) > 220, 99, labels)
    report = compare_classifiers(jobs, late, ["rules"], splits=["time"]).reports["rules", "time"]
    assert report.never_learnt == (99,)
    assert 99 in report.never_predicted


@pytest.mark.data
def test_metadata_predicts_the_profiles_of_the_published_rows(shared_data) -> None:  # type: ignore[no-untyped-def]
    jobs = open_trace(shared_data / "pai" / "polaris_1_000_sampled_test_data.csv").jobs
    profiler = WorkloadProfiler(paper_generator(len(jobs)), silhouette_rows=100).fit(jobs)
    found = compare_classifiers(jobs, profiler.labels_, ["xgboost", "most-frequent"])
    accuracy = found.table.set_index(["method", "split"])["accuracy"]
    for split, least in (("row", 0.8), ("job", 0.8), ("time", 0.65)):
        assert accuracy["xgboost", split] > least
        assert accuracy["most-frequent", split] < 0.3
