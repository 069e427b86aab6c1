"""Where commands that predict get their model: a file, a workspace that has one, or history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import as_typed, progress_bar, say
from prophase.errors import InputError, ParameterError
from prophase.trace.workspace_paths import CLASSIFIER, PREDICTIONS

if TYPE_CHECKING:
    import pandas as pd

    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.predict.job_model import JobModel

HistoryOption = Annotated[
    Path | None,
    typer.Option(help="Finished jobs to learn from: a workspace or a trace file."),
]
ModelOption = Annotated[
    Path | None,
    typer.Option("--model", help="File of prophase learn to use instead of learning."),
]
MethodOption = Annotated[str, typer.Option(help="How; see prophase evaluate for all.")]


def model_for(
    history: Path | None,
    model: Path | None,
    *,
    targets: Sequence[str] | None,
    method: str = "default",
    seed: int = 0,
) -> JobModel:
    """Return a model: the file's, the one the workspace has of the same data, or a new one."""
    from prophase.cli.provenance import open_trace
    from prophase.profile.predict.job_model import JobModel, learn
    from prophase.study.workspace_models import saved_predictions

    if (history is None) == (model is None):
        raise ParameterError(
            "say what to answer from: --history WORKSPACE (or a trace file), or --model FILE of "
            "prophase learn."
        )
    if model is not None:
        return JobModel.load(model)
    assert history is not None
    saved = history / PREDICTIONS
    if saved.is_file():
        found, why = saved_predictions(history, targets, method=method, seed=seed)
        if found is not None:
            return found
        say(f"{saved} is not used: {why}. Learning anew; keep it with: "
            f"prophase learn {as_typed(history)}")  # fmt: skip
    with progress_bar() as show:
        show("reading the history", None)
        trace = open_trace(history, tables=["jobs"])
        if trace.jobs.empty:
            raise InputError(
                f"{history}: holds no jobs to learn from. Import a trace of finished jobs."
            )
        return learn(
            trace.jobs,
            targets,
            method=method,
            random_state=seed,
            data_hash=trace.data_hash,
            progress=lambda target: show(f"learning {target}", None),
        )


def classifier_for(history: Path | None, model: Path | None) -> ProfileClassifier | None:
    """Return what tells the profile of a job, if the workspace has learnt it."""
    folder = history if history is not None else model.resolve().parent.parent if model else None
    if folder is None or not (folder / CLASSIFIER).is_file():
        return None
    from prophase.profile.classify.classifier import ProfileClassifier

    return ProfileClassifier.load(folder / CLASSIFIER)


def jobs_at(path: Path, source: str | None) -> pd.DataFrame:
    """Return the jobs of a trace, or of a plain table in the columns of the job table."""
    from prophase.cli.provenance import open_trace
    from prophase.profile.submission.job_table import (
        is_job_table,
        read_job_table,
        strange_columns,
    )

    if source is None and is_job_table(path):
        return read_job_table(path)
    try:
        return open_trace(path, source=source, tables=["jobs"]).jobs
    except ParameterError as cause:
        strange = strange_columns(path) if source is None else []
        if not strange:
            raise
        raise ParameterError(
            f"{path}: {', '.join(strange)} {'is' if len(strange) == 1 else 'are'} not of the job "
            "table. Leave it out, write it as attr_NAME if it is known at submission, or name "
            "the source with --source."
        ) from cause


def target_names(text: str | None) -> list[str] | None:
    """Return the names of ``--target a,b``; None stands for all that can be learnt."""
    if text is None or text.strip() == "all":
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ParameterError("--target names none. Write for example: --target duration_s")
    return names
