from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError
from prophase.profile.clusters.usage_metrics import LEAKING, USAGE_METRICS, usage_features
from prophase.trace.schema import JOBS
from prophase.trace.trace_tables import open_trace


def test_the_seventeen_metrics_of_the_paper_are_columns_of_the_job_table() -> None:
    assert len(USAGE_METRICS) == 17
    assert set(USAGE_METRICS.values()) <= set(JOBS.names)


def test_missing_values_become_zero_and_are_counted(jobs: pd.DataFrame) -> None:
    jobs.loc[:4, "cpu_mean_cores"] = np.nan
    features = usage_features(jobs)
    assert features.filled == {"cpu_mean_cores": 5}
    assert not features.values[:5, features.columns.index("cpu_mean_cores")].any()
    assert "Missing values taken as 0: cpu_mean_cores 5." in features.notes


def test_leaking_metrics_can_be_switched_off(jobs: pd.DataFrame) -> None:
    with_all, without = usage_features(jobs), usage_features(jobs, leaking=False)
    assert set(with_all.columns) - set(without.columns) == set(LEAKING)


def test_metrics_that_the_table_lacks_are_named(jobs: pd.DataFrame) -> None:
    features = usage_features(jobs)
    assert "request_gpus" in features.absent
    assert "The table has no gang_size" in features.notes[0]


def test_instances_stand_in_for_gang_sizes(jobs: pd.DataFrame) -> None:
    assert usage_features(jobs.assign(instances=2.0)).columns[0] == "instances"


def test_a_table_without_usage_is_refused() -> None:
    with pytest.raises(MissingColumnError, match="none of the usage metrics"):
        usage_features(pd.DataFrame({"job_id": ["a"]}))


def test_an_empty_table_is_refused(jobs: pd.DataFrame) -> None:
    with pytest.raises(InputError):
        usage_features(jobs.head(0))


def test_an_unknown_column_is_refused_with_the_nearest_one(jobs: pd.DataFrame) -> None:
    with pytest.raises(MissingColumnError, match="Did you mean 'cpu_mean_cores'"):
        usage_features(jobs, columns=["cpu_mean_core"])


def test_infinite_and_wordy_values_are_refused(jobs: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="infinite in 1 row"):
        usage_features(jobs.assign(cpu_mean_cores=[np.inf] + [1.0] * (len(jobs) - 1)))
    with pytest.raises(InputError, match="'workload' is not a number"):
        usage_features(jobs, columns=["workload"])


@pytest.mark.data
def test_the_published_rows_have_all_seventeen_metrics(shared_data: Path) -> None:
    jobs = open_trace(shared_data / "pai" / "polaris_1_000_sampled_test_data.csv").jobs
    features = usage_features(jobs)
    assert features.columns == tuple(USAGE_METRICS.values())
    assert features.filled == {"request_gpus": 294}
