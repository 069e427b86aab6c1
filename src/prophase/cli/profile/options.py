"""The model file of a profile command, the jobs it was fitted on, and jobs with their profiles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import as_typed
from prophase.cli.provenance import note_model
from prophase.cli.settings import Formerly
from prophase.errors import MissingFileError, ParameterError
from prophase.plural import counted
from prophase.trace.workspace_paths import PROFILES

if TYPE_CHECKING:
    import pandas as pd

    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.clusters.profiler import WorkloadProfiler


MinClusterSizeOption = Annotated[
    int | None,
    typer.Option(
        help="Fewest jobs of a profile. [default: tree about 1 %, others 0.3 % of the jobs]"
    ),
]
MinSamplesOption = Annotated[
    int | None, typer.Option(help="hdbscan: neighbours that make a place dense.")
]
ClustersOption = Annotated[
    int | None, typer.Option(help="k-means: number of profiles; tree: most.")
]
TransformOption = Annotated[
    str, typer.Option(help="Scale of the metrics: power, standard, minmax, robust, maxabs, ...")
]
LeakingOption = Annotated[
    bool, typer.Option("--leaking", help="Let start, end and duration take part, as the paper.")
]
SAMPLE = typer.Option(help="Look at so many jobs at most, drawn at random.")
TopOption = Annotated[int, typer.Option(min=1, help="Values that are listed.")]
JobsOption = Annotated[
    Path | None,
    typer.Option(
        "--trace", help="The jobs to look at: a workspace, or a file or folder of a trace."
    ),
    Formerly("--jobs"),
]
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
    if not path.exists():
        raise MissingFileError(f"{path}: there is no such file or folder.")
    raise ParameterError(
        f"{path}: holds the profiles and not the jobs. Say where those are: --trace TRACE"
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


LABEL = typer.Option(help="Column with a label of every job, or of some.")
LabelOption = Annotated[str | None, LABEL]
ProfilesOption = Annotated[
    Path | None,
    typer.Option(help="File of profiles. [default: those of the workspace, else new ones]"),
]
MetadataOption = Annotated[
    str,
    typer.Option(help="Columns to tell profiles by: paper, all, or names joined by commas."),
]


@dataclass(frozen=True)
class LabelSettings:
    """Whose profiles are told, and from which columns."""

    metadata: MetadataOption = "paper"
    label: LabelOption = None
    profiles: ProfilesOption = None


@dataclass(frozen=True)
class LabelledJobs:
    """Jobs, a label for each, and where the labels came from."""

    jobs: pd.DataFrame
    #: one per job, or the column that holds them
    labels: Any
    notes: list[str]


def labelled_jobs(
    path: Path, source: str | None, label: str | None, profiles: Path | None, seed: int
) -> LabelledJobs:
    """Return the ended jobs of a trace with the profile of each."""
    from prophase.cli.provenance import open_trace
    from prophase.errors import ParameterError
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.profiler import WorkloadProfiler

    if label is not None and profiles is not None:
        raise ParameterError("--label and --profiles exclude each other.")
    found = open_trace(path, source=source, tables=["jobs"])
    if label is not None:
        return LabelledJobs(found.jobs.reset_index(drop=True), label, [])
    kept = ended_jobs(found.jobs)
    held = profiles or path / PROFILES
    if profiles is None and not held.is_file():
        made = WorkloadProfiler(random_state=seed).fit(kept.jobs)
        note = (
            "Profiles were learnt for this answer alone. Keep some with: prophase profile fit "
            f"{as_typed(path)}"
        )
        return LabelledJobs(kept.jobs, made.labels_, [*kept.notes, note])
    same = open_profiles(held).recognise(kept.jobs)
    notes = list(kept.notes)
    if not same.learnt:
        notes.append(
            "These are not the jobs that the profiles were learnt from: each has the profile "
            "nearest to its use."
        )
    return LabelledJobs(same.jobs, same.labels, notes)


def profile_classifier(
    past: Path, profiles: Path | None, held: WorkloadProfiler, seed: int
) -> tuple[ProfileClassifier, str]:
    """Return what tells the profile of a job, as `ask` has it if it can, and where it is from."""
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.study.workspace_models import kept_classifier

    kept = kept_classifier(past) if profiles is None else None
    if kept is not None and set(map(str, kept.classes_)) <= {
        str(p.profile) for p in held.profiles_
    }:
        return kept, "Profiles are predicted by the model that the workspace keeps, as in `ask`."
    labelled = labelled_jobs(past, None, None, profiles, seed)
    made = ProfileClassifier(metadata="all", random_state=seed).fit(labelled.jobs, labelled.labels)
    return made, (
        f"The workspace keeps no model for these profiles; one was learnt from "
        f"{counted(len(labelled.jobs), 'job')} for this answer. Keep one with: prophase learn "
        f"{as_typed(past)}"
    )
