"""Choose a cell of the grid, and see how much the choice depends on the score.

The authors' scores contain their answer: closeness to an ideal of 26 clusters, after which 26
clusters are chosen. So the ideal is an argument here, and ``sensitivity`` shows what other
ideals would have chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from prophase.errors import InputError, ParameterError, not_among
from prophase.papers.grid.statistics import as_grid

#: the number of clusters that the authors' notebook takes as ideal
PAPER_IDEAL = 26
#: score -> weights of silhouette, closeness to the ideal count, share of jobs clustered
WEIGHTS: Mapping[str, tuple[float, float, float]] = {
    "equal": (1 / 3, 1 / 3, 1 / 3),
    "weighted": (0.4, 0.1, 0.5),
}
#: the third score knows no ideal: silhouette + 1 / Davies-Bouldin
SCORES = (*WEIGHTS, "separation")
_AXES = ("algorithm", "transform", "metric", "min_cluster_size", "n_clusters", "n_outliers")


def selection_scores(grid: pd.DataFrame, ideal_clusters: float = PAPER_IDEAL) -> pd.DataFrame:
    """Return the grid with one column per score, ``score_equal`` and so on; more is better.

    Parameters
    ----------
    ideal_clusters : float, default=26
        Number of clusters you want. Closeness is the smaller over the larger of the two counts.

    Examples
    --------
    >>> cells = {"algorithm": "hdbscan", "n_outliers": [20], "n_clusters": [13]}
    >>> cells |= {"mean_cluster_size": 80 / 13, "silhouette": 0.4, "davies_bouldin": 2.0}
    >>> selection_scores(pd.DataFrame(cells)).filter(like="score").round(3).values.tolist()
    [[0.567, 0.61, 0.9]]
    """
    if ideal_clusters <= 0:
        raise ParameterError(f"the ideal number of clusters is {ideal_clusters}; it is above 0.")
    cells = as_grid(grid).copy()
    count = cells["n_clusters"].astype(float)
    inside = (count * cells["mean_cluster_size"]).fillna(0.0)
    clustered = inside / (inside + cells["n_outliers"])
    closeness = count.clip(upper=ideal_clusters) / count.clip(lower=ideal_clusters)
    for name, (separated, close, share) in WEIGHTS.items():
        cells[f"score_{name}"] = (
            separated * cells["silhouette"] + close * closeness + share * clustered
        )
    cells["score_separation"] = cells["silhouette"] + 1 / cells["davies_bouldin"].astype(float)
    return cells


def best_cell(
    grid: pd.DataFrame, score: str = "equal", ideal_clusters: float = PAPER_IDEAL
) -> dict[str, object]:
    """Return the row with the highest score; the earlier one if two are equal."""
    if score not in SCORES:
        raise ParameterError(not_among(f"score {score!r} is unknown.", score, SCORES))
    scored = selection_scores(grid, ideal_clusters)
    # one cluster that takes everything separates nothing
    scored = scored[scored["n_clusters"] > 1].dropna(subset=[f"score_{score}"])
    if scored.empty:
        raise InputError(
            "no cell of the grid found two clusters or more: most jobs are outliers, or all are "
            "alike. Try smaller least sizes, or other metrics."
        )
    best = scored.iloc[int(scored[f"score_{score}"].argmax())]
    return {str(name): value for name, value in best.items()}


def best_per_algorithm(
    grid: pd.DataFrame, ideal_clusters: float = PAPER_IDEAL
) -> dict[str, dict[str, dict[str, object]]]:
    """Return the best cell by score and algorithm; algorithms that found no groups are absent."""
    cells = as_grid(grid)
    parts = {str(name): part for name, part in cells.groupby("algorithm")}
    able = {name: part for name, part in parts.items() if (part["n_clusters"] > 1).any()}
    return {
        score: {name: best_cell(part, score, ideal_clusters) for name, part in able.items()}
        for score in SCORES
    }


def sensitivity(
    grid: pd.DataFrame, ideals: Iterable[float] = (5, 10, 15, 20, 26, 30, 40, 60, 100, 200)
) -> pd.DataFrame:
    """Return which cell each score would choose for each ideal number of clusters."""
    rows = []
    for ideal in ideals:
        for score in SCORES:
            best = best_cell(grid, score, ideal)
            chosen = {name: best[name] for name in _AXES if name in best}
            value = best[f"score_{score}"]
            rows.append({"ideal_clusters": ideal, "score": score, **chosen, "value": value})
    return pd.DataFrame(rows)


def axis_means(grid: pd.DataFrame, ideal_clusters: float = PAPER_IDEAL) -> pd.DataFrame:
    """Return mean, least and largest score for every value of every axis of the grid."""
    scored = selection_scores(grid, ideal_clusters)
    names = [f"score_{score}" for score in SCORES]
    tables = []
    for axis in ("algorithm", "transform", "metric", "min_cluster_size"):
        long = scored.melt(id_vars=[axis], value_vars=names, var_name="score", value_name="value")
        table = long.groupby([axis, "score"])["value"].agg(["mean", "min", "max"]).reset_index()
        table.insert(0, "axis", axis)
        tables.append(table.rename(columns={axis: "setting"}).astype({"setting": str}))
    return pd.concat(tables, ignore_index=True)
