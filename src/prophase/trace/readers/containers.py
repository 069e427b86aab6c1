"""Containers sampled for phase models: the AI4DL CSV layout.

Source: Berral, Wang, Youssef, "AI4DL: Mining Behaviors of Deep Learning Workloads for
Resource Management", HotCloud 2020. One row per sample of one execution (``pod.id``)
of a service. `ORIGINAL_FEATURES` says what each of its columns is called here and by
what it was multiplied.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

import ibis

from prophase.errors import MissingColumnError
from prophase.trace.dump import Dump, header_of, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile, file_hash, first_lines

#: column of the source -> (metric of the usage table, factor)
ORIGINAL_FEATURES: dict[str, tuple[str, float]] = {
    "cpu.num.cores": ("node_cpu_cores", 1.0),
    # CPU work in the interval; the source does not say in which unit
    "cpu.usage": ("cpu_work", 1.0),
    "cpu.usage.cores": ("cpu_cores", 1.0),
    "cpu.usage.pct": ("cpu_util_pct", 1.0),
    "cpu.usage.pct.container.requested": ("cpu_request_util_pct", 1.0),
    "mem.current": ("memory_current_gib", 2.0**-30),
    "mem.limit": ("memory_limit_gib", 2.0**-30),
    "mem.usage.pct": ("memory_util_frac", 0.01),
    "mem.working.set": ("memory_gib", 2.0**-30),
}


def _read(dump: Dump) -> Tables:
    found = [file for file in dump.find("*.csv") if "pod.id" in header_of(file)]
    if not found:
        names = ", ".join(file.name for file in dump.find("*.csv"))
        raise MissingColumnError(
            f"{dump.root}: none of {names} has the columns timestamp and pod.id in its first line. "
            "Point to the CSV of container samples."
        )
    return {"usage": stack([_usage(dump, file) for file in _each_once(dump, found)])}


def _each_once(dump: Dump, found: list[SourceFile]) -> Iterator[SourceFile]:
    """Leave out files that are copies of another, byte for byte."""
    first_of: dict[str, str] = {}
    for file in found:
        digest = file_hash(file.path)
        if digest in first_of:
            dump.note(f"{file.name} is a copy of {first_of[digest]}, byte for byte: read once.")
            continue
        first_of[digest] = file.name
        yield file


def _usage(dump: Dump, file: SourceFile) -> ibis.Table:
    header = header_of(file)
    columns = header
    if _has_unnamed_row_number(file, header):
        columns = ["row_number", *header]
        dump.note(
            f"{file.name}: rows have one field more than the header has names; "
            "the first field is a row number."
        )
    sheet = dump.sheet(file, columns=columns, skip=1)
    sheet.need("timestamp", "pod.id")
    series = sheet.text("pod.id")
    if sheet.has("service"):
        series = sheet.text("service") + "/" + series
    metrics = {
        metric: sheet.number(name, factor=factor)
        for name, (metric, factor) in ORIGINAL_FEATURES.items()
        if sheet.has(name)
    }
    return sheet.select(series_id=series, time_s=sheet.number("timestamp"), **metrics)


def _has_unnamed_row_number(file: SourceFile, header: list[str]) -> bool:
    lines = first_lines(file.path, 2)
    if len(lines) < 2:
        return False
    row = next(csv.reader([lines[1]]))
    return len(row) == len(header) + 1 and row[0].isdigit()


READER = Reader(
    name="containers",
    title="Container CPU and memory samples for phase models (AI4DL layout)",
    fills={"usage": ["series_id", "time_s", *(metric for metric, _ in ORIGINAL_FEATURES.values())]},
    cannot="jobs, users and GPUs; steps between samples are irregular (10 to 60 s)",
    read=_read,
    patterns=("*.csv",),
    signature=("timestamp", "pod.id", "cpu.usage.cores", "mem.working.set"),
    clock="unix",
)
