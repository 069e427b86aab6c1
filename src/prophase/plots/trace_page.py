"""The page of a trace: the story of its description with its figures."""

from __future__ import annotations

from prophase import units
from prophase.plots.page import Block, Bullets, Callout, Facts, Page, Picture, Section, Table
from prophase.plots.trace_figures import trace_figures
from prophase.trace.describe.chapters import chapters_of
from prophase.trace.describe.chapters.chapter import Chapter
from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.description import Description
from prophase.trace.describe.trace_clock import Span

_ROWS = {"jobs": "jobs", "usage": "usage samples", "nodes": "nodes"}
_VERDICT_TITLE = {"good": "Good fit.", "rough": "Rough fit.", "bad": "Bad fit."}


def trace_page(found: Description, *, command: str = "") -> Page:
    """Return the page that shows a description.

    Examples
    --------
    >>> import pandas as pd
    >>> from prophase.plots.page import render
    >>> from prophase.trace import Trace
    >>> from prophase.trace.describe.description import describe
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "duration_s": [60.0, 7200.0]})
    >>> page = trace_page(describe(Trace({"jobs": jobs}, "csv", "0" * 64)))
    >>> "no submit times" in render(page)
    True
    """
    pictures: dict[str, list[Picture]] = {}
    for item in trace_figures(found):
        pictures.setdefault(item.chapter, []).append(Picture(item.figure, item.caption))
    chapters = chapters_of(found)
    sections = [
        Section(chapter.title, _blocks(found, chapter, pictures.get(chapter.key, [])))
        for chapter in chapters
        if not chapter.silent
    ]
    silent = [f"{chapter.title}: {chapter.silent}." for chapter in chapters if chapter.silent]
    if silent:
        lead = Callout("What this trace cannot tell, and why:", "note", "Not computable.")
        sections.append(Section("What could not be computed", [lead, Bullets(silent)]))
    tables = ", ".join(
        f"{rows:,} {_ROWS.get(name, f'rows of {name}')}" for name, rows in found.tables.items()
    )
    about = {
        "source": found.source,
        "tables": tables,
        "data hash": found.data_hash,
        "clock": found.clock,
        "version": f"prophase {found.version}",
    }
    if command:
        about["command"] = command
    return Page(
        title=f"Trace report: {found.source}",
        subtitle=tables,
        lead=[Facts(facts)] if (facts := _facts(found)) else [],
        sections=sections,
        about=about,
    )


def _blocks(found: Description, chapter: Chapter, pictures: list[Picture]) -> list[Block]:
    blocks: list[Block] = []
    verdict = _verdict(found, chapter.key)
    if verdict is not None:
        blocks.append(verdict)
    said = [text for text in chapter.sentences if verdict is None or text != verdict.text]
    blocks += [Bullets(said), *pictures]
    blocks += [Table(table.rows, table.caption) for table in chapter.tables]
    return blocks


def _verdict(found: Description, key: str) -> Callout | None:
    """Return the judgement on fitted laws as something that cannot be overlooked."""
    laws = {"arrival_laws": found.arrival_laws, "service_laws": found.service_laws}.get(key)
    if laws is None or isinstance(laws, NotComputable):
        return None
    best = laws.best
    kind = {"good": "good", "rough": "warning", "bad": "bad"}[best.verdict]
    return Callout(best.words, kind, _VERDICT_TITLE[best.verdict])  # type: ignore[arg-type]


def _facts(found: Description) -> list[tuple[str, str]]:
    """Return the numbers that stand at the top of the page."""
    facts: list[tuple[str, str]] = []
    if "jobs" in found.tables:
        facts.append(("jobs", f"{found.tables['jobs']:,}"))
    if isinstance(found.span, Span):
        facts.append(("time span", units.duration(found.span.days * 86400)))
    if not isinstance(found.counts, NotComputable):
        for name in ("user", "queue", "workload"):
            if name in found.counts.distinct:
                facts.append((f"{name}s", f"{found.counts.distinct[name]:,}"))
    if not isinstance(found.durations, NotComputable):
        facts.append(("median run time", units.duration(found.durations.values.at("p50"))))
    if not isinstance(found.waits, NotComputable):
        facts.append(("median wait", units.duration(found.waits.values.at("p50"))))
    if not isinstance(found.utilisation, NotComputable):
        facts += [
            (f"utilisation: {resource.resource}", units.percent(resource.utilisation))
            for resource in found.utilisation.resources
            if "mean" in resource.resource
        ]
    if not isinstance(found.recurrence, NotComputable):
        facts.append(("seen before", units.percent(found.recurrence.best.seen_before_share)))
    if not isinstance(found.usage, NotComputable):
        facts += [
            ("usage series", f"{found.usage.series:,}"),
            ("samples", f"{found.usage.samples:,}"),
            ("usual step", units.duration(found.usage.usual_step_s)),
        ]
    if not isinstance(found.nodes, NotComputable):
        facts += [("nodes", f"{found.nodes.nodes:,}"), ("GPUs", units.number(found.nodes.gpus))]
    return facts
