"""prophase profile compare: every way of making profiles, in one table."""

from __future__ import annotations

from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, finite, progress_bar, show_result
from prophase.cli.profile.options import (
    LABEL,
    SAMPLE,
    ClustersOption,
    LeakingOption,
    MinClusterSizeOption,
    TransformOption,
)
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.json_types import JsonObject
from prophase.result import Result


def command(
    path: TraceArgument,
    generators: Annotated[
        str, typer.Option(help="Comma-separated names.")
    ] = "hdbscan,optics,k-means,rules,semi-supervised,autoencoder",
    label: Annotated[str, LABEL] = "workload",
    labelled: Annotated[
        int, typer.Option(min=1, help="Jobs of each label that semi-supervised profiles may see.")
    ] = 5,
    clusters: ClustersOption = None,
    min_cluster_size: MinClusterSizeOption = None,
    transform: TransformOption = "power",
    leaking: LeakingOption = False,
    sample: Annotated[int, SAMPLE] = 20_000,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Make profiles in every way and compare them on the same metrics.

    Rules take each value of a metadata column as a profile; semi-supervised profiles spread a
    few of those labels to jobs of similar use. Silhouettes of jobs in a profile count, so look at
    the share of outliers beside them.

    Examples:

    `prophase profile compare ws`

    `prophase profile compare ws --generators hdbscan,k-means --clusters 12`
    """
    from prophase.cli.provenance import open_trace
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.generator_comparison import compare_named

    names = [name.strip() for name in generators.split(",") if name.strip()]
    with progress_bar() as progress:
        progress("reading the trace", None)
        kept = ended_jobs(open_trace(path, source=source, tables=["jobs"]).jobs)
        jobs, notes = kept.jobs, list(kept.notes)
        if len(jobs) > sample:
            notes.append(f"A sample of {sample:,} of {len(jobs):,} jobs.")
            jobs = jobs.sample(sample, random_state=seed).reset_index(drop=True)
        table = compare_named(
            jobs,
            names,
            label=label,
            labelled=labelled,
            clusters=clusters,
            min_cluster_size=min_cluster_size,
            transform=transform,
            leaking=leaking,
            random_state=seed,
            progress=lambda name, done: progress(f"grouping by {name}", 100 * done / len(names)),
        )
    rows: list[JsonObject] = finite(table.to_dict("records"))
    told = [f"{row['generator']}: {row['note']}" for row in rows if row["note"]]
    shown = [{key: value for key, value in row.items() if key not in _HIDDEN} for row in rows]
    remarks = [
        "same_pairs: adjusted Rand index with the first that came out; "
        "davies_bouldin: smaller is better, outliers as a group.",
        *notes,
        *told,
    ]
    document = {"jobs": len(jobs), "transform": transform, "notes": notes, "generators": rows}
    show_result(
        Result.of_rows(
            "profile-compare",
            shown if format is Format.table else rows,
            values=document,
            notes=remarks,
        ),
        format,
    )


_HIDDEN = ("note", "n_jobs", "silhouette_rows", "davies_bouldin_clustered", "mean_cluster_size")
