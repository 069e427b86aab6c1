"""prophase profile running: which running jobs are unlike their profile?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, finite, show_result
from prophase.cli.profile.options import ProfilesOption, labelled_jobs, open_profiles, trace_of
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import SourceOption, TraceArgument


def command(
    path: TraceArgument,
    history: Annotated[
        Path | None,
        typer.Option(
            "--past",
            help="Workspace whose profiles and finished jobs to compare with. [default: TRACE]",
        ),
    ] = None,
    profiles: ProfilesOption = None,
    now: Annotated[
        float | None,
        typer.Option(
            "--at", help="Time in seconds of the trace's clock. [default: the latest in it]"
        ),
    ] = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Hold running jobs against the profile that their metadata predicts, and say what to do.

    A job is unlike its profile if a metric lies a quarter beyond what 98 of 100 of its jobs keep
    within. Means are judged after a tenth of the usual run time, peaks at once.

    Examples:

    `prophase profile running now.csv --past ws`
    """
    from prophase.cli.provenance import open_trace
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.running_jobs import watch_running
    from prophase.result import Result

    past = history or trace_of(path, None)
    held = open_profiles(profiles or past)
    labelled = labelled_jobs(past, None, None, profiles, seed)
    classifier = ProfileClassifier(metadata="all", random_state=seed)
    classifier.fit(labelled.jobs, labelled.labels)
    trace = open_trace(path, source=source)
    found = watch_running(
        trace.jobs,
        held.profiles_,
        classifier,
        usage=trace.tables.get("usage"),
        now_s=now,
    )
    rows = [
        {
            "job_id": one.job_id,
            "verdict": one.verdict,
            "profile": one.profile,
            "elapsed_s": one.elapsed_s,
            "of_usual_run_pct": 100 * one.run_share,
            "metric": one.metric,
            "value": one.value,
        }
        for one in found
    ]
    deviating = [one for one in found if one.deviates]
    notes = [one.sentence() for one in deviating[:20]]
    if not found:
        notes.append("No job of the table is running: none has a start and no end.")
    elif not deviating:
        notes.append("Every running job that can be judged is as its profile.")
    document = {"running": [asdict(one) for one in found]}
    show_result(
        Result.of_rows("profile-running", rows, values=finite(document), notes=notes), format
    )
