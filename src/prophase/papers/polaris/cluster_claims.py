"""Section III-B: the clustering grid, the chosen clustering, and Fig. 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from prophase.papers.claims import PublishedClaim, verdict_on
from prophase.papers.grid.selection import best_cell
from prophase.papers.grid.statistics import as_grid, compare_with_table_iv
from prophase.papers.polaris.paper_data import Inputs
from prophase.papers.polaris.published_claims import (
    CHOSEN,
    CHOSEN_CLUSTERS,
    CHOSEN_OUTLIERS,
    CHOSEN_SCORE,
    CHOSEN_SILHOUETTE,
    FETCH_ROWS,
    SAMPLED,
)
from prophase.profile.clusters.figure_tables import box_statistics
from prophase.profile.clusters.generators.density import Hdbscan
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.quality import OUTLIERS
from prophase.profile.clusters.usage_metrics import usage_features

_GRID = "the authors' grid, 112 cells"
_CELLS = "2 algorithms x 4 transforms x 2 distances x 7 sizes"
#: another number of clusters that a reader might have called ideal
_OTHER_IDEAL = 60


def grid_items(inputs: Inputs) -> Iterator[PublishedClaim]:
    """Tables III and IV, and the choice among the cells."""
    if inputs.grid is None:
        command = f"{FETCH_ROWS}; or make a grid of your own: prophase profile grid"
        for item, claim, published in (
            ("Table III", _CELLS, "112 clusterings"),
            ("Table IV, HDBSCAN", "20 statistics of the cells", "20 numbers"),
            ("Table IV, OPTICS", "20 statistics of the cells", "20 numbers"),
            ("Section III-B, choice", "the best score picks this cell", _name(CHOSEN)),
        ):
            yield PublishedClaim.waiting(item, claim, published, command)
        return
    cells = as_grid(inputs.grid)
    yield PublishedClaim(
        "Table III", _CELLS, "112 clusterings",
        f"{len(cells)} cells", verdict_on(len(cells) == 112),
        "the text speaks of a least size of 500, which no cell has; the chosen one has 300",
        _GRID,
    )  # fmt: skip
    compared = compare_with_table_iv(inputs.grid)
    for algorithm, part in compared.groupby("algorithm", sort=True):
        agreeing = int(part["agrees"].sum())
        named = "; ".join(
            f"{row.statistic} {row.measure} {row.ours:g} (printed {row.published:g})"
            for row in part[~part["agrees"]].round(2).itertuples()
        )
        yield PublishedClaim(
            f"Table IV, {str(algorithm).upper()}", "20 statistics of the cells", "20 numbers",
            f"{agreeing} of {len(part)} agree", verdict_on(agreeing == len(part)),
            f"from the authors' own cells: {named}" if named else "", _GRID,
        )  # fmt: skip
    yield from _choice(inputs)


def _choice(inputs: Inputs) -> Iterator[PublishedClaim]:
    assert inputs.grid is not None
    best = best_cell(inputs.grid)
    same = all(best[name] == value for name, value in CHOSEN.items())
    other = best_cell(inputs.grid, ideal_clusters=_OTHER_IDEAL)
    own = inputs.grid[as_grid(inputs.grid)["algorithm"] == CHOSEN["algorithm"]]
    apart = best_cell(own, "separation")
    yield PublishedClaim(
        "Section III-B, choice", "the best score picks this cell", _name(CHOSEN),
        f"{_name(best)}: {best['n_clusters']:.0f} clusters, {best['n_outliers']:,.0f} outliers",
        verdict_on(same),
        f"but the score rewards closeness to {CHOSEN_CLUSTERS} clusters, which is the answer; with "
        f"{_OTHER_IDEAL} as the ideal it picks {_name(other)} ({other['n_clusters']:.0f}), and "
        f"silhouette + 1/Davies-Bouldin picks {_name(apart)} ({apart['n_clusters']:.0f})",
        _GRID,
    )  # fmt: skip


def profile_items(inputs: Inputs, profiler: WorkloadProfiler) -> Iterator[PublishedClaim]:
    """The chosen clustering made again, and Fig. 4."""
    found = profiler.statistics_
    claim = "the chosen clustering"
    published = (
        f"{CHOSEN_CLUSTERS} clusters, {CHOSEN_OUTLIERS:,} outliers, silhouette {CHOSEN_SILHOUETTE} "
        f"(selection score {CHOSEN_SCORE})"
    )
    ours = (
        f"{found['n_clusters']} clusters, {found['n_outliers']:,} outliers, "
        f"silhouette {found['silhouette']:.3f}"
    )
    if inputs.whole:
        same = found["n_clusters"] == CHOSEN_CLUSTERS and found["n_outliers"] == CHOSEN_OUTLIERS
        yield PublishedClaim(
            "Section III-B, profiles", claim, published, ours, verdict_on(same), "", inputs.origin
        )
    else:
        yield PublishedClaim.waiting(
            "Section III-B, profiles", claim, published, FETCH_ROWS, ours=ours, data=inputs.origin
        )
    yield _figure_4(inputs, profiler)


def paper_profiler(inputs: Inputs) -> WorkloadProfiler:
    """Return profiles made as in the paper; the least size keeps its share of the rows."""
    least = 300 if inputs.whole else max(15, round(300 / SAMPLED * len(inputs.rows)))
    return WorkloadProfiler(Hdbscan(least), transform="power", leaking=True).fit(inputs.rows)


def _figure_4(inputs: Inputs, profiler: WorkloadProfiler) -> PublishedClaim:
    claim = "profiles vary less than the outliers, but for maximum memory"
    wider = []
    tables = [
        box_statistics(inputs.rows, profiler.labels_, metric)
        for metric in usage_features(inputs.rows, leaking=False).columns
    ]
    known = [table for table in tables if table is not None]
    for table in known:
        outliers = table.boxes.loc[table.boxes["profile"] == OUTLIERS, "std"]
        if len(outliers) and table.largest_std > float(outliers.iloc[0]):
            wider.append(table.metric)
    ours = f"so in {len(known) - len(wider)} of {len(known)} metrics"
    published = "1 exception named"
    enough = bool(known) and bool(np.any(profiler.labels_ != OUTLIERS))
    if not enough:
        return PublishedClaim.waiting(
            "Fig. 4", claim, published, FETCH_ROWS, ours=ours, data=inputs.origin
        )
    reason = f"a profile is wider than the outliers in {', '.join(wider)}" if wider else ""
    return PublishedClaim(
        "Fig. 4", claim, published, ours,
        verdict_on(set(wider) <= {"memory_peak_gib"}, real=inputs.whole), reason, inputs.origin,
    )  # fmt: skip


def _name(cell: Mapping[str, object]) -> str:
    algorithm = str(cell["algorithm"]).upper()
    return f"{algorithm}-{cell['min_cluster_size']:.0f}-{cell['transform']}-{cell['metric']}"
