"""A schedule as a result: its numbers, its classes, and queueing theory beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from prophase import units
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import Block, Bullets, Fact, Note, Result, Row, Section, Table
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import Floats

_MINUTE_S = 60
#: classes on a page and in a terminal
_MOST_CLASSES, _PRINTED_CLASSES = 200, 20
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
    "Load": ("offered_load", "peak_load"),
    "Utilisation": ("gpu_util", "cpu_util", "memory_util", "fragmentation", "mean_fragmented"),
    "GPU-hours": ("gpu_hours",),
    "Core-hours": ("core_hours",),
    "GiB-hours": ("gib_hours",),
    "Users": ("fairness",),
    "Cost": ("cost",),
    "Energy": ("energy",),
}
_CLASS_COLUMNS = (
    "jobs", "mean_wait_s", "p50_wait_s", "p90_wait_s", "p99_wait_s", "mean_jct_s",
    "mean_bounded_slowdown", "waited_pct", "mean_waiting_jobs", "gpu_hours_allocated",
    "restarts", "cost",
)  # fmt: skip
#: what the printed table leaves to JSON, CSV and the page
_DETAILS = ("p50_bounded", "p90_bounded", "p99_bounded", "waited_over_1m", "waited_over_10m")
#: parts of the values that have tables of their own, or are notes
_PARTS = ("theory", "classes", "by", "notes")


def schedule_result(
    schedule: Schedule,
    metrics: Mapping[str, Any] | None = None,
    *,
    values: Mapping[str, Any] | None = None,
) -> Result:
    """Return what a replay found.

    Parameters
    ----------
    metrics : mapping, optional
        From ``Schedule.metrics``; measured by class if not given.
    values : mapping, optional
        The answer as JSON has it, with queueing formulas beside the replay under ``theory``.

    Examples
    --------
    >>> import pandas as pd
    >>> from prophase.sim import Cluster, Workload, simulate
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 60.0})
    >>> jobs["request_gpus"] = 1.0
    >>> schedule_result(simulate(Workload.from_jobs(jobs), Cluster.parse("1x1"))).facts[1].text()
    '30 s'
    """
    found = schedule.metrics(by="class") if metrics is None else metrics
    told = values if values is not None else {**found, "notes": list(schedule.notes)}
    by, classes = str(found.get("by")), found.get("classes")
    sections = [
        Section("over_time", "Over time"),
        *([Section("classes", f"By {by}", _class_blocks(classes, by))] if classes else []),
        Section("numbers", "Numbers", list(_number_tables(found))),
        Section("theory", "Beside queueing theory", list(_theory_blocks(told.get("theory")))),
        Section(
            "reach", "How far this reaches", [Bullets([*schedule.notes, *_LIMITS])]
        ),
    ]  # fmt: skip
    policy = f"order {schedule.order}, place {schedule.place}, queue {schedule.queue}"
    cluster = f"{len(schedule.cluster):,} nodes, {schedule.cluster.gpus:,} GPUs"
    return replay_result(
        told,
        title="What would the cluster do?",
        question=f"{len(schedule.workload):,} jobs replayed on {cluster}; {policy}",
        answer=_sentence(found, schedule.wait_s),
        facts=_facts(found),
        sections=sections,
    )


def replay_result(values: Mapping[str, Any], **told: Any) -> Result:
    """Return the numbers of any replay as tables and rows: also those of published simulators.

    Examples
    --------
    >>> replay_result({"jobs": 2, "mean_wait_s": 30.0}).rows
    [{'measure': 'jobs', 'value': 2}, {'measure': 'mean_wait_s', 'value': 30.0}]
    """
    measures = {name: value for name, value in values.items() if name not in _PARTS}
    rows = list(_measures(measures))
    tables = [Table("measures", [_in_words(row) for row in rows if _is_printed(row)])]
    notes = list(values.get("notes", ()))
    if "overload" in values:
        tables.insert(0, overload_table(values["overload"]))
    records: list[Row] = list(rows)
    if classes := values.get("classes"):
        by = values["by"]
        tables.append(Table("classes", _class_rows(classes[:_PRINTED_CLASSES], by), f"By {by}"))
        if len(classes) > _PRINTED_CLASSES:
            left = len(classes) - _PRINTED_CLASSES
            notes.append(f"{left:,} smaller classes are not shown; --format json has them.")
        records += [
            {"measure": f"{name} of {by} {row[by]}", "value": value}
            for row in classes
            for name, value in row.items()
            if name != by
        ]
    theory = values.get("theory")
    if theory is not None:
        if theory.get("table"):
            tables.append(Table("theory", theory["table"], f"Theory: {_pool(theory)}"))
        notes += _theory_notes(theory)
        records += [
            {"measure": f"{row['measure']} by {view}", "value": value}
            for row in theory.get("table", [])
            for view, value in row.items()
            if view != "measure"
        ]
    kept = {name: value for name, value in values.items() if name != "notes"}
    return Result(
        "simulate", tables=tables, notes=notes, records=records, values=finite(kept), **told
    )


def overload_table(overload: Mapping[str, Any]) -> Table:
    """Return what leads where jobs ask for more than there is: growth, throughput, what holds."""
    rows = [
        *(
            row
            for one in (overload, *overload["also"])
            for row in (
                {"overload": f"{one['resource']}, needed: more than", "value": one["needed"]},
                {"overload": f"{one['resource']}, today", "value": one["capacity"]},
            )
        ),
        {"overload": f"backlog at the last submission, hours of all {overload['resource']}",
         "value": overload["backlog_h"]},
        {"overload": "more of it every day, hours", "value": overload["backlog_growth_h_per_day"]},
        {"overload": "jobs submitted per day", "value": overload["jobs_submitted_per_day"]},
        {"overload": "jobs ended per day", "value": overload["jobs_ended_per_day"]},
    ]  # fmt: skip
    return Table("overload", rows, overload["said"])


def _in_words(row: Mapping[str, Any]) -> Row:
    """Put a time of minutes and more beside its seconds as people say it."""
    name, value = row["measure"], row["value"]
    long = name.endswith("_s") and isinstance(value, float | int) and value >= _MINUTE_S
    return {**row, "time": units.duration(float(value)) if long else ""}


def _measures(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row per number; of a curve, what it is at each tenth."""
    for name, value in values.items():
        if name == "overload":
            continue
        if isinstance(value, Mapping):
            for part, number in value.items():
                yield {"measure": f"{name}.{part}", "value": number}
        elif not isinstance(value, list):
            yield {"measure": name, "value": value}
    for name, value in values.items():
        if isinstance(value, list):
            for percent in range(10, len(value), 10):
                yield {"measure": f"{name} at {percent} % arrival", "value": value[percent]}


def _is_printed(row: Mapping[str, Any]) -> bool:
    """Leave out details, what is not there, and parts of a sum that are nothing."""
    if "." in row["measure"]:
        return bool(row["value"])
    return row["value"] is not None and not row["measure"].startswith(_DETAILS)


def _sentence(found: Mapping[str, Any], wait_s: Floats) -> str:
    """Say whether the cluster is overloaded, who waits, how long, and how busy it is."""
    if "overload" in found:
        told = str(found["overload"]["said"])
        return f"{told} In this trace the mean wait is {units.duration(found['mean_wait_s'])}."
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


def _facts(found: Mapping[str, Any]) -> list[Fact]:
    facts = [
        Fact("jobs", "jobs", found["jobs"]),
        Fact("mean_wait_s", "mean wait", found["mean_wait_s"], "s"),
        Fact("p99_wait_s", "p99 wait", found["p99_wait_s"], "s"),
        Fact("mean_jct_s", "mean completion time", found["mean_jct_s"], "s"),
        Fact("makespan_s", "makespan", found["makespan_s"], "s"),
    ]
    for name, words in (("gpu", "GPU"), ("cpu", "CPU"), ("memory", "memory")):
        share = found[f"{name}_utilisation_pct"]
        if share is not None:
            facts.append(Fact(f"{name}_utilisation_pct", f"{words} utilisation", share, "%"))
    idle = found.get("fragmentation_of_idle_pct")
    if idle is not None:
        facts.append(Fact("fragmentation_of_idle_pct", "idle, but of no use", idle, "%"))
    if "energy" in found:
        facts.append(Fact("energy_kwh", "energy", found["energy"]["kwh"], "kWh"))
        if "co2_kg" in found["energy"]:
            facts.append(Fact("co2_kg", "CO2", found["energy"]["co2_kg"], "kg"))
    if "cost" in found:
        money = f"{units.number(found['cost']['allocated'])} {found['cost']['currency'] or ''}"
        facts.append(Fact("cost", "cost of what jobs held", money.strip()))
    return facts


def _number_tables(found: Mapping[str, Any]) -> Iterator[Table]:
    for caption, beginnings in _TABLES.items():
        rows: list[dict[str, Any]] = []
        for name, value in found.items():
            if name.startswith(beginnings):
                inner = value if isinstance(value, Mapping) else {name: value}
                # where several measures have parts of the same names, each says whose it is
                whose = f"{name}." if inner is value and len(beginnings) > 1 else ""
                rows += [
                    {"measure": f"{whose}{what}", "value": number} for what, number in inner.items()
                ]
        known = [row for row in rows if row["value"] is not None]
        if known:
            yield Table(caption, known, caption)


def _class_rows(classes: Sequence[Row], by: str) -> list[Row]:
    return [
        {by: row[by], **{name: row[name] for name in _CLASS_COLUMNS if name in row}}
        for row in classes
    ]


def _class_blocks(classes: Sequence[Row], by: str) -> list[Block]:
    if not classes:
        return []
    rows = _class_rows(classes[:_MOST_CLASSES], by)
    blocks: list[Block] = [Table("classes", rows, f"Jobs by {by}; times in seconds")]
    if len(classes) > len(rows):
        left = len(classes) - len(rows)
        blocks.append(Bullets([f"{left:,} smaller classes are not shown; JSON has them."]))
    return blocks


def _theory_blocks(theory: Mapping[str, Any] | None) -> Iterator[Block]:
    if theory is None:
        return
    if "not_computable" in theory:
        yield Note(f"Not computable: {theory['not_computable']}", "warning")
        return
    yield Table("theory", theory["table"], _pool(theory))
    notes = [f"{one['view']}: {one['note']}." for one in theory["columns"] if one["note"]]
    yield Bullets([*notes, *theory["verdict"]])


def _theory_notes(theory: Mapping[str, Any]) -> list[str]:
    if "not_computable" in theory:
        return [f"Theory: not computable: {theory['not_computable']}"]
    said = [
        f"{one['view']}: mean wait, 95 % interval over blocks that hold the backlog: "
        f"{units.number(one['wait_mean_low_s'])} to {units.number(one['wait_mean_high_s'])} s."
        for one in theory["columns"]
        if one["wait_mean_high_s"] is not None
    ]
    said.append(
        "Queue and utilisation: from the first submission to the last end; formulas: steady state."
    )
    said += [f"{one['view']}: {one['note']}." for one in theory["columns"] if one["note"]]
    said += [
        f"Left out: {counted(count, 'job')} {why}." for why, count in theory["left_out"].items()
    ]
    return said + [f"Verdict: {line}" for line in theory["verdict"]]


def _pool(theory: Mapping[str, Any]) -> str:
    jobs = counted(theory["jobs"], "job")
    return f"{jobs} on one pool of {theory['servers']:,} {theory['resource']}"
