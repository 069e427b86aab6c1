"""Options that mean the same in every command that has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from prophase import units
from prophase.cli.settings import Formerly

SEED = typer.Option(help="Seed of everything random.")
SeedOption = Annotated[int, SEED]
SEEDS = typer.Option(min=0, help="Resampled traces behind the intervals; below 8 there are none.")
SeedsOption = Annotated[int, SEEDS]
BLOCK = typer.Option(help="Time kept together in resampling, such as 12h; a bare number is hours.")
WORKERS = typer.Option(help="Processes (0: all cores), or dask://HOST:PORT.")
WorkersOption = Annotated[str, WORKERS, Formerly("--dask")]
MOST_JOBS = typer.Option(min=1, help="Of a longer trace only the latest so many jobs.")


@dataclass(frozen=True)
class ResampleSettings:
    """How often random steps are repeated, from which seed, and on how many processes."""

    seeds: SeedsOption = 10
    seed: SeedOption = 0
    workers: WorkersOption = "1"


PricesOption = Annotated[
    Path | None,
    typer.Option(help="Prices per GPU-hour by type, core-hour and GiB-hour: .toml or .csv."),
]
PageOption = Annotated[
    Path | None,
    typer.Option(help="Write everything as one self-contained .html page."),
    Formerly("--html"),
]
SaveOption = Annotated[
    str | None,
    typer.Option(
        "--save-as",
        help="Keep the result in the workspace under this name, with where it comes from; "
        "prophase report shows it again.",
    ),
]
FiguresOption = Annotated[
    Path | None,
    typer.Option(help="Write the figures, as PNG and SVG, into this folder."),
    Formerly("--plots"),
]
ReportOption = Annotated[
    Path | None, typer.Option(help="Write report.html, .md and .json into this folder.")
]
LoadOption = Annotated[
    str | None, typer.Option(help="Jobs per day against the trace, e.g. 1.3 or 0.8,1.0,1.3.")
]
SizingOption = Annotated[
    str | None,
    typer.Option(
        help="What jobs ask for, retries replayed: asked (as the trace says), recommended (as "
        "prophase size says), another sizer such as percentile, a recommendation (.json of "
        "prophase size) or requests (.csv)."
    ),
]
MEMORY = typer.Option(help=f"Memory the job asks for, per instance, {units.SIZE_HELP}.")
MemoryOption = Annotated[str, MEMORY]
ShortBelowOption = Annotated[
    str, typer.Option(help=f"Jobs that run for less are short, {units.DURATION_HELP}.")
]
MlflowOption = Annotated[
    str | None, typer.Option(help="Also log it to MLflow: http://HOST:5000 or sqlite:///FILE.")
]
MethodsOption = Annotated[
    str, typer.Option(help="Names joined by commas, or 'all' or 'baselines'.")
]
GoalOption = Annotated[
    str | None,
    typer.Option(
        "--goal",
        "--target",
        help="Find the fewest servers, or nodes, for a goal such as 'p95 wait < 15 min' "
        "or 'P(wait > 60 s) < 5%'.",
    ),
]
TenantOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Namespace, account or team that it is limited to; repeatable. [default: all]"
    ),
]
