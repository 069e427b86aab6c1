"""Where commands that predict get their model: a file, or the jobs of a workspace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import OptionalWorkspace, progress_bar, say
from prophase.cli.shared_options import SEED
from prophase.errors import MissingColumnError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.predict.job_model import JobModel

METHOD = typer.Option(
    help="How to predict; prophase evaluate compares the methods. mixture+wordllama reads names "
    "by meaning."
)
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
    #: of neither: the model that the workspace keeps answers, however it was learnt
    method: Annotated[str | None, METHOD] = None
    seed: Annotated[int | None, SEED] = None

    def learnt(self, targets: Sequence[str] | None) -> JobModel:
        """Return a model: the file's, the one the workspace keeps, or a new one."""
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
        from prophase.study.workspace_models import kept_classifier

        if self.model is not None:
            return kept_classifier(self.model.resolve().parent.parent)
        return None if self.workspace is None else kept_classifier(self.workspace)


def learnt_from(
    workspace: Path,
    targets: Sequence[str] | None,
    *,
    method: str | None = None,
    seed: int | None = None,
) -> JobModel:
    """Return the model that every door of the workspace answers from, or a new one."""
    from prophase.study.workspace_models import answering_model

    with progress_bar() as show:
        return answering_model(workspace, targets, method=method, seed=seed, show=show, tell=say)


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
    except (ParameterError, MissingColumnError) as cause:
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
