"""prophase predict: how long will these jobs run, what will they use?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, emit, finite
from prophase.cli.trace_options import SourceOption


def command(
    path: Annotated[Path, typer.Argument(help="Jobs to predict: a workspace or a trace file.")],
    history: Annotated[
        Path, typer.Option(help="Finished jobs to learn from: a workspace or a trace file.")
    ],
    target: Annotated[str, typer.Option(help="Column to predict.")] = "duration_s",
    method: Annotated[str, typer.Option(help="How; see prophase evaluate for all.")] = "default",
    out: Annotated[
        Path | None, typer.Option(help="Write all answers to this CSV file, show only a part.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the method.")] = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Predict a target of jobs from what is known at their submission, with a 90 % range.

    Examples:

    `prophase predict new.csv --history ws`

    `prophase predict new.csv --history ws --target memory_peak_gib --out answers.csv`
    """
    from prophase.profile.predict.methods import predictor_named
    from prophase.trace.loading import open_trace

    learnt = open_trace(history, tables=["jobs"]).jobs
    jobs = open_trace(path, source=source, tables=["jobs"]).jobs
    found = predictor_named(method, random_state=seed).fit(learnt, target).predict(jobs)
    found.insert(0, "job_id", jobs["job_id"])
    silent = int(found["abstained"].sum())
    remarks = [f"{target}: value and 90 % range, learnt from {len(learnt):,} jobs."]
    if silent:
        remarks.append(f"{silent:,} jobs have no answer; the reason says why.")
    if out is not None:
        from prophase.errors import storage_error

        try:
            found.to_csv(out, index=False)
        except OSError as cause:
            raise storage_error(cause, out) from cause
        remarks.append(f"Wrote {len(found):,} answers to {out}.")
    elif format is Format.table and len(found) > 20:
        remarks.append("The first 20 are shown. Add --out FILE, or --format csv, for all.")
    shown = found.head(20) if format is Format.table else found
    rows: list[dict[str, Any]] = [
        {str(key): finite(value) for key, value in row.items()} for row in shown.to_dict("records")
    ]
    emit(rows, format, remarks=remarks)
