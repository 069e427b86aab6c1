"""prophase autoscale compare: which allocation over time does as asked, for the least?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.autoscale.options import (
    FleetSettings,
    KillsOption,
    MaxResizesOption,
    PoliciesOption,
    SatisfyOption,
    both_sides,
    check_target,
    named_policies,
    objective,
)
from prophase.cli.output import Format, FormatOption, as_typed, progress_bar, show_result
from prophase.cli.shared_options import FiguresOption, SeedOption
from prophase.cli.trace_options import SourceOption

if TYPE_CHECKING:
    from prophase.autoscale.policy_comparison import PolicyComparison


def command(
    series: FleetSettings,
    path: Annotated[
        Path | None,
        typer.Argument(metavar="SERIES", help="A workspace, or a file or folder with series."),
    ] = None,
    satisfy: SatisfyOption = None,
    kills: KillsOption = None,
    policies: PoliciesOption = "all",
    max_resizes: MaxResizesOption = 40.0,
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

    `prophase autoscale compare series.csv --satisfy 99%`

    `prophase autoscale ws --allocate memory_gib --kills 0.5`

    `prophase autoscale --source genai2026 --train old --test new --allocate gpu_memory_gib`

    `prophase autoscale ws --policies priced,phase-relative --max-resizes 20 --figures out`
    """
    from prophase.autoscale.allocation_measures import Penalties
    from prophase.autoscale.comparison_result import comparison_result
    from prophase.autoscale.policy_comparison import compare
    from prophase.study.phase_scaling import phases_for

    check_target(satisfy, kills)
    names = named_policies(policies)
    with progress_bar() as show:
        show("reading the series", None)
        learnt, judged, notes = both_sides(path, series, seed, source)
        show("finding phases", None)
        labeller = phases_for(learnt, series.phases, random_state=seed)
        found = compare(
            learnt,
            judged,
            target=objective(learnt, satisfy, kills),
            policies=names,
            max_resizes=max_resizes,
            penalties=Penalties(violation_penalty, resize_penalty),
            labeller=labeller,
            random_state=seed,
            progress=lambda name: show(name, None),
        )
        drawn = _draw(found, figures) if figures is not None else []
    # the folder of figures is named among the notes
    result = comparison_result(found, notes)
    notes_shown = [*result.notes, *drawn]
    values = {**(result.values or {}), "notes": notes_shown}
    show_result(replace(result, notes=notes_shown, values=values), format)


def _draw(found: PolicyComparison, folder: Path) -> list[str]:
    from prophase.autoscale.policy_comparison import frontier
    from prophase.plots.autoscale import allocation_figure, frontier_figure
    from prophase.plots.style import save

    points = frontier(found)
    save(frontier_figure(points, found), folder, "frontier")
    save(allocation_figure(found), folder, "allocation")
    points.to_csv(folder / "frontier.csv", index=False)
    return [f"Figures: {as_typed(folder)}"]
