"""prophase profile running: which running jobs are unlike their profile?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, finite, show_result
from prophase.cli.profile.options import (
    ProfilesOption,
    open_profiles,
    profile_classifier,
    trace_of,
)
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.plural import counted

if TYPE_CHECKING:
    from prophase.stats import Estimate


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

    A job is unlike its profile if a metric lies a quarter beyond what 98 of 100 completed jobs
    keep within that were of that profile or taken for it. Means are judged after a tenth of the
    usual run time, peaks at once.

    Examples:

    `prophase profile running now.csv --past ws`
    """
    from prophase.cli.provenance import open_trace
    from prophase.profile.running_jobs import (
        as_predicted,
        completed,
        false_alarms,
        watch_running,
    )
    from prophase.result import Result

    past = history or trace_of(path, None)
    held = open_profiles(profiles or past)
    classifier, said = profile_classifier(past, profiles, held, seed)
    trace = open_trace(path, source=source)
    done = completed(open_trace(past, tables=["jobs"]).jobs)
    found = watch_running(
        trace.jobs,
        as_predicted(held.profiles_, done, classifier),
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
    notes = [said, *(one.sentence() for one in deviating[:20])]
    if not found:
        notes.append("No job of the table is running: none has a start and no end.")
    elif not deviating:
        notes.append("Every running job that can be judged is as its profile.")
    alarms = false_alarms(done, held.profiles_, classifier)
    notes.append(_told(alarms))
    document = {"running": [asdict(one) for one in found], "false_alarms": alarms.to_dict()}
    show_result(
        Result.of_rows("profile-running", rows, values=finite(document), notes=notes), format
    )


def _told(alarms: Estimate) -> str:
    """Say how often a job is named that does what it should."""
    if alarms.value != alarms.value:
        return f"How often such an alarm is false is unknown: {alarms.reason}."
    reach = f" (95 % CI {100 * alarms.low:.1f} to {100 * alarms.high:.1f})" if alarms.known else ""
    return (
        f"Of the last {counted(alarms.n, 'completed job')}, {100 * alarms.value:.1f} %{reach} "
        "would have been named before they ended, judged by those before: expect as many false "
        "alarms."
    )
