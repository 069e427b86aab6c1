"""prophase next first-run: what to ask for when nobody has run the job before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    WorkspaceOption,
    finite,
    progress_bar,
    show_result,
)
from prophase.cli.shared_options import SeedOption
from prophase.cli.sizing_options import GroupOption, ResourceOption, RiskOption
from prophase.cli.trace_options import SourceOption
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.result import Result


def command(
    job: Annotated[Path, typer.Argument(help="The job: .yaml or .json of columns, sbatch, pod.")],
    workspace: WorkspaceOption = Path(),
    risk: RiskOption = None,
    resource: ResourceOption = "memory",
    by: GroupOption = None,
    runs: Annotated[
        int,
        typer.Option(
            "--generous-runs", min=0, help="Keep the own request until so many runs are known."
        ),
    ] = 0,
    after: Annotated[
        str, typer.Option(help="Known runs at which the lines of the table begin.")
    ] = "0,1,3,10",
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Say what a job should ask for in its first run, and how that narrows as it runs.

    The ladder and the range come from similar jobs. The table shows, from the history's own
    first, second, third ... runs, how requests improved once 1, 3 and 10 runs were known, and how
    confidence grew: the share of first requests that held and were at most 1.5 times the need.

    Examples:

    `prophase next first-run job.yaml --workspace ws`

    `prophase next first-run job.yaml --workspace ws --generous-runs 5 --after 0,5,20`
    """
    from prophase.cli.provenance import open_trace
    from prophase.profile.submission.job_file import read_submissions
    from prophase.study.cold_start import first_run

    with progress_bar() as show:
        show("reading", None)
        asked = dict(read_submissions(job)[0].columns)
        jobs = open_trace(workspace, source=source, tables=["jobs"]).jobs
        show("sizing it, and the history's own first runs", None)
        found = first_run(
            jobs, asked, resource=resource, seed=seed, generous_runs=runs,
            after=_numbers(after),
            by=[name.strip() for name in by.split(",")] if by else (),
            risk=None if risk is None else units.parse_share(risk, where="--risk", below_one=True),
        )  # fmt: skip
    rows: list[JsonObject] = [
        {
            "runs_known": one.runs_known,
            "decisions": one.decisions,
            "request_over_need": one.factor.value,
            "low": one.factor.low,
            "high": one.factor.high,
            "killed_pct": one.killed_pct,
            "confidence_pct": 100 * one.confidence.value,
            "confidence_low_pct": 100 * one.confidence.low,
            "confidence_high_pct": 100 * one.confidence.high,
            "waste_pct_of_today": one.waste_pct,
        }
        for one in found.curve
    ]
    document = found.to_dict()
    rungs = ", ".join(units.number(rung) for rung in found.ladder)
    remarks = [
        f"{found.task}: ask for {rungs} {found.unit} in the 1st, 2nd and 3rd attempt"
        + (f"; {found.runs_known:,} runs of it are known." if found.runs_known else
           "; no run of it is known."),
        _range(document),
        "The table: first request over what was needed (median, 80 % range), by how many runs of "
        f"the same kind had ended by then. Grouped by {found.grouped_by}; --by changes it.",
    ]  # fmt: skip
    show_result(
        Result.of_rows(
            "next-first-run", [finite(row) for row in rows], values=document, notes=remarks
        ),
        format,
    )


def _numbers(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",")]
    except ValueError as cause:
        raise ParameterError(f"--after {text}: give numbers of runs such as 0,1,3,10.") from cause


def _range(found: JsonObject) -> str:
    if found["peak"] is None:
        return f"What it will use cannot be predicted: {found['why']}"
    said = (
        f"Predicted peak {units.amount(found['peak'], found['unit'])} "
        f"({units.amount(found['peak_low'], found['unit'])} to "
        f"{units.amount(found['peak_high'], found['unit'])} in 90 % of cases)"
    )
    if found["duration_s"] is not None:
        said += (
            f", run time {units.duration(found['duration_s'])} "
            f"({units.duration(found['duration_low_s'])} to "
            f"{units.duration(found['duration_high_s'])})"
        )
    return f"{said}: {found['why']}."
