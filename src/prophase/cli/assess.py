"""prophase assess: how well are requests used, and what should tasks ask for?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, as_typed, finite, progress_bar, show_result
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import FiguresOption, PricesOption, SeedOption
from prophase.cli.sizing_options import RISK, GroupOption
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
    "recommended_gib": "recommended_gib",
    "request_cores": "request_cores",
    "p99_cores": "p99_cores",
    "recommended_cores": "recommended_cores",
    "recommendation": "why",
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
    risk: Annotated[str, RISK] = "1%",
    figures: FiguresOption = None,
    by: GroupOption = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Say how much of each request is used, which tasks are heavy and why, and what to ask for.

    What to ask for is what prophase size recommends, one number per task. Groups of light,
    moderate and heavy tasks, and what drives the heavy ones, say where it comes from.

    Examples:

    `prophase assess ws`

    `prophase assess ws --prices prices.toml --figures assessed`

    `prophase assess ws --drivers-of predict_demand --format json`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sizing.assess.assessment import assess
    from prophase.sizing.assess.recommended_requests import recommended_requests
    from prophase.trace.identity.job_identity import grouped_by
    from prophase.trace.prices import Prices

    priced = Prices.read(prices) if prices is not None else None
    with progress_bar() as show:
        show("reading the trace", None)
        jobs = open_trace(path, source=source, tables=["jobs"], by=by).jobs
        share = units.parse_share(risk, where="--risk", below_one=True)
        asked = recommended_requests(jobs, risk=share, progress=lambda step: show(step, None))
        found = assess(
            jobs,
            prices=priced,
            recommended=asked,
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
    remarks = [
        *found.sentences(),
        *found.notes,
        f"Recommended requests are those of prophase size at a risk of {risk}; JSON also has the "
        "one static request per group of tasks (advice) that the load-aware thesis would give.",
        grouped_by(jobs),
    ]
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
