from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import MissingColumnError
from prophase.profile.clusters.clusterability import PUBLISHED_TABLE_II, fixed_label_silhouettes
from prophase.profile.clusters.transforms import fit_transform
from prophase.profile.clusters.usage_metrics import usage_features
from prophase.trace.trace_tables import open_trace


def test_a_label_that_names_the_kind_of_job_scores_higher_than_one_that_does_not(
    jobs: pd.DataFrame,
) -> None:
    features = usage_features(jobs, leaking=False)
    values = fit_transform("power", features.values)(features.values)
    table = fixed_label_silhouettes(jobs, values).set_index("label")
    assert list(table.index) == list(PUBLISHED_TABLE_II)
    assert (table.loc["workload", ["euclidean", "cosine", "manhattan"]] > 0.6).all()
    assert table.loc["task", "euclidean"] < table.loc["workload", "euclidean"]


def test_a_column_that_is_not_there_is_named(jobs: pd.DataFrame) -> None:
    with pytest.raises(MissingColumnError, match="'queue'"):
        fixed_label_silhouettes(jobs, jobs[["cpu_mean_cores"]].to_numpy(), labels=[["queue"]])


@pytest.mark.data
def test_on_the_published_rows_no_metadata_label_groups_jobs_well(shared_data: Path) -> None:
    jobs = open_trace(shared_data / "pai" / "polaris_1_000_sampled_test_data.csv").jobs
    features = usage_features(jobs)
    values = fit_transform("power", features.values)(features.values)
    table = fixed_label_silhouettes(jobs, values, rows=None).set_index("label")
    assert table[["euclidean", "cosine", "manhattan"]].shape == (3, 3)
    assert (table[["euclidean", "manhattan"]] < 0.4).all(axis=None)
