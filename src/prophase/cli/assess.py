"""prophase assess: how well are requests used, and what should tasks ask for?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, as_typed, finite, progress_bar, show_result
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import FiguresOption, PricesOption, SeedOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.sizing.assess.assessment import Assessment

#: columns of the table, as far as they are there, and their headings
_SHOWN = {
    "task": "task",
    "runs": "runs",
    "cluster": "cluster",
    "request_gib": "request_gib",
    "median_gib": "median_gib",
    "max_gib": "max_gib",
    "memory_used_pct": "memory_used_pct",
    "advice": "memory_advice_gib",
    "request_cores": "request_cores",
    "p99_cores": "p99_cores",
    "core_advice": "core_advice",
    "cost_per_month": "cost_per_month",
    "saved_per_month": "saved_per_month",
}

#: tasks the table shows, the heaviest ones
_MOST_SHOWN = 60


def command(
    path: TraceArgument,
    prices: PricesOption = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--drivers-of",
            help="Look for what drives this task, not the heavy ones; repeatable.",
        ),
        Formerly("--task"),
    ] = None,
    figures: FiguresOption = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Say how much of each request is used, which tasks are heavy and why, and what to ask for.

    Light and moderate tasks get static recommendations; heavy ones differ too much from run to
    run and are left to prophase size. Tasks with few runs, or that met their limit, keep theirs.

    Examples:

    `prophase assess ws`

    `prophase assess ws --prices prices.toml --figures assessed`

    `prophase assess ws --drivers-of predict_demand --format json`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sizing.assess.assessment import assess
    from prophase.trace.prices import Prices

    priced = Prices.read(prices) if prices is not None else None
    with progress_bar() as show:
        show("reading the trace", None)
        jobs = open_trace(path, source=source, tables=["jobs"]).jobs
        found = assess(
            jobs,
            prices=priced,
            drivers_of=task or (),
            random_state=seed,
            progress=lambda step: show(step, None),
        )
        written: list[str] = []
        if figures is not None:
            from prophase.plots.assessment import write_assessment

            show("drawing", None)
            written = write_assessment(found, jobs, figures)
    rows = _rows(found)
    remarks = [*found.sentences(), *found.notes]
    if format is Format.table and len(rows) > _MOST_SHOWN:
        remarks.insert(0, f"The last {_MOST_SHOWN} of {len(rows):,} tasks; JSON and CSV hold all.")
        rows = rows[-_MOST_SHOWN:]
    if written:
        remarks.append(f"Wrote {', '.join(written)} to {figures}.")
    remarks.append(f"Next: prophase size {as_typed(path)}")
    document = finite({**found.to_dict(), "sentences": found.sentences()})
    show_result(Result.of_rows("assess", rows, values=document, notes=remarks), format)


def _rows(found: Assessment) -> list[JsonObject]:
    columns = [name for name in _SHOWN if name in found.tasks]
    return [
        {_SHOWN[name]: _rounded(row[name]) for name in columns}
        for row in found.tasks[columns].to_dict("records")
    ]


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value
