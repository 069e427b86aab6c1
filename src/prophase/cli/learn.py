"""prophase learn: keep what finished jobs teach, so that answers come at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.model_options import MethodOption, TargetOption, target_names
from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    finite,
    progress_bar,
    show_result,
    typed_command,
)
from prophase.cli.shared_options import MlflowOption, SeedOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.result import Result


def command(
    path: TraceArgument,
    target: TargetOption = "all",
    out: Annotated[
        Path | None,
        typer.Option(help="File for the model. [default: models/predictions.model of a workspace]"),
    ] = None,
    method: MethodOption = "default",
    mlflow: MlflowOption = None,
    register: Annotated[
        str, typer.Option(help="With --mlflow: name of the registered model.")
    ] = "prophase-predictions",
    seed: SeedOption = 0,
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
    from prophase.cli.provenance import open_trace
    from prophase.study.workspace_models import learn_models, learn_predictions
    from prophase.trace.workspace import Workspace

    if out is None and not Workspace.is_at(path):
        raise ParameterError(
            f"{path} is not a workspace, so there is no place for the model. Name a file: "
            "--out predictions.model"
        )
    if out is None and source is not None:
        raise ParameterError("--source is for traces that are no workspace. Leave it out.")
    if out is not None and out.is_dir():
        raise ParameterError(f"--out {out}: is a folder. Name a file, such as my.model.")
    how: JsonObject = {"method": method, "seed": seed}
    with progress_bar() as show:
        if out is None:
            found = learn_models(path, target_names(target), **how, show=show)
        else:
            show("reading the history", None)
            trace = open_trace(path, source=source, tables=["jobs"])
            found = learn_predictions(trace, out, target_names(target), **how, show=show)
    model = found.model
    where = f"--workspace {as_typed(path)}" if out is None else f"--model {as_typed(out)}"
    remarks = [
        *model.notes,
        f"Learnt with {model.method} from {model.jobs:,} jobs. Wrote {found.path}.",
        *(
            ["Jobs can get a recommended request when they are submitted."]
            if found.requests
            else []
        ),
        *(["Answers will name the profile of a job, too."] if found.profiles else []),
        f"Next: prophase ask job.yaml {where}",
    ]
    registered = _registered(found.path, mlflow, register)
    if registered is not None:
        remarks.insert(-1, f"Registered in MLflow as {registered}.")
    document = {**found.to_dict(), "registered": registered}
    show_result(
        Result.of_rows("learn", found.targets(), values=finite(document), notes=remarks), format
    )


def _registered(kept: Path, uri: str | None, name: str) -> str | None:
    """Register the model in MLflow, if asked to, and return what it is called there."""
    if uri is None:
        return None
    from prophase.integrations.mlflow.registered_models import register_bundle

    return register_bundle(kept, uri, name, command=typed_command()).uri
