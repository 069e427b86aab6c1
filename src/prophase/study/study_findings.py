"""Findings for a first reader: the point as a sentence and a figure, the numbers a click away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from prophase import units
from prophase.json_types import JsonMapping, JsonObject
from prophase.result import Chart, Section, Table

#: the order in which a reader asks: waste, change, saving, certainty, waits, then what else
_ORDER = (
    "waste",
    "change",
    "saved",
    "kept",
    "waits",
    "policies",
    "predictions",
    "phases",
    "profiles",
    "next",
    "cannot",
    "tasks",
    "published",
    "scores",
    "lint",
)
#: tasks in the figure and in the table of a recommendation
_SHOWN, _LISTED = 10, 30
#: a table without a figure is shown up to so many rows
_OPEN_ROWS = 5
#: tables that a figure does not replace
_OPEN = ("recorded",)
#: columns of a recommendation that a first reader needs
_ADVISED = ("task", "runs", "now", "advice", "saving_pct", "why")
_LENGTHS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_METHODS = (
    "'default' learns; the medians only look up. All answer from what had ended before the job "
    "was submitted."
)
Results = Mapping[str, JsonMapping]


def in_order(sections: Sequence[Section]) -> list[Section]:
    """Return sections in the order of a reader's questions."""
    place = {key: number for number, key in enumerate(_ORDER)}
    return sorted(sections, key=lambda one: place.get(one.key, len(_ORDER)))


def for_first_reader(sections: Sequence[Section], results: Results) -> list[Section]:
    """Return the sections of steps in a reader's order, with figures and folded tables."""
    tell: dict[str, Callable[[Section, Results], Section]] = {
        "waste": _waste,
        "change": _change,
        "saved": _saved,
        "waits": _waits,
        "policies": _policies,
        "predictions": _predictions,
        "profiles": _profiles,
    }
    known = [_folded(tell[one.key](one, results) if one.key in tell else one) for one in sections]
    return in_order(known)


def _retold(
    section: Section,
    *,
    texts: Sequence[str] | None = None,
    tables: Sequence[Table] | None = None,
    charts: Sequence[Chart] | None = None,
) -> Section:
    """Return a section with other sentences, tables or charts."""
    return Section.told(
        section.key,
        section.title,
        section.texts if texts is None else texts,
        section.tables if tables is None else tables,
        section.charts if charts is None else charts,
    )


def _folded(section: Section) -> Section:
    if section.key == "cannot":
        return section
    told = bool(section.figures)
    if section.key == "lint":
        told = all(row["severity"] != "error" for row in _rows(section))
    return replace(
        section,
        blocks=[
            replace(block, folded=told or len(block.rows) > _OPEN_ROWS)
            if isinstance(block, Table) and block.key not in _OPEN
            else block
            for block in section.blocks
        ],
    )


def _waste(section: Section, results: Results) -> Section:
    charts = [
        replace(
            chart,
            rows=sorted(chart.rows, key=lambda row: _number(row["used_pct"])),
            unit="% of what was asked for",
            caption="The dashed line is what was asked for; what is right of the bar was idle.",
        )
        for chart in section.charts
    ]
    text = list(section.texts)
    if any(row["resource"] == "run time" for chart in charts for row in chart.rows):
        text.append("Run time is compared with the time limit: what is left of it costs nothing, "
                    "but the scheduler cannot use it for planning.")  # fmt: skip
    return _retold(section, texts=text, charts=charts)


def _change(section: Section, results: Results) -> Section:
    sized, proof = results.get("sizing", {}), results.get("proof", {})
    saved = {one["task"]: one["saved_h"] for one in proof.get("tasks", ())}
    # what a task saves on the history counts all instances of its jobs
    rows = sorted(_rows(section), key=lambda row: -saved.get(row["task"], 0.0))
    changed = [
        row for row in rows if row.get("now") and row.get("advice") not in (None, row["now"])
    ]
    shown = [{key: row[key] for key in _ADVISED if key in row} for row in rows[:_LISTED]]
    table = replace(section.tables[0], rows=shown, caption="Runs and reasons, task by task")
    tables = [table, *section.tables[1:]]
    if not changed:
        return _retold(section, tables=tables)
    names = _short_names([str(row["task"]) for row in changed[:_SHOWN]])
    drawn = [
        {"task": name, "asks now": row["now"], "should ask": row["advice"]}
        for name, row in zip(names, changed[:_SHOWN], strict=True)
    ]
    chart = Chart(
        "advice", "Requests, today and recommended", "bars", drawn, x="task",
        y=["asks now", "should ask"], unit=f"{sized.get('unit', '')} per run",
        caption=f"The {len(drawn)} tasks that save most are shown, the first on top. A run that "
        "needs more gets a second, larger try.",
    )  # fmt: skip
    text = list(section.texts)
    if saved:
        total = proof["totals"][0]
        text[0] = (
            f"{sized['advised']:,} of {sized['tasks']:,} tasks should ask for something else. On "
            f"this history that is {-total['difference']:,.0f} {total['unit']} less, retries "
            "included. The others have too few runs, or ask for about what they use."
        )
    return _retold(section, texts=text, tables=tables, charts=[chart])


def _short_names(names: list[str]) -> list[str]:
    """Return the last parts of names such as A:B:C, as few as tell them apart."""
    parts = [name.split(":") for name in names]
    for kept in range(1, max(map(len, parts))):
        short = [":".join(one[-kept:]) for one in parts]
        if len(set(short)) == len(set(names)):
            return short
    return names


def _saved(section: Section, results: Results) -> Section:
    rows = _rows(section)
    # the resource that was sized is in the first row; its usual name would say it twice
    kept = [row for row in rows[1:] if str(row["what"]).lower() != str(rows[0]["what"]).lower()]
    table = replace(section.tables[0], rows=[*rows[:1], *kept])
    told = (results.get("proof", {}).get("splits") or {}).get("held_out_oom") or {}
    # kills among the jobs it was learnt from are too few; those of later jobs are shown instead
    text = section.texts[:1] if told.get("value") is not None else section.texts
    return _retold(section, texts=text, tables=[table, *section.tables[1:]])


def _waits(section: Section, results: Results) -> Section:
    if not section.charts:
        return section
    chart = section.charts[0]
    # in the unit in which the wait of all jobs, the first row, is told elsewhere
    first = _number(chart.rows[0].get("today"))
    size, unit = next((step for step in _LENGTHS if first >= step[0]), _LENGTHS[-1])
    rows = [{**row, **{key: _over(row[key], size) for key in chart.y}} for row in chart.rows]
    classes = any(str(row["of"]).startswith(("short, ", "long, ")) for row in rows)
    told = "Short: under an hour. Low GPU: at most one GPU; high: more." if classes else ""
    drawn = replace(chart, rows=rows, unit=f"mean wait, {unit}", caption=told)
    return _retold(section, charts=[drawn, *section.charts[1:]])


def _policies(section: Section, results: Results) -> Section:
    study = results.get("schedules", {})
    rows = [row for row in _rows(section) if row.get("change_pct") is not None]
    fifo = next((row for row in _rows(section) if row["policy"] == "fifo"), None)
    if not rows or fifo is None:
        return section
    if all(row["change_pct"] == 0 for row in rows):
        return _retold(section, charts=[])
    text = [
        *section.texts,
        f"These are the {study.get('jobs', fifo.get('jobs', 0)):,} later jobs, on the same nodes, "
        f"which are empty at first: with first come, first served they wait "
        f"{units.duration(fifo['mean_wait_s'])} on average. An interval that contains zero means "
        "no clear difference on this trace; true run times are not known to any scheduler.",
    ]
    chart = Chart(
        "policies", "What other rules do to completion times", "intervals", rows, x="policy",
        y=["change_pct"], unit="change of the mean completion time, %", reference=0.0,
        caption="Against first come, first served (fifo); left of the line jobs are done "
        "earlier. Bars are 95 % intervals.",
    )  # fmt: skip
    kept = [one for one in section.charts if one.key == "kept-gain"]
    return _retold(section, texts=text, charts=[chart, *kept])


def _predictions(section: Section, results: Results) -> Section:
    charts: list[Chart] = []
    for target, title in (
        ("duration_s", "Run times predicted within a factor of two"),
        ("memory_peak_gib", "Memory peaks predicted within a factor of two"),
    ):
        rows = [
            {"method": row["method"], "share": row["within_x2_pct"]}
            for row in _rows(section)
            if row.get("target") == target and row.get("within_x2_pct") is not None
        ]
        if rows:
            charts.append(
                Chart(f"predictions-{target}", title, "bars", rows, x="method", y=["share"],
                      unit="% of later jobs", caption="" if charts else _METHODS)
            )  # fmt: skip
    return _retold(section, charts=[*section.charts, *charts])


def _profiles(section: Section, results: Results) -> Section:
    rows = [row for row in _rows(section) if row.get("share_pct") is not None]
    if not rows:
        return section
    largest = f"The largest has {rows[0]['share_pct']:.1f} % of them: {rows[0]['what']}."
    return _retold(section, texts=[*section.texts, largest])


def _rows(section: Section) -> list[JsonObject]:
    tables: Sequence[Table] = section.tables[:1]
    return [dict(row) for table in tables for row in table.rows]


def _over(value: object, size: float) -> float | None:
    return None if value is None else _number(value) / size


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
