"""prophase ask: what is known of a job before it runs?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.model_options import (
    HistoryOption,
    MethodOption,
    ModelOption,
    classifier_for,
    model_for,
    target_names,
)
from prophase.cli.output import Format, FormatOption, as_typed, emit
from prophase.cli.trace_options import named_values

if TYPE_CHECKING:
    from prophase.profile.submission.submission import Submission


def command(
    path: Annotated[
        Path,
        typer.Argument(
            help="Job file: YAML, JSON, CSV, a Kubernetes manifest or a Slurm script; - is stdin."
        ),
    ],
    history: HistoryOption = None,
    model: ModelOption = None,
    target: Annotated[
        str, typer.Option(help="What to answer, joined by commas, or 'all' that can be learnt.")
    ] = "all",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Say or correct a column as NAME=VALUE, such as user=ann; repeatable."
        ),
    ] = None,
    method: MethodOption = "default",
    seed: Annotated[int, typer.Option(help="Seed of the method.")] = 0,
    format: FormatOption = Format.table,
) -> None:
    """Ask how long a job will run and what it will use, before it is submitted.

    Every answer has a 90 % range, a confidence and a reason. What mattered is read by treating
    one attribute as unknown and asking again. Keep a model with prophase learn for quick answers.

    Examples:

    `prophase ask job.yaml --history ws`

    `prophase ask train.sbatch --history ws --set user=ann`

    `prophase ask job.json --model ws/models/predictions.model --format json`
    """
    from prophase.profile.job_forecast.forecast_builder import ask
    from prophase.profile.submission.job_file import read_submissions

    jobs = [_corrected(job, set_ or []) for job in read_submissions(path)]
    learnt = model_for(history, model, targets=target_names(target), method=method, seed=seed)
    classifier = classifier_for(history, model)
    found = [ask(learnt, job, targets=target_names(target), classifier=classifier) for job in jobs]
    if format is Format.table:
        for place, advice in enumerate(found):
            typer.echo("\n".join([*([""] if place else []), *advice.lines()]))
        typer.echo(f"\nLearnt with {learnt.method} from {learnt.jobs:,} finished jobs.")
        if classifier is None:
            where = as_typed(history) if history and history.is_dir() else "WORKSPACE"
            steps = f"prophase profile fit {where}, then prophase learn {where}"
            typer.echo(f"To hear its profile, too: {steps}")
        return
    rows = [row for advice in found for row in advice.rows()]
    told = [advice.to_dict() for advice in found]
    emit(rows, format, document={"jobs": told, **learnt.origin})


def _corrected(job: Submission, pairs: list[str]) -> Submission:
    """Return the job with the columns of ``--set``."""
    from prophase.profile.submission.submission import Submission, from_fields

    fields = named_values(pairs, "--set")
    if not fields:
        return job
    said = from_fields(fields, form=job.form, where="--set")
    return Submission({**job.columns, **said.columns}, job.form, (*job.notes, *said.notes))
