"""Compare ways of making profiles: with and without leaking metrics, and by generator."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from prophase.profile.clusters.clustering import Generator
from prophase.profile.clusters.features import usage_features
from prophase.profile.clusters.grid.running import cluster_statistics
from prophase.profile.clusters.libraries import library
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.quality import silhouettes
from prophase.profile.clusters.transforms import fit_transform


def leaking_effect(jobs: pd.DataFrame, profiler: WorkloadProfiler | None = None) -> pd.DataFrame:
    """Return the statistics of profiles with and without start, end and duration.

    ``same_pairs`` is the adjusted Rand index between the two: 1 if the leaking metrics change
    nothing, 0 if the profiles have nothing in common.
    """
    base = profiler or WorkloadProfiler()
    rows, labels = [], []
    for leaking in (True, False):
        one = WorkloadProfiler(
            base.generator,
            transform=base.transform,
            leaking=leaking,
            members=base.members,
            silhouette_rows=base.silhouette_rows,
            random_state=base.random_state,
        ).fit(jobs)
        labels.append(one.labels_)
        rows.append({"leaking": leaking, "metrics": len(one.columns_), **one.statistics_})
    same = float(library("sklearn.metrics").adjusted_rand_score(*labels))
    return pd.DataFrame(rows).assign(same_pairs=same)


def compare_generators(
    jobs: pd.DataFrame,
    generators: Sequence[Generator],
    *,
    transform: str = "power",
    leaking: bool = False,
    silhouette_rows: int | None = 5_000,
) -> pd.DataFrame:
    """Return one row of statistics per generator, all on the same transformed metrics.

    Examples
    --------
    >>> from prophase.profile.clusters.generators import KMeans
    >>> jobs = pd.DataFrame({"cpu_mean_cores": [1.0, 1.1, 1.2, 8.0, 8.1, 8.2]})
    >>> compare_generators(jobs, [KMeans(2)])[["generator", "n_clusters"]].values.tolist()
    [['kmeans', 2]]
    """
    features = usage_features(jobs, leaking=leaking)
    values = fit_transform(transform, features.values)(features.values)
    rows = []
    for generator in generators:
        found = generator.cluster(values, jobs)
        scores = silhouettes(values, found.labels, metric=generator.metric, rows=silhouette_rows)
        row = cluster_statistics(values, found, scores)
        rows.append({"generator": generator.name, **row, "note": " ".join(found.notes)})
    return pd.DataFrame(rows)
