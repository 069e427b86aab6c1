"""What ``prophase retry --out`` and ``prophase log --job-out`` have written: one line per attempt.

Its fields are the columns of the job table. The peak of an attempt that was killed at its limit is
that limit, a lower bound (``after_at_least_gib``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import ibis

from prophase.trace.dump import Dump, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.schema import JOBS
from prophase.trace.source_files import SourceFile

_TEXT = (
    "job_id", "parent_id", "name", "user", "task", "status", "attr_command", "attr_directory",
    "after_end_cause", "after_because", "after_memory_method",
)  # fmt: skip
_NUMBERS = (
    "submit_s", "start_s", "end_s", "duration_s", "request_memory_gib", "memory_peak_gib",
    "cpu_mean_cores", "cpu_peak_cores", "read_bytes", "write_bytes", "attr_attempt",
    "after_exit_code", "after_memory_peak_error_gib", "after_reached_gib", "after_at_least_gib",
)  # fmt: skip
_COLUMNS = JOBS.in_order([*_TEXT, *_NUMBERS])


def _read(dump: Dump) -> Tables:
    return {"jobs": stack([_jobs(dump, file) for file in dump.find("*.jsonl")])}


def _jobs(dump: Dump, file: SourceFile) -> ibis.Table:
    sheet = dump.sheet_of_rows(file, _COLUMNS, _rows(file))
    # half a line of a writer that was killed
    sheet.bad_if(sheet.text("job_id").isnull(), "not a whole line of JSON")
    return sheet.select(
        **{name: sheet.text(name) if name in _TEXT else sheet.number(name) for name in _COLUMNS}
    )


def _rows(file: SourceFile) -> Iterator[list[object]]:
    with file.path.open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                row = json.loads(line)
            except ValueError:
                row = {}
            yield [row.get(name) for name in _COLUMNS]


READER = Reader(
    name="attempts",
    title="Attempts at commands: what prophase retry --out and prophase log --job-out have written",
    fills={"jobs": [*_COLUMNS, "wait_s"]},
    cannot="usage over time; prophase log writes it to a file of its own",
    read=_read,
    patterns=("*.jsonl",),
    first_line=r'\{"job_id": .*"after_end_cause"',
    clock="unix",
)
