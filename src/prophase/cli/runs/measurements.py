"""prophase runs profile, export: the measured rows of a run, and all of them as a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import (
    Format,
    FormatOption,
    WorkspaceOption,
    as_typed,
    show_result,
    typed_command,
)
from prophase.cli.runs.options import DEFAULT_CAMPAIGN, CampaignOption, opened
from prophase.cli.trace_options import ReplaceOption
from prophase.result import Result


def profile_command(
    dag_id: Annotated[str, typer.Argument(help="DAG id of the run; see prophase runs show.")],
    run_id: Annotated[str, typer.Argument(help="Run id.")],
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Print one row per task of an executed run: what it was given, and what it used at most.

    A run that has not finished successfully is refused.

    Example:

    `prophase runs profile sales--2024-01-01--1 small--2024-01-01--1 --format csv`
    """
    from prophase.runs.measured_rows import profile_run

    with opened(campaign) as held:
        rows = profile_run(held, dag_id, run_id)
    show_result(Result.of_rows("runs-profile", rows), format)


def export_command(
    workspace: WorkspaceOption = Path("ws"),
    replace: ReplaceOption = False,
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Write the tasks of finished runs and their usage into a workspace.

    Every attempt is a job; one that ran out of memory has the status `oom`.

    Example:

    `prophase runs export --workspace ws`
    """
    from prophase.runs.measured_rows import export

    with opened(campaign) as held:
        rows = export(held, workspace, replace=replace, command=typed_command())
    show_result(
        Result.of_rows(
            "runs-export",
            [{"table": name, "rows": number} for name, number in rows.items()],
            notes=[f"Next: prophase describe {as_typed(workspace)}"],
        ),
        format,
    )
