"""A description as a result: a section for each part, and what could not be computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prophase import units
from prophase.result import (
    Block,
    Bullets,
    Fact,
    Note,
    Provenance,
    Result,
    Section,
)
from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.description import Description
from prophase.trace.describe.sections.arrivals_and_durations import (
    arrival_blocks,
    class_blocks,
    duration_blocks,
    recurrence_blocks,
    wait_blocks,
)
from prophase.trace.describe.sections.counts_and_nodes import (
    count_blocks,
    missing_blocks,
    node_blocks,
    usage_blocks,
)
from prophase.trace.describe.sections.requests_and_laws import (
    arrival_law_blocks,
    load_blocks,
    request_blocks,
    service_law_blocks,
    utilisation_blocks,
)
from prophase.trace.describe.trace_clock import TimeSpan

_ROWS = {"jobs": "jobs", "usage": "usage samples", "nodes": "nodes"}
#: table of the trace -> key, title and words of each part that it has numbers for
_PARTS: dict[str, tuple[tuple[str, str, Callable[[Any], list[Block]]], ...]] = {
    "jobs": (
        ("arrivals", "Arrivals", arrival_blocks),
        ("durations", "Run times", duration_blocks),
        ("waits", "Waits", wait_blocks),
        ("classes", "Job classes", class_blocks),
        ("requests", "Requests", request_blocks),
        ("utilisation", "Requests against use", utilisation_blocks),
        ("load", "Load over time", load_blocks),
        ("recurrence", "Recurrence", recurrence_blocks),
        ("arrival_laws", "Laws of the arrivals", arrival_law_blocks),
        ("service_laws", "Laws of the run time", service_law_blocks),
    ),
    "usage": (("usage", "Usage series", usage_blocks),),
    "nodes": (("nodes", "Nodes", node_blocks),),
}


def description_result(found: Description, *, command: str = "") -> Result:
    """Return what a trace looks like, in reading order.

    Parts of a table the trace does not have are left out; parts that the table's columns do
    not allow are named with their reason.

    Examples
    --------
    >>> import pandas as pd
    >>> from prophase.trace import Trace
    >>> from prophase.trace.describe.description import describe
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "duration_s": [60.0, 7200.0]})
    >>> result = description_result(describe(Trace({"jobs": jobs}, "csv", "0" * 64)))
    >>> result.section("counts").texts[0], result.section("silent").texts[1]
    ('2 jobs.', 'Arrivals: no submit times.')
    """
    tables = ", ".join(
        f"{rows:,} {_ROWS.get(name, f'rows of {name}')}" for name, rows in found.tables.items()
    )
    counts = ", ".join(f"{name} {rows:,}" for name, rows in found.tables.items())
    return Result(
        "describe",
        title=f"Trace report: {found.source}",
        question=tables,
        facts=list(_facts(found)),
        sections=list(_sections(found)),
        notes=[f"{found.source}: {counts} rows; data {found.data_hash[:12]}"],
        values=found.to_dict(),
        provenance=Provenance(
            command,
            version=found.version,
            about={
                "source": found.source,
                "tables": tables,
                "data hash": found.data_hash,
                "clock": found.clock,
            },
        ),
    )


def _sections(found: Description) -> Iterator[Section]:
    silent = []
    if not isinstance(found.counts, NotComputable):
        yield Section("counts", "What is in it", count_blocks(found.counts, found.span))
    elif "jobs" in found.tables:
        silent.append(f"What is in it: {found.counts.reason}.")
    for table, parts in _PARTS.items():
        for key, title, blocks in parts if table in found.tables else ():
            part = getattr(found, key)
            if isinstance(part, NotComputable):
                silent.append(f"{title}: {part.reason}.")
            else:
                yield Section(key, title, blocks(part))
    yield Section("missing", "Missing values", missing_blocks(found.missing))
    if silent:
        lead = Note("What this trace cannot tell, and why:", "note", "Not computable.")
        yield Section("silent", "What could not be computed", [lead, Bullets(silent)])


def _facts(found: Description) -> Iterator[Fact]:
    """Yield the numbers that stand at the top of the page."""
    if "jobs" in found.tables:
        yield Fact("jobs", "jobs", found.tables["jobs"])
    if isinstance(found.span, TimeSpan):
        yield Fact("span", "time span", found.span.days * 86400, "s")
    if not isinstance(found.counts, NotComputable):
        for name in ("user", "queue", "workload"):
            if name in found.counts.distinct:
                yield Fact(f"{name}s", f"{name}s", found.counts.distinct[name])
    if not isinstance(found.durations, NotComputable):
        yield Fact("run_time", "median run time", found.durations.values.at("p50"), "s")
    if not isinstance(found.waits, NotComputable):
        yield Fact("wait", "median wait", found.waits.values.at("p50"), "s")
    if not isinstance(found.utilisation, NotComputable):
        for one in found.utilisation.resources:
            if "mean" in one.resource:
                label = f"utilisation: {one.resource}"
                yield Fact(label, label, units.percent(one.utilisation))
    if not isinstance(found.recurrence, NotComputable):
        share = units.percent(found.recurrence.best.seen_before_share)
        yield Fact("seen_before", "seen before", share)
    if not isinstance(found.usage, NotComputable):
        yield Fact("series", "usage series", found.usage.series)
        yield Fact("samples", "samples", found.usage.samples)
        yield Fact("step", "usual step", found.usage.usual_step_s, "s")
    if not isinstance(found.nodes, NotComputable):
        yield Fact("nodes", "nodes", found.nodes.nodes)
        yield Fact("gpus", "GPUs", found.nodes.gpus)
