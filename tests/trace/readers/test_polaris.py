from __future__ import annotations

from pathlib import Path

import pytest

from prophase.trace import open_trace

GRID = (
    ",transform_function,metric,min_cluster_size,n_outliers,n_clusters,mean_cluster_size,"
    "avg_silhouette,davies_bouldin_score,scores_v1,scores_v3,CCPM\n"
    "0,standard_scaler,euclidean,50,3,19,36.5,0.35,1.28,0.39,0.5,1.13\n"
)


def test_the_algorithm_comes_from_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "01_hdbscan_analysis.csv").write_text(GRID)
    (tmp_path / "01_optics_analysis.csv").write_text(GRID)
    grid = open_trace(tmp_path, source="polaris").tables["clustering_grid"]
    assert sorted(grid.algorithm) == ["hdbscan", "optics"]
    assert grid.avg_silhouette.tolist() == [0.35, 0.35]


@pytest.mark.data
def test_the_published_errors_are_ratios(shared_data: Path) -> None:
    tables = open_trace(shared_data / "polaris", source="polaris").tables
    errors = tables["duration_errors"].duration_error_frac
    assert errors.median() == pytest.approx(0.97, abs=0.005)
    assert (errors <= 5.0).mean() == pytest.approx(0.804, abs=0.0005)
    assert tables["clustering_grid"].groupby("algorithm").size().to_dict() == {
        "hdbscan": 56,
        "optics": 56,
    }
