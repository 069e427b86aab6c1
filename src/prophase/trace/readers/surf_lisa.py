"""SURF LISA cluster, 2022: tasks and their CPU demand every 30 seconds.

Source: the OpenDC trace archive, which made one task per job and node. Each task
has the size of a whole node (16 cores, 33,600 MHz); real requests, users and memory
are not in the trace. ``mem_capacity`` has no stated unit and is not read. Submission
is the only clock: series start there. A sample stands at the end of its 30 seconds.
"""

from __future__ import annotations

import ibis

from prophase.errors import MissingFileError, ParameterError
from prophase.trace.dump import Dump, having
from prophase.trace.reader import Reader, SourceTable, Tables, constant, instant, number, text
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import BAD, REASON

_STEP_S = 30.0
_NODE_CORES, _NODE_MHZ = 16.0, 33600.0
_CHOICES = ("week", "month")
_WEEK = SourceTable(
    "jobs",
    ("id", "submission_time", "duration"),
    {
        "job_id": text("id"),
        "submit_s": number("submission_time", 1e-3),
        "duration_s": number("duration", 1e-3),
        "instances": constant(1.0),
        "request_cpu_cores": number("cpu_count"),
        "attr_cpu_capacity_mhz": number("cpu_capacity"),
    },
)
_MONTH = SourceTable(
    "month_tasks",
    ("id", "submit_utc", "duration_ms"),
    {
        "job_id": text("id"),
        "submit_s": instant("submit_utc"),
        "duration_s": number("duration_ms", 1e-3),
        "instances": constant(1.0),
        "request_cpu_cores": constant(_NODE_CORES),
    },
)


def _read(dump: Dump) -> Tables:
    chosen = dump.option("tasks", "week")
    if chosen not in _CHOICES:
        raise ParameterError(f"--option tasks={chosen}: choose {' or '.join(_CHOICES)}.")
    found = dump.find("*.csv")
    week, month = having(found, *_WEEK.needs), _MONTH.read_all(dump, found)
    series = having(found, "id", "cpu_mhz_every_30s")
    if chosen == "month":
        tables = {"jobs": month["month_tasks"]} if month else {}
    else:
        tables = _WEEK.read_all(dump, found)
    if not tables and not series:
        raise MissingFileError(
            f"{dump.root}: holds no table of the {chosen}'s tasks and no CPU series. "
            "Point to the folder with tasks, month_tasks and cpu_series."
        )
    if series and chosen == "week":
        tables["usage"] = _usage(dump, series[0], week)
    elif series:
        dump.note("The CPU series belong to the week's tasks and were not read.")
    if month and chosen == "week":
        tables |= month
        dump.note("month_tasks is kept beside the jobs; --option tasks=month reads it as the jobs.")
    return tables


def _usage(dump: Dump, file: SourceFile, tasks: list[SourceFile]) -> ibis.Table:
    """Spread every line of blank separated values over one row per value."""
    sheet = dump.sheet(file)
    line = sheet.text("cpu_mhz_every_30s").re_replace(" +", " ").strip()
    lines = sheet.select(series_id=sheet.text("id"), _value=line.split(" "))
    if tasks:
        week = dump.sheet(tasks[0])
        starts = week.select(
            series_id=week.text("id"), _start=week.number("submission_time", factor=1e-3)
        )
        lines = dump.join_one(lines, starts, ["series_id"], name="tasks").drop("_joined_tasks")
        start = lines._start
    else:
        dump.note("There is no table of tasks: every series starts at 0 s.")
        start = ibis.literal(0.0)
    lines = lines.mutate(_start=start)
    samples = lines.unnest("_value", offset="_place")
    mhz = samples._value.try_cast("float64")
    broken = ibis.cases(
        (samples[REASON].notnull(), samples[REASON]),
        (samples._start.isnull(), "series without a task"),
        (mhz.isnull(), f"{BAD}cpu_mhz_every_30s is not a number"),
    )
    return samples.select(
        series_id=samples.series_id,
        time_s=samples._start + (samples._place + 1) * _STEP_S,
        cpu_cores=mhz / _NODE_MHZ * _NODE_CORES,
        **{REASON: broken},
    )


READER = Reader(
    name="surf-lisa",
    title="SURF LISA cluster (2022): tasks with a CPU series every 30 s",
    fills={
        "jobs": _WEEK.fills,
        "usage": "series_id time_s cpu_cores".split(),
        "month_tasks": _MONTH.fills,
    },
    cannot="waits, users, memory and GPUs; the request is always one node of 16 cores",
    read=_read,
    patterns=("*.csv",),
    signature=("id", "cpu_mhz_every_30s"),
    options={"tasks": "week (default, with series) or month (50,381 tasks without series)"},
    clock="unix",
)
