"""PolarisProfiler: the published clustering grid and per-job duration errors.

Source: the experiments of the polaris-ai repository (Apache-2.0). Results, not a trace:
both become side tables, to compare our own profiles with. The 999 jobs behind the
errors are read by ``pai2020``.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import Sheet

_SETTING = ("transform_function", "metric")
_NUMBERS = ("min_cluster_size", "n_outliers", "n_clusters", "mean_cluster_size",
            "avg_silhouette", "davies_bouldin_score", "scores_v1", "scores_v3", "CCPM")  # fmt: skip
_ERRORS = ("row", "rmse_perc")


def _read(dump: Dump) -> Tables:
    found = dump.find("*_analysis.csv", "*duration_errors*.csv")
    grids, errors = having(found, *_SETTING, *_NUMBERS), having(found, *_ERRORS)
    if not grids and not errors:
        dump.sheet(found[0]).need(*_SETTING, *_NUMBERS)
    tables: Tables = {}
    if grids:
        tables["clustering_grid"] = stack([_grid(dump.sheet(file), file) for file in grids])
    if errors:
        tables["duration_errors"] = _errors(dump.sheet(errors[0]))
    return tables


def _grid(sheet: Sheet, file: SourceFile) -> ibis.Table:
    """The algorithm is in the file's name: 01_hdbscan_analysis.csv."""
    return sheet.select(
        algorithm=ibis.literal(file.stem.removesuffix("_analysis").split("_")[-1]),
        **{name: sheet.text(name) for name in _SETTING},
        **{name: sheet.number(name) for name in _NUMBERS},
    )


def _errors(sheet: Sheet) -> ibis.Table:
    """Name the ratio a ratio: rmse_perc is |true - predicted| / true, not percent."""
    return sheet.select(row=sheet.number("row"), duration_error_frac=sheet.number("rmse_perc"))


READER = Reader(
    name="polaris",
    title="PolarisProfiler's published clustering grid and duration errors",
    fills={
        "clustering_grid": ("algorithm", *_SETTING, *_NUMBERS),
        "duration_errors": ("row", "duration_error_frac"),
    },
    cannot="jobs (the 999 sampled ones are read by pai2020), usage and nodes",
    read=_read,
    patterns=("*_analysis.csv", "*duration_errors*.csv"),
    signature=("transform_function", "metric", "min_cluster_size", "davies_bouldin_score"),
)
