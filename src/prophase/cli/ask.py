"""prophase ask: what is known of a job before it runs?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.model_options import ModelSettings, TargetOption, target_names
from prophase.cli.output import Format, FormatOption, as_typed, show_result
from prophase.cli.trace_options import ColumnsOption, named_values

if TYPE_CHECKING:
    from prophase.profile.submission.submission import Submission


def command(
    path: Annotated[
        Path,
        typer.Argument(
            help="Job file: YAML, JSON, CSV, a Kubernetes manifest or a Slurm script; - is stdin."
        ),
    ],
    source: ModelSettings,
    target: TargetOption = "all",
    set_: ColumnsOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Ask how long a job will run and what it will use, before it is submitted.

    Every answer has a 90 % range, a confidence and a reason. What mattered is read by treating
    one attribute as unknown and asking again. Keep a model with prophase learn for quick answers.

    Examples:

    `prophase ask job.yaml --workspace ws`

    `prophase ask train.sbatch --workspace ws --set user=ann`

    `prophase ask job.json --model ws/models/predictions.model --format json`
    """
    from prophase.lazy_imports import without_estimators
    from prophase.profile.job_forecast.forecast_builder import ask, forecasts_result
    from prophase.profile.submission.job_file import read_submissions

    jobs = [_corrected(job, set_ or []) for job in read_submissions(path)]
    with without_estimators():
        learnt = source.learnt(target_names(target))
        classifier = source.classifier()
    found = [ask(learnt, job, targets=target_names(target), classifier=classifier) for job in jobs]
    result = forecasts_result(found, learnt)
    if classifier is None:
        folder = source.workspace
        where = as_typed(folder) if folder and folder.is_dir() else "WORKSPACE"
        steps = f"prophase profile fit {where}, then prophase learn {where}"
        result = result.noted(f"To hear its profile, too: {steps}")
    show_result(result, format)


def _corrected(job: Submission, pairs: list[str]) -> Submission:
    """Return the job with the columns of ``--set``."""
    from prophase.profile.submission.submission import Submission, from_fields

    fields = named_values(pairs, "--set")
    if not fields:
        return job
    said = from_fields(fields, form=job.form, where="--set")
    return Submission({**job.columns, **said.columns}, job.form, (*job.notes, *said.notes))
