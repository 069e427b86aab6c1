"""Phases: what phases there are; one series with its phases and allocation curves."""

from __future__ import annotations

from typing import Annotated

import pandas as pd
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from prophase.json_types import JsonObject
from prophase.serve.dependencies import LoadedWorkspaceNow
from prophase.serve.pages.charts import PageChart, heat, lines
from prophase.serve.pages.number_text import amount, named, unit_of
from prophase.serve.pages.page_cache import page_cache_of
from prophase.serve.pages.table_view import (
    Format,
    ViewNow,
    as_csv,
    choices,
    rows_table,
    shown_part,
)
from prophase.serve.pages.templates import here, page
from prophase.trace.describe.trace_clock import FIRST_DATE_S

router = APIRouter()

#: curves drawn together; more cannot be told apart
_CURVES = ("vpa", "recent-max", "phase-relative", "no-phase", "static")
_SHOWN_CURVES = 3


@router.get("/phases")
def phases(
    request: Request, held: LoadedWorkspaceNow, view: ViewNow, form: Format = "page"
) -> Response:
    """Show the phases and list the series, by name and by the phase they are in."""
    if "usage" not in held.tables:
        return page(request, "empty.html", section="phases", what="usage")
    look = page_cache_of(request).look(
        "phases", held, title="Labelling the series", uses=["usage", "phases"], back=here(request)
    )
    context: JsonObject = {"look": look}
    if look.data:
        found = look.data["model"]
        model = found["values"] if found else None
        table = _series_table(look.data)
        rows, _ = view.chosen(table)
        if form == "csv":
            return as_csv(rows, "series")
        context |= {
            **shown_part(rows, view),
            "offered": choices(table),
            "data": look.data,
            "model": model,
            "use": _use_chart(model) if model else None,
            "next": _next_chart(model) if model else None,
        }
    return page(request, "phases.html", section="phases", **context)


def _series_table(data: JsonObject) -> pd.DataFrame:
    """Return a row per series; without a model its name alone is known."""
    labels = data["labels"]
    if labels is None:
        return pd.DataFrame({"series_id": data["series"]})
    table = rows_table(labels["values"]["series"])
    now = table["phase_now"]
    table["phase"] = [f"phase {number}" if number >= 0 else "none" for number in now]
    return table


@router.get("/phases/series")
def series(
    request: Request, held: LoadedWorkspaceNow, name: Annotated[str, Query(max_length=2000)]
) -> Response:
    """Show one series."""
    if "usage" not in held.tables:
        return page(request, "empty.html", section="phases", what="usage")
    look = page_cache_of(request).look(
        "series",
        held,
        title="Labelling the series and trying allocations",
        uses=["usage", "phases"],
        back=here(request),
        arguments={"series": name},
    )
    context: JsonObject = {"look": look, "name": name}
    if look.data:
        context |= {
            "data": look.data,
            "charts": _metric_charts(look.data),
            "curves": _allocation_chart(look.data["allocation"]),
        }
    return page(request, "series.html", section="phases", **context)


def _metric_charts(data: JsonObject) -> list[PageChart]:
    """Return a line per metric, the strip of phases below each."""
    strip = None
    if "phases" in data:
        names = [f"phase {number}" for number in range(data["n_phases"])]
        strip = {"name": "phase", "values": data["phases"], "names": names}
    clock = "date" if data["time_s"][0] >= FIRST_DATE_S else "elapsed"
    charts = []
    for place, (metric, values) in enumerate(data["metrics"].items()):
        known = [value for value in values if value is not None]
        if not known:
            continue
        unit = unit_of(metric)
        says = (
            f"From {amount(min(known), unit)} to {amount(max(known), unit)} over "
            f"{amount(data['time_s'][-1] - data['time_s'][0], 's')}, {data['samples']:,} samples"
            + ("; the strip below shows the phase of each moment." if strip else ".")
        )
        more = {"strip": strip} if strip else {}
        charts.append(
            lines(
                named(metric), says, data["time_s"],
                [{"name": named(metric), "y": values, "colour": place}],
                unit=unit, clock=clock, height=190, **more,
            )
        )  # fmt: skip
    return charts


def _allocation_chart(found: JsonObject) -> PageChart | None:
    if "missing" in found:
        return None
    told = found["values"]
    ranked = sorted(
        (one for one in told["policies"] if one["policy"] in _CURVES),
        key=lambda one: (not one["winner"], _CURVES.index(one["policy"])),
    )[:_SHOWN_CURVES]
    curves = [{"name": "use", "y": found["use"], "area": True, "colour": 0}]
    curves += [
        {"name": one["policy"], "y": found["given"][one["policy"]], "step": True,
         "colour": place + 1, "dashed": place > 0}
        for place, one in enumerate(ranked)
    ]  # fmt: skip
    return lines(
        f"{named(told['metric'])}: use and what policies would allocate",
        told["notes"][-2],
        found["time_s"],
        curves,
        unit=unit_of(told["metric"]),
        clock="elapsed",
        height=280,
    )


def _use_chart(model: JsonObject) -> PageChart | None:
    """Return phases by metrics: the median of each."""
    rows = model["statistics"]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    by = {(row["phase"], row["metric"]): row for row in rows}
    most = {m: max(row["q50"] for row in rows if row["metric"] == m) for m in metrics}
    shares, words = [], []
    for phase in range(model["phases"]):
        held = [by.get((phase, metric)) for metric in metrics]
        shares.append(
            [
                None if one is None else max(one["q50"], 0) / (most[metric] or 1)
                for one, metric in zip(held, metrics, strict=True)
            ]
        )
        words.append(
            [
                "–" if one is None else amount(one["q50"], unit_of(metric))
                for one, metric in zip(held, metrics, strict=True)
            ]
        )
    return heat(
        "What each phase uses",
        "Median use per phase; the stronger the colour, the more of the metric's highest median.",
        rows=[f"phase {number}" for number in range(model["phases"])],
        columns=[named(metric) for metric in metrics],
        shares=shares,
        words=words,
    )


def _next_chart(model: JsonObject) -> PageChart:
    """Return how often each phase follows each."""
    table = model["transitions"]
    totals = [max(sum(row), 1.0) for row in table]
    shares = [[count / total for count in row] for row, total in zip(table, totals, strict=True)]
    names = [f"phase {number}" for number in range(model["phases"])]
    return heat(
        "What follows what",
        "Share of the changes out of the phase on the left that lead to the phase on top.",
        rows=names,
        columns=names,
        shares=shares,
        words=[[f"{100 * share:.0f} %" for share in row] for row in shares],
    )
