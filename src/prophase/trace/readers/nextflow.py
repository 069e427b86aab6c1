"""Nextflow task traces: ``trace.txt`` with human units, or CSV with raw ones.

A pipeline run with ``-with-trace`` writes one line per task attempt. By default
amounts are written for people ("1.2 GB", "3m 20s", "98.5%", local times); with
``trace.raw = true`` they are bytes, milliseconds and milliseconds since 1970.
Nextflow's KB, MB and GB are powers of 1024.

The run time is ``realtime``; ``duration`` of Nextflow includes the time in the queue
and only gives the end where ``complete`` is not written, as in the default selection
of columns. A peak of zero bytes means that the sampler came too late.
Columns of extended traces that no task fills in (``scheduler_*``) are not read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from itertools import islice

import ibis

from prophase.errors import FormatError, ParameterError
from prophase.trace.dump import Dump, header_of, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.row_rules import REPAIRED
from prophase.trace.source_files import SourceFile, first_lines
from prophase.trace.text_formats import PERCENT, TEXT_FORMS
from prophase.trace.text_table import Sheet

_STATUS = {
    "COMPLETED": "completed",
    "CACHED": "completed",
    "FAILED": "failed",
    "ABORTED": "cancelled",
    "RUNNING": "running",
    "SUBMITTED": "pending",
    "NEW": "pending",
}
_UNITS = ("raw", "human")
#: 1.2 GB, 945 KB, 12 B, or plain bytes
_SIZE, _GIB = TEXT_FORMS["size binary"], 2.0**30
#: unit -> pattern of its number; "m" must not take the minutes out of "ms"
_SPANS = {
    86400.0: r"([0-9]+\.?[0-9]*)d",
    3600.0: r"([0-9]+\.?[0-9]*)h",
    60.0: r"([0-9]+\.?[0-9]*)m([^s]|$)",
    1.0: r"([0-9]+\.?[0-9]*)s",
    0.001: r"([0-9]+\.?[0-9]*)ms",
}
_WHOLE_SPAN = r"^([0-9]+\.?[0-9]*(ms|d|h|m|s) ?)+$"
#: cells that distinguish raw from human units
_TELLING = ("memory", "time", "duration", "realtime", "rss", "peak_rss", "rchar", "submit")

_TEXTS = {
    "process": "task",
    "tag": "attr_tag",
    "name": "name",
    "queue": "queue",
    "container": "attr_container",
    "module": "attr_module",
    "scratch": "attr_scratch",
    "hostname": "after_node",
    "error_action": "after_error_action",
}
_COUNTS = {
    "cpus": "request_cpu_cores",
    "attempt": "attr_attempt",
    "exit": "after_exit",
    "syscr": "read_count",
    "syscw": "write_count",
    "vol_ctxt": "after_voluntary_switches",
    "inv_ctxt": "after_involuntary_switches",
}
_AMOUNTS = {
    "rchar": "after_rchar_bytes",
    "wchar": "after_wchar_bytes",
    "read_bytes": "read_bytes",
    "write_bytes": "write_bytes",
}
_AMOUNTS_GIB = {
    "memory": "request_memory_gib",
    "disk": "attr_disk_gib",
    "rss": "after_rss_last_gib",
    "peak_rss": "memory_peak_gib",
    "vmem": "after_vmem_last_gib",
    "peak_vmem": "after_vmem_peak_gib",
}
_CLOCKS = {"submit": "submit_s", "start": "start_s", "complete": "end_s"}
_SECONDS = {"time": "time_limit_s", "realtime": "duration_s"}
_NOT_MEASURED = f"{REPAIRED}memory peak of 0 bytes, not measured"


def _read(dump: Dump) -> Tables:
    found = dump.find(*READER.patterns, signature=READER.signature)
    traces = [f for f in found if "task_id" in header_of(f, _separator(f))]
    if not traces:
        raise FormatError(
            f"{found[0].origin}: its first line names no column task_id, so it is not a trace "
            "of Nextflow. Point to the file that -with-trace wrote."
        )
    return {"jobs": stack([_jobs(dump, file) for file in traces])}


def _separator(file: SourceFile) -> str:
    line = first_lines(file.path, 1)[0]
    return "\t" if "\t" in line else ","


def _jobs(dump: Dump, file: SourceFile) -> ibis.Table:
    """Read one trace file: one run of one workflow."""
    sheet = dump.sheet(file, separator=_separator(file))
    human = _units(dump, sheet) == "human"
    if human:
        dump.note(f"{file.name}: human units, so its times are local wall time.")
    seconds, instant = (_seconds_of, _instant_of) if human else (_ms_of, _ms_of)
    workflow = dump.option("workflow", workflow_name(file.stem))
    run = _run_name(dump, file)
    prefix = run.removesuffix(file.stem) + (workflow or file.stem)
    columns = {
        **{new: sheet.text(old) for old, new in _TEXTS.items() if sheet.has(old)},
        **{new: sheet.number(old) for old, new in _COUNTS.items() if sheet.has(old)},
        **_parsed(sheet, _AMOUNTS, _SIZE.read, "an amount such as 1.2 GB", _GIB),
        **_parsed(sheet, _AMOUNTS_GIB, _SIZE.read, "an amount such as 1.2 GB"),
        **_parsed(sheet, _SECONDS, seconds, f"a time such as {'3m 20s' if human else '200000'}"),
        **_parsed(sheet, _CLOCKS, instant, "a point in time"),
        **_parsed(sheet, {"%cpu": "cpu_mean_cores"}, PERCENT.read, "a percentage", 0.01),
        **_parsed(sheet, {"%mem": "after_memory_pct"}, PERCENT.read, "a percentage"),
    }
    columns |= _from_others(sheet, columns, seconds)
    if sheet.has("status"):
        columns["status"] = sheet.text("status").cases(*_STATUS.items(), else_="unknown")
    if "memory_peak_gib" in columns:
        columns[_NOT_MEASURED] = (columns["memory_peak_gib"] == 0).fill_null(False)
        columns["memory_peak_gib"] = columns["memory_peak_gib"].nullif(0.0)
    return sheet.select(
        job_id=ibis.literal(f"{prefix}/") + _identity(sheet),
        parent_id=ibis.literal(run),
        workload=ibis.literal(workflow) if workflow else ibis.null("string"),
        instances=ibis.literal(1.0),
        **columns,
    )


def _run_name(dump: Dump, file: SourceFile) -> str:
    """Return the file's name, with its folder below the dump: many runs write a trace.txt."""
    if not file.origin.is_relative_to(dump.root) or file.origin == dump.root:
        return file.stem
    return (file.origin.relative_to(dump.root).parent / file.stem).as_posix()


def _from_others(
    sheet: Sheet, columns: dict[str, ibis.Value], seconds: Callable[[ibis.Value], ibis.Value]
) -> dict[str, ibis.Value]:
    """Fill what the default selection of columns leaves out: process, tag and end."""
    filled = {}
    if "task" not in columns and sheet.has("name"):
        # FASTQC (sample 1) is the process FASTQC for the tag "sample 1"
        filled["task"] = sheet.text("name").re_replace(r" \(.*\)$", "")
    if "attr_tag" not in columns and sheet.has("name"):
        filled["attr_tag"] = sheet.text("name").re_extract(r" \((.*)\)$", 1).nullif("")
    if "end_s" not in columns and "submit_s" in columns and sheet.has("duration"):
        filled["end_s"] = columns["submit_s"] + seconds(sheet.text("duration"))
    return filled


def workflow_name(stem: str) -> str:
    """Return the workflow a trace file is named after; nothing if it bears only a date.

    Examples
    --------
    >>> workflow_name("trace_rnaseq"), workflow_name("execution_trace_2024-05-01_12-30-00")
    ('rnaseq', '')
    """
    rest = re.sub(r"(^|[_-])(execution|pipeline|trace)(?=[_-]|$)", "", stem).strip("_-")
    return rest if re.search(r"[A-Za-z]", rest) else ""


def _identity(sheet: Sheet) -> ibis.Value:
    """Name an attempt by its work folder, which no two attempts of a run share."""
    names = [sheet.text(name) for name in ("hash", "native_id", "task_id") if sheet.has(name)]
    return ibis.coalesce(*names)


def _units(dump: Dump, sheet: Sheet) -> str:
    """Return raw or human: as the user says, or as the first cells with a value show."""
    chosen = dump.option("units", "")
    if chosen and chosen not in _UNITS:
        raise ParameterError(f"--option units={chosen}: units are raw or human.")
    if chosen:
        return chosen
    places = [sheet.columns.index(name) for name in _TELLING if sheet.has(name)]
    with sheet.file.path.open(newline="", encoding="utf-8", errors="replace") as handle:
        for row in islice(csv.reader(handle, delimiter=sheet.layout.separator), 1, 1000):
            cells = [row[place].strip() for place in places if place < len(row)]
            given = [cell for cell in cells if cell not in (*sheet.layout.missing, "0")]
            if given:
                plain = all(re.fullmatch(r"[0-9]+(\.[0-9]+)?", cell) for cell in given)
                return "raw" if plain else "human"
    return "human"


def _parsed(
    sheet: Sheet,
    names: dict[str, str],
    parse: Callable[[ibis.Value], ibis.Value],
    what: str,
    factor: float = 1.0,
) -> dict[str, ibis.Value]:
    """Parse those columns the file has; a cell that does not parse makes a bad row."""
    return {
        new: sheet.parsed(old, parse, what) * factor for old, new in names.items() if sheet.has(old)
    }


def _seconds_of(text: ibis.Value) -> ibis.Value:
    """Read 1d 2h 3m 4s, 12.5s, 850ms, or 0."""
    parts = [_extracted(text, pattern) * unit for unit, pattern in _SPANS.items()]
    total = sum(parts[1:], start=parts[0])
    return ibis.cases((text.re_search(_WHOLE_SPAN), total), (text == "0", 0.0))


def _ms_of(text: ibis.Value) -> ibis.Value:
    return text.try_cast("float64") / 1000.0


def _instant_of(text: ibis.Value) -> ibis.Value:
    """Read 2024-05-01 12:30:00.123 with its fraction of a second."""
    fraction = _extracted(text, r"(\.[0-9]+)$")
    # engines differ in whether they round or cut the fraction, so it goes a way of its own
    whole = text.re_replace(r"\.[0-9]+$", "").try_cast("timestamp")
    return whole.epoch_seconds().cast("float64") + fraction


def _extracted(text: ibis.Value, pattern: str) -> ibis.Value:
    # an engine gives "" where the pattern does not fit; that is no number either
    return text.re_extract(pattern, 1).try_cast("float64").fill_null(0.0)


READER = Reader(
    name="nextflow",
    title="Nextflow task traces: trace.txt with human units, CSV with raw ones",
    fills={
        "jobs": [
            *"job_id parent_id workload instances status wait_s".split(),
            *"cpu_mean_cores after_memory_pct".split(),
            *_TEXTS.values(),
            *_COUNTS.values(),
            *_AMOUNTS.values(),
            *_AMOUNTS_GIB.values(),
            *_CLOCKS.values(),
            *_SECONDS.values(),
        ]
    },
    cannot="users, GPUs and input sizes; usage over time",
    read=_read,
    patterns=("*trace*.txt", "*trace*.csv", "*trace*.tsv"),
    signature=("task_id", "hash", "native_id", "name", "status", "exit"),
    options={
        "units": "raw (bytes, ms) or human (1.2 GB, 3m 20s); found out by itself if left out",
        "workflow": "name of the workflow, if the file name does not say it",
    },
    clock="unix",
)
