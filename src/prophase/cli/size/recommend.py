"""prophase size recommend: the table users want, and its exports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, as_typed, progress_bar, say, show_result
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import PricesOption, TenantOption
from prophase.cli.sizing_options import (
    RISK,
    GateSettings,
    GroupOption,
    ResourceOption,
    TaskMaxOom,
    TaskMinSaving,
)
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from prophase.result import Result
    from prophase.sizing.kind_recommendation import ResourceRecommendations

#: tasks whose money a terminal shows
_MOST_PRICED = 20


@dataclass(frozen=True)
class TaskGateSettings(GateSettings):
    """When a task keeps its request, by the former names of this command too."""

    task_min_saving: Annotated[TaskMinSaving, Formerly("--min-saving")] = "0%"
    task_max_oom: Annotated[TaskMaxOom, Formerly("--max-oom")] = None


def command(
    path: TraceArgument,
    keep: TaskGateSettings,
    risk: Annotated[str, RISK] = "1%",
    resource: ResourceOption = "auto",
    export: Annotated[
        str | None,
        typer.Option(
            help="Write for kubernetes, argo, flyte, airflow, nextflow, snakemake, slurm or ray, "
            "or as csv or json. With --resource memory,cpu,time or all, for several resources."
        ),
    ] = None,
    explain: Annotated[
        str | None, typer.Option(help="Show history, distribution and ladder of this task.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="With --explain: draw them to this PNG or SVG file.")
    ] = None,
    tenant: TenantOption = None,
    by: GroupOption = None,
    prices: PricesOption = None,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Say what each task should ask for from now on.

    The first request is exceeded with the chosen risk. Every recommendation is tested on the task's
    own past: made from what had ended, compared with what came after. Where the saving is not
    worth it, runs are too few or kills too many, a task keeps its request, and the table says why.

    Examples:

    `prophase size recommend ws --risk 1%`, or shorter `prophase size ws --risk 1%`

    `prophase size ws --task-min-saving 20% --export nextflow > sizes.config`

    `prophase size ws --resource all --export kubernetes > sizes/kustomization.yaml`

    `prophase size ws --explain align`

    `prophase size ws --tenant nlp/ann --export snakemake`

    `prophase size slurm.log`: a log without measured use gets time limits

    `prophase size ws --prices prices.toml`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sizing.gpu_grants import parts_given
    from prophase.sizing.kind_recommendation import recommend
    from prophase.sizing.recommendation_result import explained_result, recommendation_result
    from prophase.sizing.resources import sized_resource

    chosen = units.parse_share(risk, where="--risk", below_one=True)
    with progress_bar() as show:
        show("reading", None)
        # a large table stays in its file, unless other columns than its own group it
        trace = open_trace(
            path, source=source, tables=["jobs", "nodes"], by=by, by_column=by is None
        )
        gate = keep.gate(parts_given(trace.jobs, trace.tables.get("nodes")))
        named = sized_resource(trace.jobs, resource)
        several = _resources(named, trace.jobs) if export is not None else [named]
        all_found = [
            recommend(
                trace.jobs, risk=chosen, gate=gate, resource=one, data_hash=trace.data_hash,
                show=lambda percent: show("back-testing recommendations", percent),
            )
            for one in several
        ]  # fmt: skip
    if tenant:
        all_found = [one.of_tenants(tenant) for one in all_found]
    found = all_found[0]
    if explain is not None:
        result = explained_result(found, explain)
        if figure is not None:
            from prophase.plots.sizing import write_explained

            one = found.of(explain)
            assert one is not None
            write_explained(one, found.unit, figure)
            result = result.noted(f"Wrote {figure}.")
        show_result(result, format)
        return
    if figure is not None:
        raise ParameterError("--figure draws one task: name it with --explain TASK.")
    if export is not None:
        _write_export(all_found, export)
        return
    result = recommendation_result(found, where=as_typed(path), source=trace.source)
    if prices is not None:
        result = _priced(result, trace.jobs, found, prices)
    show_result(result, format)


def _priced(
    result: Result, jobs: pd.DataFrame, found: ResourceRecommendations, prices: Path
) -> Result:
    """Add what is saved in money, per run, task and month."""
    from prophase.plain import finite
    from prophase.result import Table
    from prophase.sizing.saved_money import saved_money
    from prophase.trace.prices import Prices

    read = Prices.read(prices)
    rows = finite(saved_money(jobs, found, read))
    money = read.currency or "the currency of the prices"
    table = Table("money", rows[-1:] + rows[:_MOST_PRICED], f"Money, in {money}")
    values = {**(result.values or {}), "money": rows, "currency": read.currency}
    return replace(result, tables=[*result.tables, table], values=values)


def _resources(named: str, jobs: pd.DataFrame) -> list[str]:
    """Return the resources that are exported: those named, or all that the trace can size."""
    import numpy as np

    from prophase.sizing.resources import RESOURCES

    if named != "all":
        return [one.strip() for one in named.split(",")]
    measured = [name for name, what in RESOURCES.items() if np.isfinite(what.used(jobs)).any()]
    return [name for name in measured if name != "time" or "time_limit_s" in jobs] or ["memory"]


def _write_export(found: list[ResourceRecommendations], form: str) -> None:
    from prophase.sizing.export_formats import exported

    made = exported(found, form)
    typer.echo(made.text, nl=False)
    kinds = {one.task for each in found for one in each.tasks}
    changed = {one.task for each in found for one in each.tasks if not one.keep}
    say(
        f"{len(changed):,} tasks have a recommendation, {len(kinds) - len(changed):,} keep their "
        "request."
    )
    for sentence in made.left_out:
        say(sentence)
