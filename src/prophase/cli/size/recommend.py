"""prophase size recommend: the table users want, and its exports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, as_typed, emit, finite, progress_bar, say
from prophase.cli.settings import Formerly
from prophase.cli.sizing_options import (
    RISK,
    GateSettings,
    ResourceOption,
    TaskMaxOom,
    TaskMinSaving,
)
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError, not_among
from prophase.stats.month import span_text, why_no_month

if TYPE_CHECKING:
    from prophase.sizing.recommender import Recommendation, ResourceRecommendations

#: tasks the table shows, those that save most
_MOST_SHOWN = 60


@dataclass(frozen=True)
class TaskGateSettings(GateSettings):
    """When a task keeps its request, by the former names of this command too."""

    task_min_saving: Annotated[TaskMinSaving, Formerly("--min-saving")] = "50%"
    task_max_oom: Annotated[TaskMaxOom, Formerly("--max-oom")] = None


def command(
    path: TraceArgument,
    keep: TaskGateSettings,
    risk: Annotated[str, RISK] = "1%",
    resource: ResourceOption = "memory",
    export: Annotated[
        str | None,
        typer.Option(help="Write as kubernetes, nextflow, airflow, sbatch, csv or json instead."),
    ] = None,
    explain: Annotated[
        str | None, typer.Option(help="Show history, distribution and ladder of this task.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="With --explain: draw them to this PNG or SVG file.")
    ] = None,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Say what each task should ask for from now on.

    The first request is exceeded with the chosen risk. Every recommendation is tested on the task's
    own past: made from what had ended, held against what came after. Where the saving is not
    worth it, runs are too few or kills too many, a task keeps its request, and the table says why.

    Examples:

    `prophase size recommend ws --risk 1%`, or shorter `prophase size ws --risk 1%`

    `prophase size ws --task-min-saving 20% --export nextflow > sizes.config`

    `prophase size ws --explain align`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sizing.export_formats import export as exported
    from prophase.sizing.recommender import recommend

    gate = keep.gate()
    chosen = units.parse_share(risk, where="--risk", below_one=True)
    with progress_bar() as show:
        show("reading", None)
        trace = open_trace(path, source=source, tables=["jobs"])
        found = recommend(
            trace.jobs, risk=chosen, gate=gate, resource=resource, data_hash=trace.data_hash,
            show=lambda percent: show("back-testing recommendations", percent),
        )  # fmt: skip
    if explain is not None:
        _explained(found, explain, figure, format)
        return
    if figure is not None:
        raise ParameterError("--figure draws one task: name it with --explain TASK.")
    if export is not None:
        typer.echo(exported(found, export), nl=False)
        kept = sum(one.keep for one in found.tasks)
        say(
            f"{len(found.tasks) - kept:,} tasks have a recommendation, {kept:,} keep their request."
        )
        return
    document = found.to_dict()
    rows = document["tasks"]
    shown = [_shown(row) for row in rows[:_MOST_SHOWN]] if format is Format.table else rows
    emit(shown, format, document=document, remarks=_remarks(found, path))


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row for people: fewer columns, the interval in one."""
    killed = "-"
    if row["oom_pct"] is not None:
        killed = f"{row['oom_pct']:.1f}"
        if row["oom_low_pct"] is not None:
            killed += f" ({row['oom_low_pct']:.1f}-{row['oom_high_pct']:.1f})"
    return {
        "task": row["task"][-48:],
        "runs": row["runs"],
        "now": row["now"],
        "advice": row["advice"],
        "oom_pct": killed,
        "saving_pct": None if row["saving_pct"] is None else round(row["saving_pct"]),
        "saved_per_month": row["saved_per_month"],
        "why": row["why"],
    }


def _remarks(found: ResourceRecommendations, path: Path) -> list[str]:
    kept = sum(one.keep for one in found.tasks)
    span_s = 3600 * found.span_h
    known = [one.saved_per_month for one in found.tasks if not math.isnan(one.saved_per_month)]
    saves = f"save {sum(known):,.0f} {found.unit} h a month (from {span_text(span_s)})"
    if all(math.isnan(one.saving) for one in found.tasks if not one.keep):
        saves = "have no request today"
    elif why_no_month(span_s):
        saves = f"save an unknown amount a month ({why_no_month(span_s)})"
    said = [
        f"now and advice (the recommended request) in {found.unit}; saved_per_month in "
        f"{found.unit} h; oom_pct is the share killed in the trial, with its 95 % interval over "
        "days.",
        f"{len(found.tasks) - kept:,} of {len(found.tasks):,} tasks have a recommendation and "
        f"{saves}; {kept:,} keep their request.",
    ]
    if len(found.tasks) > _MOST_SHOWN:
        said.append(f"The {_MOST_SHOWN} that save most are shown; --format csv lists all.")
    said += [f"Left out, {reason}: {count:,} jobs." for reason, count in found.left_out.items()]
    memory = found.resource == "memory"
    what = "" if memory else f" --resource {found.resource}"
    form = "nextflow" if memory else "json"
    then = "--task-min-saving 20%" if kept == len(found.tasks) else f"--export {form}"
    return [*said, f"Next: prophase size {as_typed(path)}{what} {then}"]


def _explained(
    found: ResourceRecommendations, task: str, figure: Path | None, format: Format
) -> None:
    one = found.of(task)
    if one is None:
        names = [held.task for held in found.tasks]
        several = [name for name in names if name.endswith(task)]
        said = f"{len(several)} tasks end in {task!r}." if several else f"task {task!r} is unknown."
        raise ParameterError(not_among(said, task, several or names, most=8))
    rungs = [_rung(one, place) for place in range(len(one.ladder))]
    document = finite(
        {
            "task": one.task, "runs": one.runs, "now": one.now, "unit": found.unit,
            "keep": one.keep, "why": one.why, "oom": one.oom,
            "oom_interval": [one.oom_low, one.oom_high], "tried_runs": one.tried,
            "saving": one.saving, "saved_per_month": one.saved_per_month,
            "quantiles": _quantiles(one), "ladder": rungs,
        }
    )  # fmt: skip
    remarks = [
        f"{one.task}: {one.runs:,} runs, request today {one.now:.4g} {found.unit}.",
        "Predicted peak: "
        + ", ".join(f"{share} below {value:.4g}" for share, value in _quantiles(one).items())
        + f" {found.unit}.",
        f"Trial on {one.tried:,} runs: {one.oom:.2%} killed"
        + ("" if math.isnan(one.oom_low) else f" (95 % CI {one.oom_low:.2%} to {one.oom_high:.2%})")
        + f", {one.saving:.0%} saved."
        if one.tried
        else "No trial: too few runs.",
        ("Advice: " if not one.keep else "") + one.why + ".",
    ]
    if figure is not None:
        from prophase.plots.sizing import write_explained

        write_explained(one, found.unit, figure)
        remarks.append(f"Wrote {figure}.")
    emit([finite(rung) for rung in rungs], format, document=document, remarks=remarks)


def _rung(one: Recommendation, place: int) -> dict[str, Any]:
    above = one.outlook.exceed(one.ladder[place]) if one.outlook is not None else None
    return {"attempt": place + 1, "request": one.ladder[place], "killed_share": above}


def _quantiles(one: Recommendation) -> dict[str, float]:
    assert one.outlook is not None
    return {f"{share:.0%}": one.outlook.quantile(share) for share in (0.1, 0.5, 0.9, 0.99)}
