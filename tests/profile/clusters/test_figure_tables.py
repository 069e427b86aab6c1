from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingColumnError, ParameterError
from prophase.profile.clusters.figure_tables import (
    box_statistics,
    metadata_heat_map,
    silhouette_boxes,
)
from prophase.profile.clusters.quality import Silhouettes


def test_boxes_are_sorted_by_deviation_and_outliers_are_marked(jobs: pd.DataFrame) -> None:
    table = box_statistics(jobs, jobs["kind"].to_numpy(), "gpu_util_mean_pct")
    assert table is not None
    assert table.boxes["std"].is_monotonic_increasing
    assert table.boxes["profile"].iloc[-1] == -1
    assert table.boxes["outliers"].tolist() == [False, False, False, True]
    deviations = jobs[jobs["kind"] >= 0].groupby("kind")["gpu_util_mean_pct"].std()
    assert table.mean_std == pytest.approx(deviations.mean())
    assert table.least_profile == deviations.idxmin()
    assert table.largest_std == pytest.approx(deviations.max())


def test_whiskers_end_at_values_and_the_rest_is_beyond() -> None:
    jobs = pd.DataFrame({"duration_s": [1.0, 2.0, 3.0, 4.0, 100.0, np.nan]})
    table = box_statistics(jobs, np.zeros(6, dtype=np.int64), "duration_s")
    assert table is not None
    box = table.boxes.iloc[0]
    assert (box["whisker_low"], box["whisker_high"], box["beyond"], box["n"]) == (1, 4, 1, 5)


def test_a_metric_without_values_has_no_boxes() -> None:
    jobs = pd.DataFrame({"duration_s": [np.nan]})
    assert box_statistics(jobs, np.zeros(1, dtype=np.int64), "duration_s") is None


def test_rows_of_a_heat_map_add_up_to_a_hundred_and_margins_to_all_jobs(
    jobs: pd.DataFrame,
) -> None:
    table = metadata_heat_map(jobs, jobs["kind"].to_numpy(), "workload", top=2)
    assert table.index.tolist()[2:] == ["(others)", "(jobs)"]
    shares = table.drop(columns="jobs").iloc[:-1]
    assert shares.sum(axis=1).to_numpy() == pytest.approx(100.0)
    assert table["jobs"].iloc[:-1].sum() == table.loc["(jobs)", "jobs"] == len(jobs)
    assert table.loc["(jobs)"].tolist() == [12, 60, 60, 60, 192]


def test_silhouette_boxes_say_how_many_jobs_are_misplaced() -> None:
    scores = Silhouettes(np.arange(4), np.array([0.5, 0.7, -0.1, 0.1]), np.array([0, 0, 1, 1]))
    table = silhouette_boxes(scores)
    assert table["profile"].tolist() == [1, 0]
    assert table["negative_frac"].tolist() == [0.5, 0.0]
    none = np.empty(0, dtype=np.int64)
    assert silhouette_boxes(Silhouettes(none, np.empty(0), none)).empty


def test_unknown_columns_and_empty_tops_are_refused(jobs: pd.DataFrame) -> None:
    labels = jobs["kind"].to_numpy()
    with pytest.raises(MissingColumnError, match="Did you mean 'workload'"):
        metadata_heat_map(jobs, labels, "workloads")
    with pytest.raises(MissingColumnError, match="'cpu'"):
        box_statistics(jobs, labels, "cpu")
    with pytest.raises(ParameterError, match="one value or more"):
        metadata_heat_map(jobs, labels, "task", top=0)
