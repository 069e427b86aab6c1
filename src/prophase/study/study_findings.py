"""Findings for a first reader: the point as a sentence and a figure, the numbers a click away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from prophase import units
from prophase.study.report.charts import Chart
from prophase.study.report.parts import ResultTable
from prophase.study.report.report import Finding

#: the order in which a reader asks: waste, change, saving, certainty, waits, then what else
_ORDER = (
    "Where the waste is",
    "What to change",
    "What is saved",
    "Were predictions kept?",
    "What it does to waiting times",
    "Every policy on the same jobs",
    "What will a job need?",
    "What jobs do while they run",
    "Which kinds of job there are",
    "What to measure next",
    "What could not be done",
    "Task by task",
    "Beside the NSDI 2022 study of PAI",
    "How good the predictions are",
    "Is the trace sound?",
)
#: tasks in the figure and in the table of an advice
_SHOWN, _LISTED = 10, 30
#: a table without a figure is shown up to so many rows
_OPEN_ROWS = 5
#: columns of an advice that a first reader needs
_ADVISED = ("task", "runs", "now", "advice", "saving_pct", "why")
_LENGTHS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_METHODS = (
    "'default' learns; the medians only look up. All answer from what had ended before the job "
    "was submitted."
)
Results = Mapping[str, Mapping[str, Any]]


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order of a reader's questions."""
    place = {title: number for number, title in enumerate(_ORDER)}
    return sorted(findings, key=lambda one: place.get(one.title, len(_ORDER)))


def retold(findings: Sequence[Finding], results: Results) -> list[Finding]:
    """Return the findings of steps in a reader's order, with figures and folded tables."""
    tell: dict[str, Callable[[Finding, Results], Finding]] = {
        "Where the waste is": _waste,
        "What to change": _change,
        "What is saved": _saved,
        "What it does to waiting times": _waits,
        "Every policy on the same jobs": _policies,
        "What will a job need?": _predictions,
        "Which kinds of job there are": _kinds,
    }
    known = [
        _folded(tell[one.title](one, results) if one.title in tell else one) for one in findings
    ]
    return in_order(known)


def _folded(finding: Finding) -> Finding:
    if finding.title == "What could not be done":
        return finding
    told = bool(finding.charts or finding.figures)
    if finding.title == "Is the trace sound?":
        told = all(row["severity"] != "error" for row in _rows(finding))
    tables = [
        replace(table, folded=told or len(table.rows) > _OPEN_ROWS) for table in finding.tables
    ]
    return replace(finding, tables=tables)


def _waste(finding: Finding, results: Results) -> Finding:
    charts = [
        replace(
            chart,
            rows=sorted(chart.rows, key=lambda row: row["used_pct"]),
            unit="% of what was asked for",
            caption="Up to the dashed line it was asked for; right of the bar it stayed idle.",
        )
        for chart in finding.charts
    ]
    text = list(finding.text)
    if any(row["resource"] == "run time" for chart in charts for row in chart.rows):
        text.append("Run time is held against the time limit: what is left of it costs nothing, "
                    "but no scheduler can plan with it.")  # fmt: skip
    return replace(finding, text=text, charts=charts)


def _change(finding: Finding, results: Results) -> Finding:
    sized, proof = results.get("sizing", {}), results.get("proof", {})
    saved = {one["task"]: one["saved_h"] for one in proof.get("tasks", ())}
    # what a task saves on the history counts all instances of its jobs
    rows = sorted(_rows(finding), key=lambda row: -saved.get(row["task"], 0.0))
    changed = [
        row for row in rows if row.get("now") and row.get("advice") not in (None, row["now"])
    ]
    shown = [{key: row[key] for key in _ADVISED if key in row} for row in rows[:_LISTED]]
    table = replace(finding.tables[0], rows=shown, caption="Runs and reasons, task by task")
    tables = [table, *finding.tables[1:]]
    if not changed:
        return replace(finding, tables=tables)
    names = _short_names([str(row["task"]) for row in changed[:_SHOWN]])
    drawn = [
        {"task": name, "asks now": row["now"], "should ask": row["advice"]}
        for name, row in zip(names, changed[:_SHOWN], strict=True)
    ]
    chart = Chart(
        "advice", "Requests, today and advised", "bars", drawn, x="task",
        y=["asks now", "should ask"], unit=f"{sized.get('unit', '')} per run",
        caption=f"The {len(drawn)} tasks that save most are shown, the first on top. A run that "
        "needs more gets a second, larger try.",
    )  # fmt: skip
    text = list(finding.text)
    if saved:
        total = proof["totals"][0]
        text[0] = (
            f"{sized['advised']:,} of {sized['tasks']:,} tasks should ask for something else. On "
            f"this history that is {-total['difference']:,.0f} {total['unit']} less, retries "
            "included. The others run too seldom to judge, or ask for about what they use."
        )
    return replace(finding, text=text, tables=tables, charts=[chart])


def _short_names(names: list[str]) -> list[str]:
    """Return the last parts of names such as A:B:C, as few as tell them apart."""
    parts = [name.split(":") for name in names]
    for kept in range(1, max(map(len, parts))):
        short = [":".join(one[-kept:]) for one in parts]
        if len(set(short)) == len(set(names)):
            return short
    return names


def _saved(finding: Finding, results: Results) -> Finding:
    rows = _rows(finding)
    # the resource that was sized is in the first row; its usual name would say it twice
    kept = [row for row in rows[1:] if str(row["what"]).lower() != str(rows[0]["what"]).lower()]
    table = replace(finding.tables[0], rows=[*rows[:1], *kept])
    told = (results.get("proof", {}).get("splits") or {}).get("held_out_oom") or {}
    # kills among the jobs that taught the advice flatter it; those of later jobs are told instead
    text = finding.text[:1] if told.get("value") is not None else finding.text
    return replace(finding, text=text, tables=[table, *finding.tables[1:]])


def _waits(finding: Finding, results: Results) -> Finding:
    if not finding.charts:
        return finding
    chart = finding.charts[0]
    # in the unit in which the wait of all jobs, the first row, is told elsewhere
    first = chart.rows[0].get("today") or 0.0
    size, unit = next((step for step in _LENGTHS if first >= step[0]), _LENGTHS[-1])
    rows = [{**row, **{key: _over(row[key], size) for key in chart.y}} for row in chart.rows]
    classes = any(str(row["of"]).startswith(("short, ", "long, ")) for row in rows)
    told = "Short: under an hour. Low GPU: at most one GPU; high: more." if classes else ""
    drawn = replace(chart, rows=rows, unit=f"mean wait, {unit}", caption=told)
    return replace(finding, charts=[drawn, *finding.charts[1:]])


def _policies(finding: Finding, results: Results) -> Finding:
    study = results.get("schedules", {})
    rows = [row for row in _rows(finding) if row.get("change_pct") is not None]
    fifo = next((row for row in _rows(finding) if row["policy"] == "fifo"), None)
    if not rows or fifo is None:
        return finding
    if all(row["change_pct"] == 0 for row in rows):
        return replace(finding, charts=[])
    text = [
        *finding.text,
        f"These are the {study.get('jobs', fifo.get('jobs', 0)):,} later jobs, on the same nodes, "
        f"which are empty at first: with first come, first served they wait "
        f"{units.duration(fifo['mean_wait_s'])} on average. A range that holds zero says that this "
        "trace is too short to tell the difference; true run times are what no scheduler knows.",
    ]
    chart = Chart(
        "policies", "What other rules do to completion times", "intervals", rows, x="policy",
        y=["change_pct"], unit="change of the mean completion time, %", reference=0.0,
        caption="Against first come, first served (fifo); left of the line jobs are done "
        "earlier. Bars are 95 % intervals.",
    )  # fmt: skip
    kept = [one for one in finding.charts if one.name == "kept-gain"]
    return replace(finding, text=text, charts=[chart, *kept])


def _predictions(finding: Finding, results: Results) -> Finding:
    charts: list[Chart] = []
    for target, title in (
        ("duration_s", "Run times foretold within a factor of two"),
        ("memory_peak_gib", "Memory peaks foretold within a factor of two"),
    ):
        rows = [
            {"method": row["method"], "share": row["within_x2_pct"]}
            for row in _rows(finding)
            if row.get("target") == target and row.get("within_x2_pct") is not None
        ]
        if rows:
            charts.append(
                Chart(f"predictions-{target}", title, "bars", rows, x="method", y=["share"],
                      unit="% of later jobs", caption="" if charts else _METHODS)
            )  # fmt: skip
    return replace(finding, charts=[*finding.charts, *charts])


def _kinds(finding: Finding, results: Results) -> Finding:
    rows = [row for row in _rows(finding) if row.get("share_pct") is not None]
    if not rows:
        return finding
    largest = f"The largest has {rows[0]['share_pct']:.1f} % of them: {rows[0]['what']}."
    return replace(finding, text=[*finding.text, largest])


def _rows(finding: Finding) -> list[dict[str, Any]]:
    tables: Sequence[ResultTable] = finding.tables[:1]
    return [dict(row) for table in tables for row in table.rows]


def _over(value: float | None, size: float) -> float | None:
    return None if value is None else value / size
