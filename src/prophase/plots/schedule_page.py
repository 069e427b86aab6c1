"""The page of a schedule: its numbers, its classes, and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from prophase import units
from prophase.plots.page import Block, Bullets, Callout, Facts, Page, Picture, Section, Table
from prophase.plots.schedule_figures import schedule_figures
from prophase.sim import Schedule
from prophase.sim.signatures import Floats
from prophase.version import __version__

_MOST_CLASSES = 200
_LIMITS = (
    "Jobs come when they came: users who would send other jobs into a shorter queue are not in it.",
    "The cluster is empty at first. Whether another policy or cluster does better: prophase "
    "whatif. Whether replays come near recorded waits: prophase validate.",
)
#: table of the page -> beginnings of the measures it shows
_TABLES = {
    "Waits": ("mean_wait", "p50_wait", "p90_wait", "p99_wait", "waited"),
    "Completion": ("mean_jct", "p50_jct", "p90_jct", "p99_jct", "makespan"),
    "Bounded slowdown": ("mean_bounded", "p50_bounded", "p90_bounded", "p99_bounded"),
    "Attempts": ("attempts", "restarts", "unfinished_jobs"),
    "Utilisation": ("gpu_util", "cpu_util", "memory_util", "fragmentation", "mean_fragmented"),
    "GPU-hours": ("gpu_hours",),
    "Core-hours": ("core_hours",),
    "GiB-hours": ("gib_hours",),
    "Users": ("fairness",),
    "Cost": ("cost",),
}
_CLASS_COLUMNS = (
    "jobs", "mean_wait_s", "p50_wait_s", "p90_wait_s", "p99_wait_s", "mean_jct_s",
    "mean_bounded_slowdown", "waited_pct", "mean_waiting_jobs", "gpu_hours_allocated",
    "restarts", "cost",
)  # fmt: skip


def schedule_page(
    schedule: Schedule,
    metrics: Mapping[str, Any] | None = None,
    *,
    clock: str = "",
    about: Mapping[str, str] | None = None,
    theory: Mapping[str, Any] | None = None,
) -> Page:
    """Return the page that shows a schedule.

    Parameters
    ----------
    metrics : mapping, optional
        From ``Schedule.metrics``; measured by class if not given.
    clock : str
        What the trace's seconds count from.
    about : mapping, optional
        What to say at the end of the page: data hash, command.
    theory : mapping, optional
        Queueing formulas beside the replay, as ``prophase simulate --theory`` tells them.

    Examples
    --------
    >>> import pandas as pd
    >>> from prophase.plots.page import render
    >>> from prophase.sim import Cluster, Workload, simulate
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 60.0})
    >>> jobs["request_gpus"] = 1.0
    >>> page = schedule_page(simulate(Workload.from_jobs(jobs), Cluster.parse("1x1")))
    >>> "The queue over time" in render(page)
    True
    """
    found = schedule.metrics(by="class") if metrics is None else metrics
    by = found.get("by")
    pictures = [
        Picture(item.figure, item.caption)
        for item in schedule_figures(schedule, by=by, clock=clock)
    ]
    sections = [Section("Over time", pictures), Section("Numbers", _tables(found))]
    if found.get("classes"):
        sections.insert(1, Section(f"By {by}", _classes(found["classes"], str(by))))
    if theory:
        sections.append(Section("Beside queueing theory", list(_theory(theory))))
    sections.append(Section("How far this reaches", [Bullets([*schedule.notes, *_LIMITS])]))
    policy = f"order {schedule.order}, place {schedule.place}, queue {schedule.queue}"
    cluster = f"{len(schedule.cluster):,} nodes, {schedule.cluster.gpus:,} GPUs"
    return Page(
        title="What would the cluster do?",
        subtitle=f"{len(schedule.workload):,} jobs replayed on {cluster}; {policy}",
        lead=[Callout(_sentence(found, schedule.wait_s)), Facts(_facts(found))],
        sections=sections,
        about={"version": f"prophase {__version__}", **(about or {})},
    )


def _sentence(found: Mapping[str, Any], wait_s: Floats) -> str:
    """Say who waits, how long, and how busy the cluster is."""
    waited = np.isfinite(wait_s) & (wait_s > 0)
    if not waited.any():
        said = "No job waited."
    else:
        said = (
            f"{units.percent(float(waited.mean()))} of the jobs waited. The mean wait is "
            f"{units.duration(found['mean_wait_s'])}{_range(found)}; one job in a hundred waited "
            f"longer than {units.duration(found['p99_wait_s'])}."
        )
    for name, words in (("gpu", "GPUs"), ("cpu", "cores"), ("memory", "memory")):
        share = found[f"{name}_utilisation_pct"]
        if share is not None:
            return f"{said} Of all {words}, {units.percent(share / 100)} were in use on average."
    return said


def _range(found: Mapping[str, Any]) -> str:
    low, high = found.get("mean_wait_low_s"), found.get("mean_wait_high_s")
    if low is None or high is None:
        return ""
    return f" (95 % interval over days: {units.duration(low)} to {units.duration(high)})"


def _theory(beside: Mapping[str, Any]) -> Iterator[Block]:
    if "not_computable" in beside:
        yield Callout(f"Not computable: {beside['not_computable']}", "warning")
        return
    pool = f"{beside['jobs']:,} jobs on one pool of {beside['servers']:,} {beside['resource']}"
    yield Table(beside["table"], pool)
    notes = [f"{one['view']}: {one['note']}." for one in beside["columns"] if one["note"]]
    yield Bullets([*notes, *beside["verdict"]])


def _facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [
        ("jobs", f"{found['jobs']:,}"),
        ("mean wait", units.duration(found["mean_wait_s"])),
        ("p99 wait", units.duration(found["p99_wait_s"])),
        ("mean completion time", units.duration(found["mean_jct_s"])),
        ("makespan", units.duration(found["makespan_s"])),
    ]
    for name, words in (("gpu", "GPU"), ("cpu", "CPU"), ("memory", "memory")):
        share = found[f"{name}_utilisation_pct"]
        if share is not None:
            facts.append((f"{words} utilisation", units.percent(share / 100)))
    if found.get("fragmentation_of_idle_pct") is not None:
        facts.append(
            ("idle, but of no use", units.percent(found["fragmentation_of_idle_pct"] / 100))
        )
    if "cost" in found:
        money = f"{units.number(found['cost']['allocated'])} {found['cost']['currency'] or ''}"
        facts.append(("cost of what jobs held", money.strip()))
    return facts


def _tables(found: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for caption, beginnings in _TABLES.items():
        rows: list[dict[str, Any]] = []
        for name, value in found.items():
            if name.startswith(beginnings):
                inner = value if isinstance(value, Mapping) else {name: value}
                rows += [{"measure": what, "value": number} for what, number in inner.items()]
        known = [row for row in rows if row["value"] is not None]
        if known:
            blocks.append(Table(known, caption))
    return blocks


def _classes(classes: list[dict[str, Any]], by: str) -> list[Block]:
    shown = [
        {by: row[by], **{name: row[name] for name in _CLASS_COLUMNS if name in row}}
        for row in classes[:_MOST_CLASSES]
    ]
    blocks: list[Block] = [Table(shown, f"Jobs by {by}; times in seconds")]
    if len(classes) > len(shown):
        blocks.append(
            Bullets(
                [f"{len(classes) - len(shown):,} smaller classes are not shown; JSON has them."]
            )
        )
    return blocks
