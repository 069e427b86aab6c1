"""prophase slo: which jobs will break a rule, before they start?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.model_options import ModelSettings, jobs_at
from prophase.cli.output import Format, FormatOption, finite, show_result, text_table
from prophase.cli.trace_options import SourceOption
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    import pandas as pd

_MOST_SHOWN = 20


def command(
    rules: Annotated[Path, typer.Argument(help="TOML or YAML file with one [[rule]] per rule.")],
    path: Annotated[
        Path, typer.Argument(help="Jobs: a workspace, a trace file, or a job file as for ask.")
    ],
    model: ModelSettings,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Predict which jobs will break a rule; exit code 1 if any will.

    Where the jobs have outcomes, predictions are judged by them: judge on jobs that the
    history does not hold.

    Examples:

    `prophase slo rules.toml new.csv --workspace ws`

    `prophase slo rules.toml job.yaml --model ws/models/predictions.model`
    """
    from prophase.profile.slo import judge_slo, read_rules

    known = read_rules(rules)
    jobs = _jobs(path, source)
    targets = list(dict.fromkeys(rule.metric for rule in known))
    learnt = model.learnt(targets)
    found = judge_slo(learnt, known, jobs)
    rows = found.violations.to_dict("records")
    if format is Format.table:
        for line in text_table([finite(rule) for rule in found.rules]):
            typer.echo(line)
        if rows:
            typer.echo("")
    shown = rows if format is not Format.table else rows[:_MOST_SHOWN]
    remarks = [f"{len(rows):,} violations predicted among {len(jobs):,} jobs."]
    if len(rows) > len(shown):
        remarks.append(f"The {_MOST_SHOWN} likeliest are shown; --format csv lists all.")
    document = {"predicted": len(rows), "rules": list(found.rules), "violations": rows}
    told: list[JsonObject] = [finite(row) for row in shown]
    show_result(Result.of_rows("slo", told, values=finite(document), notes=remarks), format)
    if rows:
        raise typer.Exit(1)


def _jobs(path: Path, source: str | None) -> pd.DataFrame:
    """Return jobs of a trace or table, or of a job file."""
    from prophase.profile.submission.job_file import read_submissions
    from prophase.profile.submission.submission import as_jobs

    tables = (".csv", ".gz", ".parquet", ".txt", "")
    if source is None and path.is_file() and path.suffix.lower() not in tables:
        return as_jobs(read_submissions(path))
    return jobs_at(path, source)
