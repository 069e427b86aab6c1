"""Where the subcommands find the model of phases and the series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import as_typed, say
from prophase.cli.provenance import note_model
from prophase.cli.trace_options import STEP, named_values
from prophase.errors import InputError, MissingFileError, ParameterError
from prophase.plural import counted
from prophase.trace.workspace_paths import PHASES

if TYPE_CHECKING:
    import pandas as pd

    from prophase.phase.detector import PhaseDetector

ModelArgument = Annotated[
    Path, typer.Argument(help="A file of phases, or the workspace they were learnt from.")
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", help="Column to use; repeatable. [default: all that vary]"),
]
StepOption = Annotated[str | None, STEP]


def step_seconds(step: str | None) -> float | None:
    """Return what ``--step`` says; without it samples stay as they are."""
    return (
        None
        if step is None
        else units.parse_duration(step, bare="s", where="--step", positive=True)
    )


def model_target(path: Path, out: Path | None) -> Path:
    """Return where to write phases; a plain file of series needs ``--out``."""
    from prophase.trace.workspace import Workspace

    if out is not None:
        if out.is_dir():
            raise ParameterError(f"--out {out}: is a folder. Name a file, such as phases.model.")
        return out
    if not Workspace.is_at(path):
        raise ParameterError(
            f"{path} is not a workspace, so there is no place for the phases. Name a file: "
            "--out phases.model"
        )
    return path / PHASES


def model_path(path: Path) -> Path:
    """Return the file of phases at a path: itself, or the one in a workspace."""
    if not path.is_dir():
        return path
    held = path / PHASES
    if not held.is_file():
        raise MissingFileError(
            f"{path}: has no phases yet. Learn them with: prophase phase fit {as_typed(path)}"
        )
    return held


def open_phases(path: Path) -> PhaseDetector:
    """Return the phases of a model file, or of a workspace that has some."""
    from prophase.phase.detector import PhaseDetector

    detector = PhaseDetector.load(model_path(path))
    note_model(detector.data_hash_)
    return detector


def read_usage(path: Path, source: str | None, options: list[str] | None) -> pd.DataFrame:
    """Return the usage table of a trace; say which rows were left out, or that there are none."""
    from prophase.cli.provenance import open_trace

    trace = open_trace(path, source=source, options=named_values(options), tables=["usage"])
    if "usage" not in trace.tables:
        raise InputError(
            f"{path}: has no usage series, only other tables, and series of samples are needed. "
            "Import some with: prophase import SOURCE PATH"
        )
    if trace.report is not None:
        for why, rows in trace.report.tables["usage"].dropped.items():
            say(f"{path}: {counted(rows, 'row was', 'rows were')} left out: {why}.")
    return trace.usage
