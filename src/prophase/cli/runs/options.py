"""Options that the commands of a campaign share."""

from __future__ import annotations

import getpass
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import as_typed

if TYPE_CHECKING:
    from prophase.runs.campaign import Campaign

CampaignOption = Annotated[
    Path,
    typer.Option("--campaign", "-c", envvar="PROPHASE_CAMPAIGN", help="Folder of the campaign."),
]
DEFAULT_CAMPAIGN = Path("campaign")
ScenarioOption = Annotated[
    str | None, typer.Option(help="Only runs of this scenario; * stands for any text.")
]
SinceOption = Annotated[str | None, typer.Option(help="Only from this execution date on.")]
UntilOption = Annotated[str | None, typer.Option(help="Only up to this execution date.")]
TaskOption = Annotated[str | None, typer.Option("--of-task", help="Only this task.")]
StateOption = Annotated[
    str | None,
    typer.Option(help="Only runs in these states: numbers or names joined by commas, or failed."),
]


@contextmanager
def opened(folder: Path, *, patience_s: float | None = None) -> Iterator[Campaign]:
    """Open a campaign for one command."""
    from prophase.runs.campaign import Campaign
    from prophase.sql_database import PATIENCE_S

    campaign = Campaign.open(folder, patience_s=PATIENCE_S if patience_s is None else patience_s)
    try:
        yield campaign
    finally:
        campaign.close()


def named(campaign: Path) -> str:
    """Return what a next command needs to find the same campaign."""
    return "" if campaign == DEFAULT_CAMPAIGN else f" --campaign {as_typed(campaign)}"


def who() -> str:
    """Return who types, for the history."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"


def log_to_stderr() -> None:
    """Show one line per action of workers and the maintainer."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("prophase.runs")
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
