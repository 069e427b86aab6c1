"""prophase autoscale fit: choose and tune a policy, and keep it in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from prophase.cli.output import Format, FormatOption, as_typed, progress_bar, say, show_result
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import SourceOption


def command(
    series: FleetSettings,
    path: Annotated[
        Path | None,
        typer.Argument(metavar="SERIES", help="A workspace, or a file or folder with series."),
    ] = None,
    out: Annotated[Path, typer.Option(help="File for the policy.")] = Path("autoscale.policy"),
    choose: Annotated[
        str | None,
        typer.Option(
            help="Name of the policy to keep. [default: the least allocation on training series]"
        ),
    ] = None,
    satisfy: SatisfyOption = None,
    kills: KillsOption = None,
    policies: PoliciesOption = "all",
    max_resizes: MaxResizesOption = 40.0,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Choose a policy on training series, show what it does on others, and keep it in a file.

    Examples:

    `prophase autoscale fit series.csv --out memory.policy`

    `prophase autoscale fit ws --allocate cpu_cores --satisfy 95% --out cpu.policy`

    `prophase autoscale fit series.csv --phases phases.model --choose phase-ahead`
    """
    from prophase.autoscale.comparison_result import comparison_result
    from prophase.autoscale.policy_comparison import compare
    from prophase.autoscale.saved_policy import saved_policy
    from prophase.study.phase_scaling import phases_for

    check_target(satisfy, kills)
    names = named_policies(policies)
    if choose is not None and choose not in names:
        names.append(choose)
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
            labeller=labeller,
            random_state=seed,
            progress=lambda name: show(name, None),
        )
    made = saved_policy(found, choose)
    out.parent.mkdir(parents=True, exist_ok=True)
    made.save(out)
    say(f"Wrote {out}: {made.name} for {made.metric}.")
    shown = as_typed(out)
    more = (
        f"Next: prophase autoscale recommend {shown} SERIES; prophase autoscale run {shown} --help"
    )
    show_result(comparison_result(found, notes).noted(more), format)
