"""Google cluster jobs of 2011: the events of ClusterData 2011-2, or a table made from them.

Reiss, Wilkes, Hellerstein 2011. The trace hides the size of its machines: requests, use and
capacities are shares of the largest one, so they are attributes here, not cores and GiB.

The owner's files have no header and are told apart by their folder (``job_events/part-...``). A
job is submitted, scheduled and ended by events; times are microseconds, 0 lies before the trace
and 2^63-1 after it. The table of (mostly) single-task jobs has no clock; ids grow with submission.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ibis

from prophase.errors import MissingFileError
from prophase.trace.dump import Dump, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import REASON, Sheet

_STEP_S = 300.0
#: folder of the owner's files -> their columns
_EVENTS = {
    "job_events": "time missing job_id event user scheduling_class job_name logical_name",
    "task_events": (
        "time missing job_id task machine event user scheduling_class priority cpu ram disk apart"
    ),
    "machine_events": "time machine event platform cpu ram",
    "task_usage": (
        "start end job_id task machine cpu ram ram_assigned page_cache page_cache_total ram_peak "
        "disk_time disk cpu_peak disk_time_peak cpi mai sample_portion aggregation cpu_sampled"
    ),
}
_SUBMIT, _SCHEDULE, _UPDATES = 0, 1, (7, 8)
_ENDS = {2: "preempted", 3: "failed", 4: "completed", 5: "cancelled", 6: "unknown"}


def _read(dump: Dump) -> Tables:
    parts = {
        name: [f for f in dump.find("part-*.csv", required=False) if f.origin.parent.name == name]
        for name in _EVENTS
    }
    return _read_events(dump, parts) if any(parts.values()) else _read_table(dump)


def _read_events(dump: Dump, parts: Mapping[str, Sequence[SourceFile]]) -> Tables:
    sheets = {
        name: dump.sheet(dump.in_one(name, found), columns=_EVENTS[name].split())
        for name, found in parts.items()
        if found
    }
    tables: Tables = {}
    if "job_events" in sheets:
        tables["jobs"] = _jobs_of_events(sheets["job_events"])
        if "task_events" in sheets:
            tasks = _tasks(sheets["task_events"])
            tables["jobs"] = dump.join_one(tables["jobs"], tasks, ["job_id"], name="tasks")
        else:
            dump.note(
                "There are no task_events: tasks of a job, priorities and requests are "
                "missing (prophase fetch google2011 --only 'task_events/*')."
            )
    if "machine_events" in sheets:
        tables["nodes"] = _machines(sheets["machine_events"])
    if "task_usage" in sheets:
        tables["usage"] = _usage(sheets["task_usage"])
    if not tables:
        raise MissingFileError(
            f"{dump.root}: has neither job_events nor machine_events nor task_usage. task_events "
            "say what jobs ask for, not which there are: fetch job_events too."
        )
    return tables


def _seconds(sheet: Sheet, name: str) -> ibis.Value:
    """Return microseconds as seconds; what lies before or after the trace is unknown."""
    stamp = sheet.number(name)
    inside = (stamp > 0) & (stamp < 2.0**62)
    return inside.ifelse(stamp / 1e6, ibis.null("float64"))


def _jobs_of_events(sheet: Sheet) -> ibis.Table:
    rows = sheet.select(
        job_id=sheet.text("job_id"),
        user=sheet.text("user"),
        name=sheet.text("job_name"),
        group=sheet.text("logical_name"),
        attr_scheduling_class=sheet.number("scheduling_class"),
        _at=_seconds(sheet, "time"),
        _stamp=sheet.number("time"),
        _event=sheet.number("event"),
    )
    whole = rows.filter(rows[REASON].isnull() & ~rows._event.isin(_UPDATES))
    ended = whole._event.isin(list(_ENDS))
    jobs = whole.group_by("job_id").agg(
        **{name: whole[name].max() for name in ("user", "name", "group", "attr_scheduling_class")},
        submit_s=whole._at.min(where=whole._event == _SUBMIT),
        start_s=whole._at.min(where=whole._event == _SCHEDULE),
        _end_s=whole._at.max(where=ended),
        _last=whole._event.argmax(whole._stamp + whole._event / 16),
    )
    status = ibis.cases(
        *((jobs._last == event, word) for event, word in _ENDS.items()),
        (jobs._last == _SCHEDULE, "running"),
        else_="pending",
    )
    over = jobs._last.isin(list(_ENDS))
    jobs = jobs.mutate(
        end_s=over.ifelse(jobs._end_s, ibis.null("float64")),
        status=status,
        **{REASON: ibis.null("string")},
    ).drop("_end_s", "_last")
    return stack([jobs, rows.filter(rows[REASON].notnull()).select("job_id", REASON)])


def _tasks(sheet: Sheet) -> ibis.Table:
    """Return what the tasks of a job ask for: the largest of them."""
    rows = sheet.select(
        job_id=sheet.text("job_id"),
        _task=sheet.number("task"),
        priority=sheet.number("priority"),
        attr_request_cpu_pct=sheet.number("cpu", factor=100.0),
        attr_request_ram_frac=sheet.number("ram"),
        attr_request_disk_frac=sheet.number("disk"),
    )
    whole = rows.filter(rows[REASON].isnull())
    asked = ("priority", "attr_request_cpu_pct", "attr_request_ram_frac", "attr_request_disk_frac")
    return whole.group_by("job_id").agg(
        instances=whole._task.nunique().cast("float64"),
        **{name: whole[name].max() for name in asked},
    )


def _machines(sheet: Sheet) -> ibis.Table:
    """Return one row per machine, with its largest capacity; removals are not followed."""
    rows = sheet.select(
        node_id=sheet.text("machine"),
        attr_platform=sheet.text("platform"),
        attr_cpu_frac=sheet.number("cpu"),
        attr_ram_frac=sheet.number("ram"),
    )
    whole = rows.filter(rows[REASON].isnull())
    columns = ("attr_platform", "attr_cpu_frac", "attr_ram_frac")
    return whole.group_by("node_id").agg(**{name: whole[name].max() for name in columns})


def _usage(sheet: Sheet) -> ibis.Table:
    return sheet.select(
        series_id=sheet.text("job_id") + "-" + sheet.text("task"),
        time_s=sheet.number("end") / 1e6,
        step_s=(sheet.number("end") - sheet.number("start")) / 1e6,
        cpu_frac=sheet.number("cpu"),
        cpu_peak_frac=sheet.number("cpu_peak"),
        ram_frac=sheet.number("ram"),
        ram_peak_frac=sheet.number("ram_peak"),
    )


def _read_table(dump: Dump) -> Tables:
    jobs = stack([_jobs(dump, file) for file in dump.find("jobs*.csv", "google*.csv")])
    return {"jobs": jobs.mutate(submit_order=ibis.rank().over(order_by=jobs._place)).drop("_place")}


def _jobs(dump: Dump, file: SourceFile) -> ibis.Table:
    sheet = dump.sheet(file)
    sheet.need("job_id", "duration_5min_units")
    return sheet.select(
        _place=sheet.number("job_id"),
        job_id=sheet.text("job_id"),
        user=sheet.text("user"),
        group=sheet.text("logical_name"),
        duration_s=sheet.number("duration_5min_units", factor=_STEP_S).round(),
        instances=sheet.number("num_tasks"),
        priority=sheet.number("priority"),
        attr_scheduling_class=sheet.number("scheduling_class"),
        attr_request_cpu_pct=sheet.number("request_cpu"),
        attr_request_ram_frac=sheet.number("request_ram"),
        attr_request_disk_frac=sheet.number("request_disk"),
    )


READER = Reader(
    name="google2011",
    aliases=("google2011-jobs",),
    title="Google cluster jobs (2011): events of jobs, tasks and machines, or a table of jobs",
    fills={
        "jobs": (
            "job_id name user group submit_s submit_order start_s end_s duration_s wait_s status "
            "instances priority attr_request_cpu_pct attr_request_disk_frac attr_request_ram_frac "
            "attr_scheduling_class"
        ).split(),
        "usage": "series_id time_s step_s cpu_frac cpu_peak_frac ram_frac ram_peak_frac".split(),
        "nodes": "node_id attr_cpu_frac attr_platform attr_ram_frac".split(),
    },
    cannot="GPUs, cores and GiB: requests and use are shares of an unknown machine",
    read=_read,
    patterns=("jobs*.csv", "google*.csv", "part-*.csv"),
    # a line of job_events, or of machine_events
    first_line=(
        r"\d+,[0-2]?,\d+,[0-8],[\w+/]{40,}=?,[0-3]?,[\w+/]{40,}=?,[\w+/]{40,}=?$"
        r"|\d+,\d+,[0-2],[\w+/]{40,}=?,[\d.]*,[\d.]*$"
    ),
    signature=("job_id", "logical_name", "scheduling_class", "duration_5min_units"),
)
