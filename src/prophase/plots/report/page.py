"""The page of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prophase import units
from prophase.plots.page import (
    Block,
    Bullets,
    Callout,
    Card,
    Cards,
    Code,
    Facts,
    Heading,
    Page,
    Paragraph,
    Picture,
    Section,
    Table,
)
from prophase.plots.report.charts import draw_chart
from prophase.study.report.parts import DataUsed, Reproduction, Step
from prophase.study.report.report import Finding, Report

_TITLE = {"note": "", "good": "Yes.", "warning": "With care.", "bad": "No."}


def report_page(report: Report) -> Page:
    """Return the page that shows a report.

    Examples
    --------
    >>> from prophase.plots.page import render
    >>> page = report_page(Report("Sizing", question="How much?", limits=["One cluster."]))
    >>> "How far this reaches" in render(page)
    True
    """
    lead: list[Block] = []
    if report.answer:
        lead.append(Callout(report.answer, report.verdict, _TITLE[report.verdict]))
    if report.answers:
        told = {finding.title for finding in report.findings}
        lead.append(Cards([
            Card(one.question, one.value, one.text, one.section if one.section in told else "")
            for one in report.answers
        ]))  # fmt: skip
    elif report.facts:
        lead.append(Facts([(fact.name, fact.text()) for fact in report.facts]))
    sections = [_finding(finding) for finding in report.findings]
    if report.apply:
        sections.append(Section("What to do next", list(_steps(report.apply))))
    reach = list(_reach(report))
    if reach:
        sections.append(Section("How far this reaches", reach))
    if report.data or report.method:
        sections.append(Section("Data and method", list(_origin(report))))
    if report.reproduce is not None:
        sections.append(Section("How to get the same again", list(_again(report.reproduce))))
    return Page(
        title=report.title,
        subtitle=report.question,
        lead=lead,
        sections=sections,
        about=_about(report),
    )


def with_intervals(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows whose intervals stand in the cell of their value.

    Examples
    --------
    >>> with_intervals([{"saving_pct": 31.4, "saving_pct_low": 27.9, "saving_pct_high": 35.1}])
    [{'saving_pct': '31.4 (27.9 to 35.1)'}]
    """
    columns = {column for row in rows for column in row}
    paired = {c for c in columns if f"{c}_low" in columns and f"{c}_high" in columns}
    hidden = {f"{column}_{end}" for column in paired for end in ("low", "high")}

    def cell(row: Mapping[str, Any], column: str) -> Any:
        value, low, high = (row.get(f"{column}{end}") for end in ("", "_low", "_high"))
        if column not in paired or value is None or low is None or high is None:
            return value
        return f"{units.number(value)} ({units.number(low)} to {units.number(high)})"

    return [{c: cell(row, c) for c in row if c not in hidden} for row in rows]


def _about(report: Report) -> dict[str, str]:
    """Return what tells this result from another: version, command, seeds, data."""
    again = report.reproduce
    hashes = list(dict.fromkeys(data.data_hash for data in report.data if data.data_hash))
    told = {"data hash": ", ".join(hashes)} if hashes else {}
    if again is None:
        return told
    seeds = ", ".join(f"{seed} ({name})" for name, seed in again.seeds.items())
    found = {"version": f"prophase {again.version}", "command": again.command, "seed": seeds}
    return {name: text for name, text in {**found, **told}.items() if text}


def _finding(finding: Finding) -> Section:
    blocks: list[Block] = [Paragraph(text) for text in finding.text]
    blocks += [
        Picture(draw_chart(chart), chart.caption, chart.title)
        for chart in finding.charts
        if chart.rows
    ]
    blocks += [Picture(figure, caption) for _, caption, figure in finding.figures]
    blocks += [
        Table(with_intervals(table.rows), table.caption, 0 if table.folded else Table.open_rows)
        for table in finding.tables
        if table.rows
    ]
    return Section(finding.title, blocks)


def _steps(steps: Sequence[Step]) -> Iterator[Block]:
    for step in steps:
        yield Paragraph(step.text)
        if step.command:
            yield Code(step.command)


def _reach(report: Report) -> Iterator[Block]:
    parts: tuple[tuple[Sequence[str], Heading], ...] = (
        (report.valid_for, Heading("Valid for", "good")),
        (report.not_valid_for, Heading("Not valid for", "warning")),
        (report.limits, Heading("Limits")),
    )
    for words, heading in parts:
        if words:
            yield heading
            yield Bullets(words)


def _origin(report: Report) -> Iterator[Block]:
    if report.method:
        yield Bullets(report.method)
    if report.data:
        yield Table([_data_row(data) for data in report.data], "Data")
    dropped = [
        {"data": data.name, "left out for": reason, "rows": rows}
        for data in report.data
        for reason, rows in data.dropped.items()
    ]
    if dropped:
        yield Table(dropped, "What was left out")
    notes = [f"{data.name}: {data.note}" for data in report.data if data.note]
    if notes:
        yield Bullets(notes)


def _data_row(data: DataUsed) -> dict[str, Any]:
    row = {"data": data.name, "rows": data.rows, "kind": data.kind, "hash": data.data_hash[:16]}
    return {key: value for key, value in row.items() if value not in ("", None)}


def _again(reproduce: Reproduction) -> Iterator[Block]:
    yield Code(reproduce.command)
    kept = {
        **{f"seed of {name}": seed for name, seed in reproduce.seeds.items()},
        **reproduce.settings,
    }
    if kept:
        rows = [{"setting": name, "value": str(value)} for name, value in kept.items()]
        yield Table(rows, "Settings")
