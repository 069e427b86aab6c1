"""Where commands that predict get their model: a file, or the jobs of a workspace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import OptionalWorkspace, as_typed, progress_bar, say
from prophase.cli.shared_options import SeedOption
from prophase.errors import InputError, ParameterError
from prophase.trace.workspace_paths import CLASSIFIER, PREDICTIONS

if TYPE_CHECKING:
    import pandas as pd

    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.predict.job_model import JobModel

METHOD = typer.Option(help="How to predict; prophase evaluate compares the methods.")
MethodOption = Annotated[str, METHOD]
TARGET = typer.Option(
    help="Column to predict, such as duration_s or true-or-false status=oom; where several "
    "are possible joined by commas, or 'all' that can be learnt."
)
TargetOption = Annotated[str, TARGET]


@dataclass(frozen=True)
class ModelSettings:
    """What predictions are made from: a saved model, or the jobs of a workspace or trace."""

    workspace: OptionalWorkspace = None
    model: Annotated[
        Path | None, typer.Option(help="File of prophase learn to use instead of a workspace.")
    ] = None
    method: MethodOption = "default"
    seed: SeedOption = 0

    def learnt(self, targets: Sequence[str] | None) -> JobModel:
        """Return a model: the file's, the one the workspace has of the same data, or a new one."""
        from prophase.profile.predict.job_model import JobModel

        from_environment = str(self.workspace) == os.environ.get("PROPHASE_WORKSPACE")
        if self.model is not None and (self.workspace is None or from_environment):
            return JobModel.load(self.model)
        if self.model is not None or self.workspace is None:
            raise ParameterError(
                "say what to answer from: --workspace WORKSPACE (or a trace file), or --model "
                "FILE of prophase learn."
            )
        return learnt_from(self.workspace, targets, method=self.method, seed=self.seed)

    def classifier(self) -> ProfileClassifier | None:
        """Return what tells the profile of a job, if the workspace has learnt it."""
        if self.model is not None:
            return classifier_of(self.model.resolve().parent.parent)
        return None if self.workspace is None else classifier_of(self.workspace)


def learnt_from(
    workspace: Path, targets: Sequence[str] | None, *, method: str = "default", seed: int = 0
) -> JobModel:
    """Return the model that the workspace has of the same data, or a new one."""
    from prophase.cli.provenance import open_trace
    from prophase.profile.predict.job_model import learn
    from prophase.study.workspace_models import saved_predictions

    saved = workspace / PREDICTIONS
    if saved.is_file():
        found, why = saved_predictions(workspace, targets, method=method, seed=seed)
        if found is not None:
            return found
        say(f"{saved} is not used: {why}. Training again; keep it with: "
            f"prophase learn {as_typed(workspace)}")  # fmt: skip
    with progress_bar() as show:
        show("reading the jobs", None)
        trace = open_trace(workspace, tables=["jobs"])
        if trace.jobs.empty:
            raise InputError(
                f"{workspace}: holds no jobs to learn from. Import a trace of finished jobs."
            )
        return learn(
            trace.jobs,
            targets,
            method=method,
            random_state=seed,
            data_hash=trace.data_hash,
            progress=lambda target: show(f"learning {target}", None),
        )


def classifier_of(workspace: Path) -> ProfileClassifier | None:
    """Return what tells the profile of a job, if the workspace has learnt it."""
    if not (workspace / CLASSIFIER).is_file():
        return None
    from prophase.profile.classify.classifier import ProfileClassifier

    return ProfileClassifier.load(workspace / CLASSIFIER)


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
