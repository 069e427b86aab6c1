"""prophase profile clusterability: are there groups at all, and what decides about them?"""

from __future__ import annotations

from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, finite, progress_bar, show_result
from prophase.cli.profile.options import SAMPLE, TransformOption
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.json_types import JsonObject
from prophase.result import Result, Table


def command(
    path: TraceArgument,
    labels: Annotated[
        str,
        typer.Option(help="Metadata columns to judge as if they were profiles; also as a pair."),
    ] = "workload,task",
    transform: TransformOption = "power",
    repeats: Annotated[int, typer.Option(help="Repeats of the Hopkins statistic.")] = 10,
    sample: Annotated[int, SAMPLE] = 20_000,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Judge whether jobs form groups before any is made.

    Hopkins statistic per transform (0: clustered, 0.3 and above: random) with its spread; how
    well metadata columns alone would group jobs, by three distances; and what start, end and
    duration do to profiles. How often jobs come back is in prophase describe.

    Examples:

    `prophase profile clusterability ws`

    `prophase profile clusterability ws --labels workload,queue --format json`
    """
    from prophase.cli.provenance import open_trace
    from prophase.profile.clusters.clusterability import fixed_label_silhouettes, label_columns
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.generator_comparison import hopkins_by_transform, leaking_effect
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.profile.clusters.transforms import fit_transform
    from prophase.profile.clusters.usage_metrics import USAGE_METRICS, usage_features

    with progress_bar() as progress:
        progress("reading the trace", None)
        kept = ended_jobs(open_trace(path, source=source, tables=["jobs"]).jobs)
        jobs, notes = kept.jobs, list(kept.notes)
        if len(jobs) > sample:
            notes.append(f"A sample of {sample:,} of {len(jobs):,} jobs.")
            jobs = jobs.sample(sample, random_state=seed).reset_index(drop=True)
        features = usage_features(jobs)
        notes += features.notes
        progress("Hopkins statistic", 10)
        hopkins = hopkins_by_transform(features, repeats=repeats, random_state=seed)
        progress("labels as profiles", 30)
        columns, missing = label_columns(jobs, labels)
        values = fit_transform(transform, features.values)(features.values)
        judged = fixed_label_silhouettes(jobs, values, labels=columns, random_state=seed)
        notes += missing
        progress("leaking metrics", 60)
        effect = leaking_effect(jobs, WorkloadProfiler(transform=transform, random_state=seed))
    parts: dict[str, list[JsonObject]] = {
        "hopkins": finite(hopkins.to_dict("records")),
        "fixed_labels": finite(judged.to_dict("records")),
        "leaking": finite(effect.to_dict("records")),
    }
    by_name = {column: name for name, column in USAGE_METRICS.items()}
    document = {
        "jobs": len(jobs),
        "transform": transform,
        "metrics": {name: by_name.get(name, name) for name in features.columns},
        "notes": notes,
        **parts,
    }
    records = [
        {"part": part, "row": next(iter(row.values())), "what": what, "value": value}
        for part, rows in parts.items()
        for row in rows
        for what, value in list(row.items())[1:]
    ]
    headings = {
        "hopkins": "Hopkins statistic: 0 is clustered, 0.3 and above random",
        "fixed_labels": f"Mean silhouette if metadata were the profiles, {transform} transform",
        "leaking": "Profiles with and without start, end and duration; same_pairs: 1 if alike",
    }
    result = Result(
        "clusterability",
        tables=[Table(part, rows, headings[part]) for part, rows in parts.items()],
        records=records,
        notes=notes,
        values=document,
    )
    show_result(result, format)
