"""prophase predict: how long will these jobs run, what will they use?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.model_options import ModelSettings, TargetOption, jobs_at, target_names
from prophase.cli.output import Format, FormatOption, show_result, write_table
from prophase.cli.trace_options import SourceOption
from prophase.result import Result


def command(
    path: Annotated[Path, typer.Argument(help="Jobs to predict: a workspace or a trace file.")],
    known: ModelSettings,
    target: TargetOption = "duration_s",
    out: Annotated[
        Path | None, typer.Option(help="Write all answers to this CSV file, show only a part.")
    ] = None,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Predict targets of jobs from what is known at their submission, with a 90 % range.

    Jobs come from a trace of any source, or from a CSV file in the columns of the job table
    (user, queue, request_gpus, memory=16Gi ...). A column that no job has is taken from
    finished jobs like each. One target gives a row per job; several give a row per job and
    target.

    Examples:

    `prophase predict new.csv --workspace ws`

    `prophase predict new.csv --workspace ws --target duration_s,memory_peak_gib --out answers.csv`
    """
    from prophase.profile.predict.prediction_rows import as_rows, predicted

    jobs = jobs_at(path, source)
    wanted = target_names(target)
    learnt = known.learnt(wanted)
    found = predicted(learnt, jobs, wanted)
    told = learnt.check_targets(wanted)
    silent = int(found["abstained"].sum())
    remarks = [f"{', '.join(told)}: value and 90 % range, learnt from {learnt.jobs:,} jobs."]
    absent = learnt.absent(jobs)
    if absent:
        remarks.append(f"No {', '.join(absent)} given: taken from finished jobs like each.")
    if silent:
        remarks.append(f"{silent:,} answers are missing; the reason says why.")
    if out is not None:
        write_table(found, out, "answer")
    elif format is Format.table and len(found) > 20:
        remarks.append("The first 20 are shown. Add --out FILE, or --format csv, for all.")
    shown = found.head(20) if format is Format.table else found
    rows = as_rows(shown)
    show_result(
        Result.of_rows(
            "predict", rows, values={"predictions": rows, **learnt.origin}, notes=remarks
        ),
        format,
    )
