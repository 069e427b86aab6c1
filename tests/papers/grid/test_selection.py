from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.papers.grid.selection import (
    axis_means,
    best_cell,
    selection_scores,
    sensitivity,
)
from prophase.trace.trace_tables import open_trace

CELLS = pd.DataFrame(
    {
        "algorithm": "hdbscan",
        "transform": "power",
        "metric": ["euclidean", "manhattan"],
        "min_cluster_size": [10, 20],
        "n_outliers": [10, 50],
        "n_clusters": [5, 10],
        "mean_cluster_size": [18.0, 5.0],
        "silhouette": [0.5, 0.5],
        "davies_bouldin": [1.0, 0.5],
    }
)


def test_the_ideal_number_of_clusters_decides() -> None:
    assert best_cell(CELLS, "equal", 5)["n_clusters"] == 5
    assert best_cell(CELLS, "equal", 100)["n_clusters"] == 5
    assert best_cell(CELLS.assign(n_outliers=0), "equal", 10)["n_clusters"] == 10
    assert best_cell(CELLS, "separation")["n_clusters"] == 10


def test_a_grid_without_clusters_is_refused_with_what_to_do() -> None:
    empty = CELLS.assign(n_clusters=0, mean_cluster_size=None, silhouette=-1.0)
    with pytest.raises(InputError, match="smaller least sizes"):
        best_cell(empty)


def test_unknown_scores_and_impossible_ideals_are_refused() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'weighted'"):
        best_cell(CELLS, "weigthed")
    with pytest.raises(ParameterError, match="above 0"):
        selection_scores(CELLS, 0)


def test_axis_means_cover_every_axis_and_score() -> None:
    table = axis_means(CELLS)
    assert set(table["axis"]) == {"algorithm", "transform", "metric", "min_cluster_size"}
    assert len(table) == 3 * (1 + 1 + 2 + 2)


@pytest.mark.data
def test_on_the_published_cells_our_scores_are_the_authors_and_pick_theirs(
    shared_data: Path,
) -> None:
    grid = open_trace(shared_data / "polaris").tables["clustering_grid"]
    scored = selection_scores(grid)
    for ours, theirs in (("equal", "scores_v1"), ("weighted", "scores_v3"), ("separation", "CCPM")):
        assert scored[f"score_{ours}"].to_numpy() == pytest.approx(scored[theirs].to_numpy())
    for score in ("equal", "weighted"):
        best = best_cell(grid, score)
        assert (best["algorithm"], best["transform"], best["metric"]) == (
            "hdbscan",
            "power",
            "euclidean",
        )
        assert (best["min_cluster_size"], best["n_clusters"], best["n_outliers"]) == (
            300,
            26,
            24603,
        )
    assert best_cell(grid)["score_equal"] == pytest.approx(0.718, abs=5e-4)


@pytest.mark.data
def test_another_ideal_or_score_would_have_picked_another_cell(shared_data: Path) -> None:
    grid = open_trace(shared_data / "polaris").tables["clustering_grid"]
    hdbscan = grid[grid["algorithm"] == "hdbscan"]
    other = best_cell(hdbscan, "separation")
    assert (other["metric"], other["min_cluster_size"], other["n_clusters"]) == (
        "manhattan",
        100,
        125,
    )
    table = sensitivity(hdbscan)
    equal = table[table["score"] == "equal"].set_index("ideal_clusters")
    assert equal.loc[26, "n_clusters"] == 26
    assert equal.loc[20, "n_clusters"] == 20
    # an ideal of 20 would have scored higher than the authors' 26
    assert equal.loc[20, "value"] > equal.loc[26, "value"]
    assert equal["n_clusters"].nunique() > 5
