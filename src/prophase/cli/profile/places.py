"""Where the subcommands of a profile find its model file, and the jobs it was learnt from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.made_from import note_model
from prophase.cli.output import as_typed
from prophase.errors import MissingFileError, ParameterError
from prophase.trace.places import PROFILES

if TYPE_CHECKING:
    from prophase.profile.clusters.profiler import WorkloadProfiler

ModelArgument = Annotated[
    Path, typer.Argument(help="A file of profiles, or the workspace they were learnt from.")
]


def model_target(path: Path, out: Path | None) -> Path:
    """Return where to write the profiles of a trace; a plain file needs ``--out``."""
    from prophase.trace.workspace import Workspace

    if out is not None:
        if out.is_dir():
            raise ParameterError(f"--out {out}: is a folder. Name a file, such as profiles.model.")
        return out
    if not Workspace.is_at(path):
        raise ParameterError(
            f"{path} is not a workspace, so there is no place for the profiles. Name a file: "
            "--out profiles.model"
        )
    return path / PROFILES


def open_profiles(path: Path) -> WorkloadProfiler:
    """Return the profiles of a model file, or of a workspace that has some."""
    from prophase.profile.clusters.profiler import WorkloadProfiler

    profiler = WorkloadProfiler.load(_model_of(path))
    note_model(profiler.data_hash_)
    return profiler


def trace_of(path: Path, jobs: Path | None) -> Path:
    """Return the trace that profiles belong to: the one named, or the workspace around them."""
    from prophase.trace.workspace import Workspace

    if jobs is not None:
        return jobs
    for folder in (path, path.resolve().parent.parent):
        if Workspace.is_at(folder):
            return folder
    raise ParameterError(
        f"{path}: holds the profiles and not the jobs. Say where those are: --jobs TRACE"
    )


def _model_of(path: Path) -> Path:
    if not path.is_dir():
        return path
    held = path / PROFILES
    if not held.is_file():
        raise MissingFileError(
            f"{path}: has no profiles yet. Learn them with: prophase profile fit {as_typed(path)}"
        )
    return held
