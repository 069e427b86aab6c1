"""prophase cure slurm: requeue jobs that were killed for memory, with the next rung."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, WorkspaceOption, say, show_result
from prophase.errors import ProphaseError
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.integrations.slurm.cure import Cure, Rungs


def command(
    jobs: Annotated[
        list[str] | None,
        typer.Argument(help="Jobs that ended. [default: all that slurmctld still holds]"),
    ] = None,
    workspace: WorkspaceOption = Path(),
    format: FormatOption = Format.table,
) -> None:
    """Requeue jobs of Slurm that were killed for memory, with the next rung of their ladder.

    The ladder is in the admin comment of jobs that the plugin has resized; others get what the
    workspace's model recommends for their kind, if that is more than they had, else twice their
    memory. The part `[cure]` of the workspace's prophase.toml says what is cured and how
    often; a note on the job says what was done. Jobs out of GPU memory are not requeued, but noted.
    Run it as the Slurm user: from EpilogSlurmctld, from strigger, or every minute.

    Examples:

    `prophase cure slurm --workspace ws`

    `prophase cure slurm 4711 --workspace ws`
    """
    found = cured(workspace, jobs)
    rows = [one.to_dict() for one in found]
    notes = [f"{sum(one.requeued for one in found):,} of {len(found):,} jobs were requeued."]
    show_result(Result.of_rows("cure", rows, values={"cures": rows}, notes=notes), format)


def cured(workspace: Path, jobs: list[str] | None = None) -> list[Cure]:
    """Cure jobs, by default all that need it; one that cannot be cured does not stop the others."""
    from prophase.integrations.slurm.commands import SlurmCommands
    from prophase.integrations.slurm.cure import CureRules, cure_job, killed_jobs, no_rungs
    from prophase.trace.workspace import Workspace

    rules = CureRules.of(Workspace(workspace).settings)
    commands = SlurmCommands(timeout_s=30.0)
    found: list[Cure] = []
    killed = jobs or killed_jobs(commands, rules)
    rungs = _recommended(workspace) if killed else no_rungs
    for job in killed:
        try:
            one = cure_job(commands, job, rules, rungs=rungs)
        except ProphaseError as error:
            say(f"job {job}: {error}")
            continue
        if one is not None:
            found.append(one)
    return found


def _recommended(workspace: Path) -> Rungs:
    """Return what the workspace's model recommends; one that cannot be read stops no cure."""
    from prophase.integrations.slurm.cure import no_rungs, rungs_of
    from prophase.sizing.recommender import Recommender
    from prophase.trace.workspace_paths import REQUESTS

    if not (workspace / REQUESTS).exists():
        return no_rungs
    try:
        return rungs_of(Recommender.load(workspace / REQUESTS))
    except ProphaseError as error:
        say(f"No recommendation is used: {error}")
        return no_rungs
