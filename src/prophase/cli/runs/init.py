"""prophase runs init: make a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, emit
from prophase.cli.runs.options import DEFAULT_CAMPAIGN, CampaignOption, named


def command(
    pipeline: Annotated[Path, typer.Argument(help="YAML file of the pipeline.")],
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    database: Annotated[
        str | None,
        typer.Option(help="postgresql://USER@HOST/NAME; without it, a SQLite file in the folder."),
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Make a campaign for a pipeline, or bring the tables of one up to date.

    Example:

    `prophase runs init pipeline.yaml --database postgresql://me@db/campaigns`
    """
    from prophase.runs.campaign import Campaign
    from prophase.runs.pipeline import read_pipeline

    made = Campaign.create(campaign, pipeline, database=database)
    tasks = read_pipeline(pipeline).tasks
    rows = [
        {
            "task": task.name,
            "after": " ".join(task.after) or None,
            "memory_gib": task.memory_gib,
            "cpu_cores": task.cpu_cores,
            "attempts": task.attempts,
        }
        for task in tasks.values()
    ]
    where = f"{made.database.shown_url}"
    made.close()
    emit(
        rows,
        format,
        remarks=[
            f"Runs are kept in {where}",
            f"Next: prophase runs register FILE{named(campaign)}",
        ],
    )
