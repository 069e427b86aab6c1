"""PolarisProfiler: the published clustering grid and per-job duration errors.

Source: the experiments of the polaris-ai repository (Apache-2.0). Results, not a trace:
both become side tables, to compare our own profiles with. The 999 jobs behind the
errors are read by ``pai2020``.
"""

from __future__ import annotations

import ibis

from prophase.trace.reader import Reader, SourceTable, number, text
from prophase.trace.text_table import Sheet

_SETTING = ("transform_function", "metric")
_NUMBERS = ("min_cluster_size", "n_outliers", "n_clusters", "mean_cluster_size",
            "avg_silhouette", "davies_bouldin_score", "scores_v1", "scores_v3", "CCPM")  # fmt: skip


def _algorithm(sheet: Sheet) -> ibis.Value:
    """The algorithm is in the file's name: 01_hdbscan_analysis.csv."""
    return ibis.literal(sheet.file.stem.removesuffix("_analysis").split("_")[-1])


READER = Reader.of_tables(
    "polaris",
    "PolarisProfiler's published clustering grid and duration errors",
    SourceTable(
        "clustering_grid",
        (*_SETTING, *_NUMBERS),
        {
            "algorithm": _algorithm,
            **{name: text(name) for name in _SETTING},
            **{name: number(name) for name in _NUMBERS},
        },
        many=True,
    ),
    SourceTable(
        "duration_errors",
        ("row", "rmse_perc"),
        # a ratio is called a ratio: rmse_perc is |true - predicted| / true, not percent
        {"row": number("row"), "duration_error_frac": number("rmse_perc")},
    ),
    cannot="jobs (the 999 sampled ones are read by pai2020), usage and nodes",
    patterns=("*_analysis.csv", "*duration_errors*.csv"),
    signature=("transform_function", "metric", "min_cluster_size", "davies_bouldin_score"),
    # two columns of such names may be anybody's
    also=(),
)
