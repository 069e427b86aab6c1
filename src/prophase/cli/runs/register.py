"""prophase runs register: one run per scenario and date."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, emit
from prophase.cli.runs.options import DEFAULT_CAMPAIGN, CampaignOption, named, opened, who
from prophase.plural import counted


def command(
    scenarios: Annotated[Path, typer.Argument(help="YAML file with the scenarios.")],
    dates: Annotated[
        list[str] | None,
        typer.Option(help="A date, several with commas, or a range: 2024-01-01..2024-03-31/7."),
    ] = None,
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Register the scenarios of a file at their dates, with the job code as it is now.

    What is registered already stays as it is; changed job code makes new runs.

    Example:

    `prophase runs register scenarios.yaml --dates 2024-01-01..2024-03-31/7`
    """
    from prophase.runs.answers import state_counts

    with opened(campaign) as held:
        added, there = held.register(scenarios, dates or (), actor=who())
        emit(
            state_counts(held),
            format,
            document={"added": added, "there_already": there},
            remarks=[
                f"{counted(added, 'run')} added, {there:,} there already.",
                f"Next: prophase runs work{named(campaign)}",
            ],
        )
