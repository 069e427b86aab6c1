"""Jobs with their profiles, for the subcommands that tell profiles by metadata."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import as_typed
from prophase.cli.profile.places import open_profiles
from prophase.trace.places import PROFILES

if TYPE_CHECKING:
    import pandas as pd

LabelOption = Annotated[
    str | None,
    typer.Option(help="Column with the labels. [default: the profiles of the jobs' use]"),
]
ProfilesOption = Annotated[
    Path | None,
    typer.Option(help="File of profiles. [default: those of the workspace, else learnt anew]"),
]
MetadataOption = Annotated[
    str,
    typer.Option(help="Columns to tell profiles by: paper, all, or names joined by commas."),
]


@dataclass(frozen=True)
class Labelled:
    """Jobs, a label for each, and where the labels came from."""

    jobs: pd.DataFrame
    #: one per job, or the column that holds them
    labels: Any
    notes: list[str]


def labelled_jobs(
    path: Path, source: str | None, label: str | None, profiles: Path | None, seed: int
) -> Labelled:
    """Return the ended jobs of a trace with the profile of each."""
    from prophase.cli.made_from import open_trace
    from prophase.errors import ParameterError
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.profile.clusters.selecting import ended_jobs

    if label is not None and profiles is not None:
        raise ParameterError("--label and --profiles exclude each other.")
    found = open_trace(path, source=source, tables=["jobs"])
    if label is not None:
        return Labelled(found.jobs.reset_index(drop=True), label, [])
    kept = ended_jobs(found.jobs)
    held = profiles or path / PROFILES
    if profiles is None and not held.is_file():
        made = WorkloadProfiler(random_state=seed).fit(kept.jobs)
        note = (
            "Profiles were learnt for this answer alone. Keep some with: prophase profile fit "
            f"{as_typed(path)}"
        )
        return Labelled(kept.jobs, made.labels_, [*kept.notes, note])
    same = open_profiles(held).recognise(kept.jobs)
    notes = list(kept.notes)
    if not same.learnt:
        notes.append(
            "These are not the jobs that the profiles were learnt from: each has the profile "
            "nearest to its use."
        )
    return Labelled(same.jobs, same.labels, notes)
