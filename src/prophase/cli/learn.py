"""prophase learn: keep what finished jobs teach, so that answers come at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.learnt_model import MethodOption, target_names
from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    emit,
    finite,
    progress_bar,
    typed_command,
)
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError
from prophase.profile.places import CLASSIFIER, PREDICTIONS, PROFILES

if TYPE_CHECKING:
    from prophase.trace.loading import Trace


def command(
    path: TraceArgument,
    target: Annotated[
        str, typer.Option(help="Columns to predict, joined by commas, or 'all' that have values.")
    ] = "all",
    out: Annotated[
        Path | None,
        typer.Option(help="File for the model. [default: models/predictions.model of a workspace]"),
    ] = None,
    method: MethodOption = "default",
    mlflow: Annotated[
        str | None,
        typer.Option(help="Also register it in MLflow: http://HOST:5000 or sqlite:///FILE."),
    ] = None,
    register: Annotated[
        str, typer.Option(help="With --mlflow: name of the registered model.")
    ] = "prophase-predictions",
    seed: Annotated[int, typer.Option(help="Seed of the method.")] = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Learn duration and use from finished jobs, and keep the model in a file.

    A workspace also learns what each task should ask for (as prophase size; how daring it may be
    is set by [requests] in prophase.toml) and, with profiles (prophase profile fit), to tell them
    by metadata.

    Examples:

    `prophase learn ws`

    `prophase learn may.csv --target duration_s,memory_peak_gib --out may.model`

    `prophase learn ws --mlflow sqlite:///mlflow.db --register ours`
    """
    from prophase.profile.predict.job_model import learn
    from prophase.trace.loading import open_trace
    from prophase.trace.workspace import Workspace

    if out is None and not Workspace.is_at(path):
        raise ParameterError(
            f"{path} is not a workspace, so there is no place for the model. Name a file: "
            "--out predictions.model"
        )
    if out is not None and out.is_dir():
        raise ParameterError(f"--out {out}: is a folder. Name a file, such as my.model.")
    kept = out or path / PREDICTIONS
    with progress_bar() as show:
        show("reading the history", None)
        trace = open_trace(path, source=source, tables=["jobs"])
        model = learn(
            trace.jobs,
            target_names(target),
            method=method,
            random_state=seed,
            data_hash=trace.data_hash,
            progress=lambda name: show(f"learning {name}", None),
        )
        show("writing the model", None)
        checksum = model.save(kept)
        sized = out is None and learn_to_request(path, trace, lambda step: show(step, None))
        named = out is None and learn_to_tell_profiles(path, seed, lambda step: show(step, None))
    rows: list[dict[str, Any]] = [
        {"target": name, "jobs": len(one.history_), "kinds": len(one.history_.levels)}
        for name, one in model.predictors.items()
    ]
    where = f"--history {as_typed(path)}" if out is None else f"--model {as_typed(out)}"
    remarks = [
        *model.notes,
        f"Learnt with {model.method} from {model.jobs:,} jobs. Wrote {kept}.",
        *(["Jobs can be told what to ask for when they are submitted."] if sized else []),
        *(["Answers will name the profile of a job, too."] if named else []),
        f"Next: prophase ask job.yaml {where}",
    ]
    registered = _registered(kept, mlflow, register)
    if registered is not None:
        remarks.insert(-1, f"Registered in MLflow as {registered}.")
    document = {
        "model": str(kept),
        "registered": registered,
        "checksum": checksum,
        "method": model.method,
        "jobs": model.jobs,
        "columns": list(model.columns),
        "targets": rows,
        "notes": list(model.notes),
    }
    emit(rows, format, document=finite(document), remarks=remarks)


def _registered(kept: Path, uri: str | None, name: str) -> str | None:
    """Register the model in MLflow, if asked to, and return what it is called there."""
    if uri is None:
        return None
    from prophase.integrations.mlflow import register_bundle

    return register_bundle(kept, uri, name, command=typed_command()).uri


def learn_to_request(path: Path, trace: Trace, progress: Callable[[str], None]) -> bool:
    """Learn what each task should ask for, as far as peaks and requests are known."""
    from prophase.sizing.advising.requests import IN_WORKSPACE as REQUESTS
    from prophase.sizing.advising.requests import learn_requests
    from prophase.study.submitting.settings import request_settings
    from prophase.trace.workspace import Workspace

    risk, gate = request_settings(Workspace(path).settings)
    found = learn_requests(
        trace.jobs, risk=risk, gate=gate, data_hash=trace.data_hash, progress=progress
    )
    found.save(path / REQUESTS)
    return bool(found.advice)


def learn_to_tell_profiles(path: Path, seed: int, progress: Callable[[str], None]) -> bool:
    """Learn to tell the profiles of a workspace by metadata, if it has some."""
    from prophase.cli.profile.labelled import labelled_jobs
    from prophase.profile.classify import ProfileClassifier

    if not (path / PROFILES).is_file():
        return False
    progress("learning to tell profiles")
    held = labelled_jobs(path, None, None, None, seed)
    found = ProfileClassifier(random_state=seed).fit(held.jobs, held.labels)
    found.save(path / CLASSIFIER)
    return True
