"""Compare ways of making profiles: with and without leaking metrics, and by generator."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from prophase.json_types import JsonObject
from prophase.profile.clusters import library
from prophase.profile.clusters.clusterability import hopkins
from prophase.profile.clusters.clustering import Generator, cluster_statistics
from prophase.profile.clusters.generators.generator_names import generator_named, paper_generator
from prophase.profile.clusters.generators.k_means import KMeans
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.quality import silhouettes
from prophase.profile.clusters.transforms import PAPER_TRANSFORMS, fit_transform
from prophase.profile.clusters.usage_metrics import LEAKING, UsageFeatures, usage_features

#: column that holds the few labels a comparison gives away
_SOME = "some_labels"


def leaking_effect(jobs: pd.DataFrame, profiler: WorkloadProfiler | None = None) -> pd.DataFrame:
    """Return the statistics of profiles with and without start, end and duration.

    ``same_pairs`` is the adjusted Rand index between the two: 1 if the leaking metrics change
    nothing, 0 if the profiles have nothing in common.
    """
    base = profiler or WorkloadProfiler()
    rows, labels = [], []
    for leaking in (True, False):
        one = WorkloadProfiler(
            base.generator or paper_generator(len(jobs)),
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


def hopkins_by_transform(
    features: UsageFeatures, *, repeats: int = 10, random_state: int = 0
) -> pd.DataFrame:
    """Return the Hopkins statistic without a transform and under each of the paper's.

    ``without_leaking`` is that without start, end and duration.
    """
    rows = []
    clean = [place for place, name in enumerate(features.columns) if name not in LEAKING]
    for name in ("none", *PAPER_TRANSFORMS):
        values = features.values
        if name != "none":
            values = fit_transform(name, values)(values)
        found = hopkins(values, repeats=repeats, random_state=random_state)
        row = {"transform": name, "hopkins": found.statistic, "spread": found.spread}
        if clean and len(clean) < len(features.columns):
            less = hopkins(values[:, clean], repeats=repeats, random_state=random_state)
            row["without_leaking"] = less.statistic
        rows.append({**row, "clustered": found.clustered})
    return pd.DataFrame(rows)


def compare_generators(
    jobs: pd.DataFrame,
    generators: Sequence[Generator],
    *,
    transform: str = "power",
    leaking: bool = False,
    silhouette_rows: int | None = 5_000,
    progress: Callable[[str, int], None] | None = None,
) -> pd.DataFrame:
    """Return one row of statistics per generator, all on the same transformed metrics.

    ``same_pairs`` is the adjusted Rand index with the first of them.

    Examples
    --------
    >>> from prophase.profile.clusters.generators.k_means import KMeans
    >>> jobs = pd.DataFrame({"cpu_mean_cores": [1.0, 1.1, 1.2, 8.0, 8.1, 8.2]})
    >>> compare_generators(jobs, [KMeans(2)])[["generator", "n_clusters"]].values.tolist()
    [['kmeans', 2]]
    """
    features = usage_features(jobs, leaking=leaking)
    values = fit_transform(transform, features.values)(features.values)
    report = progress or (lambda name, done: None)
    rows, first = [], None
    for place, generator in enumerate(generators):
        report(generator.name, place)
        began = time.process_time()
        found = generator.cluster(values, jobs)
        seconds = time.process_time() - began
        scores = silhouettes(values, found.labels, metric=generator.metric, rows=silhouette_rows)
        row = cluster_statistics(values, found, scores)
        first = found.labels if first is None else first
        same = float(library("sklearn.metrics").adjusted_rand_score(first, found.labels))
        spent = {"same_pairs": same, "cpu_s": round(seconds, 3), "note": " ".join(found.notes)}
        rows.append({"generator": generator.name, **row, **spent})
    return pd.DataFrame(rows)


def compare_named(
    jobs: pd.DataFrame,
    names: Sequence[str],
    *,
    label: str = "workload",
    labelled: int = 5,
    clusters: int | None = None,
    min_cluster_size: int | None = None,
    transform: str = "power",
    leaking: bool = False,
    random_state: int = 0,
    progress: Callable[[str, int], None] | None = None,
) -> pd.DataFrame:
    """Compare generators by name; what one needs to know comes from the jobs themselves.

    Parameters
    ----------
    label : str, default="workload"
        Column whose values are the profiles of ``rules``, and of which ``semi-supervised`` sees
        ``labelled`` jobs for each value.
    clusters : int, optional
        Profiles of k-means; as many as HDBSCAN finds if not given.

    Examples
    --------
    >>> jobs = pd.DataFrame({"cpu_mean_cores": [1.0, 1.1, 1.2, 8.0, 8.1, 8.2]})
    >>> compare_named(jobs, ["k-means"], clusters=2)["n_clusters"].tolist()
    [2]
    """
    table = jobs.copy()
    report = progress or (lambda name, done: None)
    made: list[Generator] = []
    for name in names:
        settings: JsonObject = {}
        if name in ("hdbscan", "optics", "autoencoder"):
            settings["min_cluster_size"] = min_cluster_size
        if name == "k-means":
            settings["clusters"] = clusters
        if name == "rules":
            settings["label"] = label
        if name == "semi-supervised":
            if label in table:
                table[_SOME] = some_labels(table[label], labelled, random_state)
            settings["label"] = _SOME if _SOME in table else label
        made.append(generator_named(name, table, random_state=random_state, **settings))
    if clusters is None and any(isinstance(one, KMeans) for one in made):
        report("hdbscan, to count profiles", 0)
        counted = WorkloadProfiler(
            paper_generator(len(table)), transform=transform, leaking=leaking
        ).fit(table)
        count = max(2, counted.statistics_["n_clusters"])
        made = [replace(one, clusters=count) if isinstance(one, KMeans) else one for one in made]
    return compare_generators(table, made, transform=transform, leaking=leaking, progress=progress)


def some_labels(values: pd.Series[Any], each: int, random_state: int = 0) -> pd.Series[Any]:
    """Return the values with all but a few of each made missing.

    Examples
    --------
    >>> some_labels(pd.Series(["a", "a", "b"]), 1).notna().sum()
    np.int64(2)
    """
    shuffled = values.sample(frac=1, random_state=random_state)
    kept = shuffled.groupby(shuffled).head(each).index
    return values.where(values.index.isin(kept))
