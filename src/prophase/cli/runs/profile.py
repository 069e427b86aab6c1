"""prophase runs profile: the rows of one run."""

from __future__ import annotations

from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, emit
from prophase.cli.runs.options import DEFAULT_CAMPAIGN, CampaignOption, opened


def command(
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
    from prophase.runs.profiling import profile_run

    with opened(campaign) as held:
        rows = profile_run(held, dag_id, run_id)
    emit(rows, format)
