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
from prophase.cli.runs.options import (
    DEFAULT_CAMPAIGN,
    CampaignOption,
    ScenarioOption,
    SinceOption,
    StateOption,
    TaskOption,
    UntilOption,
    opened,
)
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
    scenario: ScenarioOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    task: TaskOption = None,
    state: StateOption = None,
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Write the tasks of finished and failed runs and their usage into a workspace.

    Every attempt is a job; one that ran out of memory has the status `oom`, also in a run that
    failed, and counts as "at least this much".

    Examples:

    `prophase runs export --workspace ws`

    `prophase runs export --workspace ws --since 2024-01-01 --of-task train`
    """
    from prophase.runs.measured_rows import export
    from prophase.runs.run_filter import RunFilter

    where = RunFilter.of_text(scenario=scenario, since=since, until=until, task=task, state=state)
    with opened(campaign) as held:
        rows = export(held, workspace, replace=replace, command=typed_command(), where=where)
    show_result(
        Result.of_rows(
            "runs-export",
            [{"table": name, "rows": number} for name, number in rows.items()],
            notes=[f"Next: prophase describe {as_typed(workspace)}"],
        ),
        format,
    )
