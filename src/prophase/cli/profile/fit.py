"""prophase profile fit: learn the kinds of job from a history."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    progress_bar,
    say,
    show_result,
)
from prophase.cli.profile.options import (
    ClustersOption,
    LabelOption,
    LeakingOption,
    MinClusterSizeOption,
    MinSamplesOption,
    TransformOption,
    model_target,
)
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.json_types import JsonObject


@dataclass(frozen=True)
class GroupingSettings:
    """What makes the groups, and of which numbers."""

    generator: Annotated[
        str,
        typer.Option(
            help="What makes the groups: tree (at most 16, split by amounts), hdbscan (as in "
            "the paper), optics, k-means, rules, semi-supervised or autoencoder."
        ),
    ] = "tree"
    min_cluster_size: MinClusterSizeOption = None
    min_samples: MinSamplesOption = None
    clusters: ClustersOption = None
    rules: Annotated[
        Path | None, typer.Option(help="rules: TOML file with one [[rule]] per profile.")
    ] = None
    label: LabelOption = None
    distance: Annotated[
        str | None,
        typer.Option(help="Distance: euclidean or manhattan. [default: euclidean]"),
        Formerly("--metric"),
    ] = None
    transform: TransformOption = "power"
    leaking: LeakingOption = False
    reject_below: Annotated[
        float, typer.Option(help="Jobs of less strength than this, 0 to 1, become outliers.")
    ] = 0.0

    def of_generator(self) -> JsonObject:
        """Return what the generator is made with."""
        return {
            "min_cluster_size": self.min_cluster_size,
            "min_samples": self.min_samples,
            "clusters": self.clusters,
            "rules": self.rules,
            "label": self.label,
            "metric": self.distance,
        }


def command(
    path: TraceArgument,
    groups: GroupingSettings,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the profiles. [default: models/profiles.model of a workspace]"),
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help="Only jobs that ended so, e.g. completed; repeatable."),
    ] = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Learn profiles from how jobs used resources, and keep them in a file.

    Jobs that have not ended are left out. JSON holds every profile in full.

    Examples:

    `prophase profile fit ws`

    `prophase profile fit pai.csv --out profiles.model --generator k-means --clusters 20`
    """
    from prophase.cli.provenance import open_trace
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.generators.generator_names import generator_named
    from prophase.profile.clusters.profile_result import doubtful_profiles, profiles_result
    from prophase.profile.clusters.profiler import WorkloadProfiler

    target = model_target(path, out)
    with progress_bar() as progress:
        progress("reading the trace", None)
        kept = ended_jobs(open_trace(path, source=source, tables=["jobs"]).jobs, status or ())
        chosen = generator_named(
            groups.generator, kept.jobs, random_state=seed, **groups.of_generator()
        )
        progress(f"grouping {len(kept.jobs):,} jobs", None)
        profiler = WorkloadProfiler(
            chosen,
            transform=groups.transform,
            leaking=groups.leaking,
            reject_below=groups.reject_below,
            random_state=seed,
        ).fit(kept.jobs)
    profiler.notes_ = (*kept.notes, *profiler.notes_)
    profiler.save(target)
    say(f"Wrote {target}.")
    doubts = [said for said in [doubtful_profiles(profiler)] if said]
    result = profiles_result(profiler, model=str(target)).noted(*doubts)
    proper = [one for one in profiler.profiles_ if not one.outliers]
    if proper:
        largest = max(proper, key=lambda one: one.n)
        shown = as_typed(path if out is None else out)
        result = result.noted(f"Next: prophase profile show {shown} {largest.profile}")
    show_result(result, format)
