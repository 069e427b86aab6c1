"""Every figure of profiles with the table behind it, by name, in the order they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from prophase.errors import MissingColumnError
from prophase.plots.profiles.boxes import metric_boxes, silhouette_box_plot, silhouette_plot
from prophase.plots.profiles.density import condensed_tree, reachability_plot
from prophase.plots.profiles.distributions import duration_page, transform_pairs
from prophase.plots.profiles.heat_maps import affinity_map, metadata_map
from prophase.profile.clusters.figure_tables import (
    box_statistics,
    metadata_heat_map,
    silhouette_boxes,
)
from prophase.profile.clusters.profiler import Recognised, WorkloadProfiler
from prophase.profile.clusters.transforms import transform_histograms
from prophase.profile.clusters.usage_metrics import usage_features
from prophase.profile.node_types import node_type_affinity

#: metadata that get a heat map, if the jobs have it
MAPPED = ("workload", "task", "user", "group", "name")
#: what rows of one job share, in sources that number their jobs instead of naming them
_NAME_STAND_IN = "parent_id"


@dataclass(frozen=True)
class ProfileFigure:
    """A figure, the chapter it belongs to, what it shows, and the numbers behind it."""

    name: str
    chapter: str
    caption: str
    figure: Figure
    table: pd.DataFrame


def profile_figures(
    profiler: WorkloadProfiler, found: Recognised, *, top: int = 10
) -> Iterator[ProfileFigure]:
    """Yield the figures that profiles and jobs have numbers for, one at a time."""
    yield from _silhouettes(found)
    yield from _density(profiler, found)
    yield from _boxes(found)
    yield from _maps(found, top)
    yield from _affinity(found)
    yield from _distributions(profiler, found)


def _silhouettes(found: Recognised) -> Iterator[ProfileFigure]:
    table = silhouette_boxes(found.scores)
    if table.empty:
        return
    chapter = "Are profiles well separated?"
    yield ProfileFigure(
        "silhouette",
        chapter,
        f"Silhouettes of {len(found.scores.values):,} jobs, outliers left out; orange profiles "
        "have over 20 % of their jobs below 0.",
        silhouette_plot(found.scores, table),
        pd.DataFrame(
            {
                "job_id": _ids(found).iloc[found.scores.rows].to_numpy(),
                "profile": found.scores.labels,
                "silhouette": found.scores.values,
            }
        ),
    )
    yield ProfileFigure(
        "silhouette-boxes",
        chapter,
        "The same as boxes; the share below 0 is written where it is over 20 %.",
        silhouette_box_plot(table),
        table,
    )


def _density(profiler: WorkloadProfiler, found: Recognised) -> Iterator[ProfileFigure]:
    chapter = "How did density make them?"
    if profiler.tree_ is not None and len(profiler.tree_.groups()):
        yield ProfileFigure(
            "condensed-tree",
            chapter,
            "Groups split from top to bottom as density grows; those that last become profiles.",
            condensed_tree(profiler.tree_),
            profiler.tree_.groups(),
        )
    if profiler.reachability_ is not None:
        reached = profiler.reachability_
        yield ProfileFigure(
            "reachability",
            chapter,
            "Distance at which each job was reached; valleys are groups.",
            reachability_plot(reached, profiler.labels_),
            pd.DataFrame(
                {
                    "job_id": profiler.job_ids_[reached.order],
                    "profile": profiler.labels_[reached.order],
                    "distance": reached.distance,
                }
            ),
        )


def _boxes(found: Recognised) -> Iterator[ProfileFigure]:
    for metric in usage_features(found.jobs).columns:
        table = box_statistics(found.jobs, found.labels, metric)
        if table is None:
            continue
        yield ProfileFigure(
            f"box-{metric}",
            "What do profiles use?",
            f"{metric} per profile: box, median, mean (dot); whiskers within 1.5 interquartile "
            "ranges; orange: the outlier group.",
            metric_boxes(table),
            table.boxes,
        )


def _maps(found: Recognised, top: int) -> Iterator[ProfileFigure]:
    columns = [column for column in MAPPED if _has_values(found.jobs, column)]
    if "name" not in columns and _has_values(found.jobs, _NAME_STAND_IN):
        columns.append(_NAME_STAND_IN)
    for column in columns:
        table = metadata_heat_map(found.jobs, found.labels, column, top=top)
        yield ProfileFigure(
            f"map-{column}",
            "Which metadata do they have?",
            f"How the jobs of the {top} commonest values of {column} spread over profiles.",
            metadata_map(table),
            table.reset_index(),
        )


def _has_values(jobs: pd.DataFrame, column: str) -> bool:
    return column in jobs and bool(jobs[column].notna().any())


def _affinity(found: Recognised) -> Iterator[ProfileFigure]:
    try:
        table = node_type_affinity(found.jobs, found.labels)
    except MissingColumnError:
        return
    if table.empty or table["node_type"].nunique() < 2 or table["relative_duration"].isna().all():
        return
    yield ProfileFigure(
        "node-types",
        "Which node types suit them?",
        "Median duration on a node type over the profile's median. Jobs choose their nodes, so "
        "this is association; pale cells in brackets have under 30 jobs.",
        affinity_map(table),
        table,
    )


def _distributions(profiler: WorkloadProfiler, found: Recognised) -> Iterator[ProfileFigure]:
    chapter = "How are metrics distributed?"
    features = usage_features(found.jobs, columns=profiler.columns_)
    if features.columns == profiler.columns_:
        table = transform_histograms(features, profiler.transform_)
        yield ProfileFigure(
            "transform",
            chapter,
            f"Every metric before and after the transform {profiler.transform_.name}; counts on a "
            "log scale.",
            transform_pairs(table, profiler.transform_.name),
            table,
        )
    if "duration_s" in found.jobs and (found.jobs["duration_s"] > 0).any():
        durations = found.jobs["duration_s"].to_numpy(np.float64, na_value=np.nan)
        yield ProfileFigure(
            "durations",
            chapter,
            "Histogram, distribution function and Q-Q plots of all run times.",
            duration_page(durations),
            _duration_table(durations),
        )


def _duration_table(durations: Any) -> pd.DataFrame:
    held = durations[np.isfinite(durations)]
    shares = np.round(np.arange(0, 1.0001, 0.005), 3)
    return pd.DataFrame({"share": shares, "duration_s": np.quantile(held, shares)})


def _ids(found: Recognised) -> pd.Series[Any]:
    if "job_id" in found.jobs:
        return found.jobs["job_id"]
    return pd.Series(found.jobs.index, index=found.jobs.index)
