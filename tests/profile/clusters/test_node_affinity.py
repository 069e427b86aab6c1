from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingColumnError
from prophase.profile.node_types import node_type_affinity
from prophase.trace.trace_tables import open_trace


def test_the_faster_type_of_a_profile_comes_first(jobs: pd.DataFrame) -> None:
    on_v100 = jobs["after_gpu_type"] == "V100"
    jobs["duration_s"] = jobs["duration_s"] * np.where(on_v100, 0.5, 1.0)
    table = node_type_affinity(jobs, jobs["kind"].to_numpy(), enough=10)
    first = table.groupby("profile").first()
    assert (first["node_type"] == "V100").all()
    assert first["relative_duration"].to_numpy() == pytest.approx(0.5, abs=0.1)
    assert -1 not in first.index
    assert table.groupby("profile")["share"].sum().to_numpy() == pytest.approx(1.0)
    assert table["enough"].all()


def test_few_jobs_on_a_type_are_not_enough(jobs: pd.DataFrame) -> None:
    table = node_type_affinity(jobs, jobs["kind"].to_numpy(), enough=30)
    assert not table.loc[table["node_type"] == "V100", "enough"].all()


def test_a_table_without_node_types_is_refused(jobs: pd.DataFrame) -> None:
    with pytest.raises(MissingColumnError, match="which type of node"):
        node_type_affinity(jobs.drop(columns="after_gpu_type"), jobs["kind"].to_numpy())
    with pytest.raises(MissingColumnError, match="no column 'rack'"):
        node_type_affinity(jobs, jobs["kind"].to_numpy(), column="rack")


def test_outliers_alone_give_an_empty_table(jobs: pd.DataFrame) -> None:
    assert node_type_affinity(jobs, np.full(len(jobs), -1)).empty


@pytest.mark.data
def test_the_published_rows_ran_on_known_gpu_types(shared_data: Path) -> None:
    jobs = open_trace(shared_data / "pai" / "polaris_1_000_sampled_test_data.csv").jobs
    table = node_type_affinity(jobs, np.zeros(len(jobs), dtype=np.int64))
    assert {"T4", "MISC", "P100"} <= set(table["node_type"])
    assert table["jobs"].sum() == len(jobs)
