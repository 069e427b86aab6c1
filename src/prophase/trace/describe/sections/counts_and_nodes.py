"""What is in the trace: counts, time span, missing values, nodes, usage series."""

from __future__ import annotations

import math
from dataclasses import asdict

from prophase import units
from prophase.plural import counted, listed
from prophase.result import Block, Bullets, Table
from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.job_counts import JobCounts, MissingColumn
from prophase.trace.describe.nodes_and_usage import Inventory, UsageSeries
from prophase.trace.describe.sections import percent
from prophase.trace.describe.trace_clock import TimeSpan

_PLURAL = {
    "parent_id": "parents",
    "user": "users",
    "group": "groups",
    "queue": "queues",
    "workload": "workloads",
    "task": "tasks",
    "name": "names",
    "gpu_type": "GPU types",
}


def count_blocks(counts: JobCounts, span: TimeSpan | NotComputable) -> list[Block]:
    """Say how many jobs, of whom, from when to when."""
    kinds = [
        counted(n, _PLURAL[name].removesuffix("s"), _PLURAL[name])
        for name, n in counts.distinct.items()
    ]
    said = [counted(counts.jobs, "job") + (f" of {listed(kinds, most=8)}." if kinds else ".")]
    if isinstance(span, TimeSpan):
        said.append(
            f"From {span.first} to {span.last}: {units.duration(span.days * 86400)}. "
            f"Times are {span.clock_words}."
        )
    else:
        said.append(f"When is not known: {span.reason}.")
    if math.isfinite(counts.busiest_users_share):
        said.append(
            "The busiest 5 % of users submitted "
            f"{units.percent(counts.busiest_users_share)} of the jobs."
        )
    if math.isfinite(counts.gang_share):
        said.append(
            f"{units.percent(counts.gang_share)} of the instances start together with others, "
            "as a gang."
        )
    hours = [
        f"{units.number(value)} {what}"
        for value, what in ((counts.gpu_hours, "GPU-hours"), (counts.core_hours, "core-hours"))
        if math.isfinite(value) and value > 0
    ]
    if hours:
        said.append(f"The jobs asked for {listed(hours)}.")
    tables = [
        Table(
            f"counts by {name}",
            [
                {name: value, "jobs": n, "share_pct": percent(n / counts.jobs)}
                for value, n in most.items()
            ],
            f"Jobs by {name}"
            + (" (the most frequent)" if len(most) < _kinds(counts, name) else ""),
        )
        for name, most in counts.most.items()
        if len(most) > 1
    ]
    return [Bullets(said), *tables]


def _kinds(counts: JobCounts, name: str) -> int:
    return counts.distinct.get(name, len(counts.most[name]))


def missing_blocks(missing: tuple[MissingColumn, ...]) -> list[Block]:
    """Say which columns have gaps."""
    gaps = [column for column in missing if column.missing]
    whole = len(missing) - len(gaps)
    said = [f"{whole} of {len(missing)} columns have a value in every row."]
    if gaps:
        worst = max(gaps, key=lambda column: column.share)
        said.append(f"The emptiest is {worst.column}: {units.percent(worst.share)} are missing.")
    rows = tuple(
        {
            "table": column.table,
            "column": column.column,
            "missing": column.missing,
            "missing_pct": percent(column.share),
        }
        for column in gaps
    )
    tables = [Table("missing", rows, "Columns with missing values")] if rows else []
    return [Bullets(said), *tables]


def node_blocks(nodes: Inventory) -> list[Block]:
    """Say what the cluster consists of."""
    amounts = [
        f"{units.number(value)} {what}"
        for value, what in (
            (nodes.gpus, "GPUs"),
            (nodes.cpu_cores, "cores"),
            (nodes.memory_gib, "GiB of memory"),
        )
        if math.isfinite(value)
    ]
    said = f"{counted(nodes.nodes, 'node')} of {counted(len(nodes.types), 'kind')}"
    rows = [{**asdict(kind), "gpu_type": kind.gpu_type or "-"} for kind in nodes.types[:20]]
    rest = len(nodes.types) - len(rows)
    caption = "Node kinds, per node"
    caption += f" ({counted(rest, 'rarer kind')} left out)" if rest else ""
    said = f"{said}, with {listed(amounts)}." if amounts else f"{said}."
    return [Bullets([said]), *([Table("nodes", rows, caption)] if rows else [])]


def usage_blocks(usage: UsageSeries) -> list[Block]:
    """Say how many series there are, how they are sampled and what they measure."""
    said = [
        f"{usage.series:,} series with {counted(usage.samples, 'sample')}, "
        f"{units.number(usage.samples_per_series.at('p50'))} in the median series, "
        f"which is {units.duration(usage.length_s.at('p50'))} long."
    ]
    if math.isfinite(usage.usual_step_s):
        said.append(
            f"The usual step is {units.duration(usage.usual_step_s)}; "
            f"{units.percent(usage.irregular_share)} of the steps differ from it by more than a "
            "tenth."
        )
        said.append(
            f"{counted(usage.gaps, 'step is a gap', 'steps are gaps')} (longer than one and a half "
            f"usual steps), in {usage.series_with_gaps:,} series; the longest is "
            f"{units.duration(usage.longest_gap_s)}."
            if usage.gaps
            else "There are no gaps."
        )
    rows = tuple(
        {"metric": metric.name, "unit": metric.unit, **metric.values.row}
        for metric in usage.metrics
    )
    tables = [Table("usage", rows, "Metrics over all samples")] if rows else []
    return [Bullets(said), *tables]
