from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.cells import CELLS, open_cells
from prophase.errors import FormatError, ParameterError, WorkspaceError
from prophase.papers.grid.plan import GridPlan, run_grid
from prophase.profile.clusters.usage_metrics import UsageFeatures, usage_features

SMALL = GridPlan(transforms=["standard", "power"], sizes=[20], min_samples=5)
MEASURED = ["n_outliers", "n_clusters", "mean_cluster_size", "silhouette", "davies_bouldin"]


@pytest.fixture
def features(jobs: pd.DataFrame) -> UsageFeatures:
    return usage_features(jobs, leaking=False)


def test_a_grid_has_one_row_per_combination_and_finds_the_kinds(features: UsageFeatures) -> None:
    grid = run_grid(features, SMALL)
    assert len(grid) == 2 * 2 * 2
    good = grid[(grid["transform"] == "power") & (grid["algorithm"] == "hdbscan")]
    assert (good["n_clusters"] == 3).all()
    assert (good["silhouette"] > 0.6).all()
    inside = grid["n_clusters"] * grid["mean_cluster_size"].fillna(0.0)
    assert (inside + grid["n_outliers"]).to_numpy() == pytest.approx(192)


def test_progress_goes_from_none_to_all(features: UsageFeatures) -> None:
    said: list[tuple[int, int]] = []
    plan = GridPlan(["hdbscan"], ["standard"], ["euclidean"], [10, 20], min_samples=5)
    run_grid(features, plan, progress=lambda done, total: said.append((done, total)))
    assert said == [(0, 2), (1, 2), (2, 2)]


def test_a_second_call_runs_only_what_is_missing(features: UsageFeatures, tmp_path: Path) -> None:
    part = GridPlan(["hdbscan"], ["standard", "power"], sizes=[20], min_samples=5)
    first = run_grid(features, part, folder=tmp_path / "grid")
    said: list[int] = []
    whole = run_grid(
        features, SMALL, folder=tmp_path / "grid", progress=lambda done, total: said.append(done)
    )
    assert said[0] == len(first) == 4
    assert len(whole) == 8


def test_two_processes_give_the_same_rows_as_one(features: UsageFeatures) -> None:
    plan = GridPlan(["hdbscan"], ["power"], sizes=[15], min_samples=5)
    one, two = run_grid(features, plan), run_grid(features, plan, workers=2)
    pd.testing.assert_frame_equal(one[MEASURED], two[MEASURED])


def test_a_dask_cluster_gives_the_same_rows(features: UsageFeatures) -> None:
    distributed = pytest.importorskip("distributed")
    plan = GridPlan(["hdbscan"], ["standard"], sizes=[15], min_samples=5)
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        protocol="tcp://",
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        found = run_grid(features, plan, workers=address)
    pd.testing.assert_frame_equal(found[MEASURED], run_grid(features, plan)[MEASURED])


def test_a_killed_grid_goes_on_where_it_was(features: UsageFeatures, tmp_path: Path) -> None:
    folder, data = tmp_path / "grid", tmp_path / "values.npy"
    np.save(data, features.values)
    script = f"""
    import os, signal, numpy as np
    from pathlib import Path
    from prophase.profile.clusters.usage_metrics import UsageFeatures
    from prophase.papers.grid.plan import run_grid
    from prophase.papers.grid.plan import GridPlan
    features = UsageFeatures({features.columns!r}, np.load({str(data)!r}), {{}}, ())
    plan = GridPlan(transforms=["standard", "power"], sizes=[20], min_samples=5)
    def die(done, total):
        if done == 3:
            os.kill(os.getpid(), signal.SIGKILL)
    run_grid(features, plan, folder=Path({str(folder)!r}), progress=die)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert ended.returncode == -signal.SIGKILL
    # as if the kill had come in the middle of a line
    with (folder / CELLS).open("a") as out:
        out.write('{"key": "half')
    said: list[int] = []
    resumed = run_grid(
        features, SMALL, folder=folder, progress=lambda done, total: said.append(done)
    )
    assert said[0] == 3
    pd.testing.assert_frame_equal(resumed[MEASURED], run_grid(features, SMALL)[MEASURED])


def test_a_folder_of_other_data_or_of_something_else_is_refused(
    features: UsageFeatures, tmp_path: Path
) -> None:
    plan = GridPlan(["hdbscan"], ["standard"], ["euclidean"], [15])
    run_grid(features, plan, folder=tmp_path / "grid")
    changed = UsageFeatures(features.columns, features.values + 1, {}, ())
    with pytest.raises(WorkspaceError, match="other data"):
        run_grid(changed, plan, folder=tmp_path / "grid")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(WorkspaceError, match=r"holds letter\.txt"):
        run_grid(features, plan, folder=tmp_path / "mine")
    (tmp_path / "grid" / "grid.json").write_text("{")
    with pytest.raises(WorkspaceError, match="damaged"):
        run_grid(features, plan, folder=tmp_path / "grid")


def test_a_folder_in_use_and_a_broken_line_are_refused(
    features: UsageFeatures, tmp_path: Path
) -> None:
    plan = GridPlan(["hdbscan"], ["standard"], ["euclidean"], [15])
    with (
        open_cells(tmp_path / "grid", "grid", "hash"),
        pytest.raises(WorkspaceError, match="writing"),
    ):
        run_grid(features, plan, folder=tmp_path / "grid")
    run_grid(features, plan, folder=tmp_path / "other")
    with (tmp_path / "other" / CELLS).open("a") as out:
        out.write("nonsense\n")
    with pytest.raises(FormatError, match=r"line 2: is not a cell"):
        run_grid(features, plan, folder=tmp_path / "other")


def test_plans_that_make_no_sense_are_refused(features: UsageFeatures) -> None:
    with pytest.raises(ParameterError, match="Did you mean 'hdbscan'"):
        GridPlan(["hdbscn"])
    with pytest.raises(ParameterError, match="a value on every axis"):
        GridPlan(sizes=[])
    with pytest.raises(ParameterError, match="workers is -1"):
        run_grid(features, SMALL, workers=-1)


def test_all_outliers_give_a_row_without_separation(features: UsageFeatures) -> None:
    plan = GridPlan(["hdbscan"], ["standard"], ["euclidean"], [150], min_samples=150)
    row = run_grid(features, plan).iloc[0]
    assert row["n_clusters"] == 0
    assert row["n_outliers"] == 192
    assert row["silhouette"] == -1.0
    assert row["davies_bouldin"] is None
