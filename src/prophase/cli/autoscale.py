"""prophase autoscale: which allocation over time satisfies as often as asked, for the least?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, as_typed, progress_bar, show_result
from prophase.cli.phase.options import read_usage
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import FiguresOption, SeedOption
from prophase.cli.split_options import TestOption, TestShareOption, TrainOption
from prophase.cli.trace_options import SourceOption
from prophase.errors import ParameterError

if TYPE_CHECKING:
    from prophase.autoscale.fleet import Fleet
    from prophase.autoscale.policy_comparison import PolicyComparison


@dataclass(frozen=True)
class FleetSettings:
    """Which series are learnt from and tested on, and what of them is allocated how often."""

    train: TrainOption = None
    test: TestOption = None
    allocate: Annotated[
        str | None,
        typer.Option(help="Column to allocate. [default: memory, else CPU, else GPU]"),
        Formerly("--metric"),
    ] = None
    decide_every: Annotated[
        int, typer.Option(min=1, help="Samples between two decisions."), Formerly("--every")
    ] = 5
    test_share: TestShareOption = "50%"


def command(
    series: FleetSettings,
    path: Annotated[
        Path | None,
        typer.Argument(metavar="SERIES", help="A workspace, or a file or folder with series."),
    ] = None,
    satisfy: Annotated[
        str, typer.Option(help="Share of samples to satisfy."), Formerly("--target")
    ] = "99%",
    policies: Annotated[
        str,
        typer.Option(
            help="Names joined by commas, e.g. all,phase-hmm; baselines are always there."
        ),
    ] = "all",
    max_resizes: Annotated[
        float, typer.Option(min=0, help="Resizes per 1,000 samples that are allowed.")
    ] = 40.0,
    violation_penalty: Annotated[
        float, typer.Option(min=0, help="Cost of a sample above, in samples of mean use.")
    ] = 10.0,
    resize_penalty: Annotated[
        float, typer.Option(min=0, help="Cost of a resize, in samples of mean use.")
    ] = 1.0,
    figures: FiguresOption = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Allocate a resource over time by every policy, and name the one that needs least.

    Policies learn and are tuned on training series, each left out of what it is tuned with, and are
    judged on test series they have not seen. They decide every few samples from the past.
    Without --train and --test the series are divided at random; a single one by time.

    Examples:

    `prophase autoscale series.csv --satisfy 99%`

    `prophase autoscale --source genai2026 --train old --test new --allocate gpu_memory_gib -f json`

    `prophase autoscale ws --policies priced,phase-relative --max-resizes 20 --figures out`
    """
    from prophase.autoscale.allocation_measures import Penalties
    from prophase.autoscale.comparison_result import comparison_result
    from prophase.autoscale.policy_comparison import compare

    share = units.parse_share(satisfy, where="--satisfy")
    if not 0.5 <= share < 1:
        raise ParameterError(f"--satisfy is {satisfy}. Pass a share from 50% to below 100%.")
    names = _named(policies)
    with progress_bar() as show:
        show("reading the series", None)
        learnt, judged, notes = _sides(path, series, seed, source)
        found = compare(
            learnt,
            judged,
            target=share,
            policies=names,
            max_resizes=max_resizes,
            penalties=Penalties(violation_penalty, resize_penalty),
            random_state=seed,
            progress=lambda name: show(name, None),
        )
        drawn = _draw(found, figures) if figures is not None else []
    # the folder of figures is named among the notes
    result = comparison_result(found, notes)
    notes_shown = [*result.notes, *drawn]
    values = {**(result.values or {}), "notes": notes_shown}
    show_result(replace(result, notes=notes_shown, values=values), format)


def _named(text: str) -> list[str]:
    from prophase.autoscale.policy_catalogue import available

    words = [word.strip() for word in text.split(",") if word.strip()]
    return [name for word in words for name in (available() if word == "all" else [word])]


def _sides(
    path: Path | None, asked: FleetSettings, seed: int, source: str | None
) -> tuple[Fleet, Fleet, list[str]]:
    """Return the series to learn from and to be judged on, and what was noted on the way."""
    from prophase.autoscale.fleet import fleet_of
    from prophase.autoscale.policy_comparison import divided

    fit, test, metric, every = asked.train, asked.test, asked.allocate, asked.decide_every
    if (fit is None) != (test is None):
        raise ParameterError("--train and --test go together.")
    if (path is None) == (fit is None):
        raise ParameterError("give either SERIES or --train and --test, and not both.")
    if fit is not None and test is not None:
        learnt, notes = fleet_of(read_usage(fit, source, None), metric, every=every)
        # the same metric on both sides, also when it was not named
        judged, more = fleet_of(read_usage(test, source, None), learnt.metric, every=every)
        told = [f"Fit: {note}" for note in notes] + [f"Test: {note}" for note in more]
        return learnt, judged, told
    assert path is not None
    whole, notes = fleet_of(read_usage(path, source, None), metric, every=every)
    share = units.parse_share(asked.test_share, where="--test-share")
    if not 0 < share < 1:
        raise ParameterError(f"--test-share is {asked.test_share}. Pass a share such as 50%.")
    learnt, judged = divided(whole, test_share=share, random_state=seed)
    return learnt, judged, list(notes)


def _draw(found: PolicyComparison, folder: Path) -> list[str]:
    from prophase.autoscale.policy_comparison import frontier
    from prophase.plots.autoscale import allocation_figure, frontier_figure
    from prophase.plots.style import save

    points = frontier(found)
    save(frontier_figure(points, found), folder, "frontier")
    save(allocation_figure(found), folder, "allocation")
    points.to_csv(folder / "frontier.csv", index=False)
    return [f"Figures: {as_typed(folder)}"]
