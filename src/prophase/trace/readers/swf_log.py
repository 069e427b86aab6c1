"""One log in Standard Workload Format: its header, and its lines split into fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import ibis

from prophase.errors import FormatError
from prophase.trace.dump import Dump
from prophase.trace.files import SourceFile, first_lines
from prophase.trace.sheet import Sheet

FIELDS = (
    "job submit wait run procs_used cpu_time memory_used procs_asked time_asked memory_asked "
    "status user group executable queue partition preceding think_time"
).split()
ALEA = "nodes_used queue_name request".split()
#: seconds; a later submit time counts from 1970, not from the start of the log
_ABSOLUTE_S = 1e8


@dataclass(frozen=True)
class Log:
    """One log: its name, what its header says, and how its jobs look."""

    file: SourceFile
    header: dict[str, str]
    is_alea: bool
    first_submit_s: float

    @property
    def name(self) -> str:
        return self.file.stem

    @property
    def zero_s(self) -> float:
        """What to add to a submit time to get seconds since 1970."""
        start = self.header_number("UnixStartTime") or 0.0
        return start if self.first_submit_s < _ABSOLUTE_S else 0.0

    @property
    def is_relative(self) -> bool:
        return self.zero_s == 0.0 and self.first_submit_s < _ABSOLUTE_S

    def header_number(self, key: str) -> float | None:
        match = re.match(r"-?[0-9]+", self.header.get(key, ""))
        return float(match[0]) if match and float(match[0]) >= 0 else None


def read_log(file: SourceFile) -> Log:
    """Read the header and the first job of a log."""
    header: dict[str, str] = {}
    for line in first_lines(file.path, 10_000):
        if line.lstrip().startswith(";"):
            key, _, value = line.lstrip("; \t").partition(":")
            header.setdefault(key.strip(), value.strip())
        elif line.strip():
            fields = line.split()
            if len(fields) < len(FIELDS) or not re.fullmatch(r"-?[0-9.]+", fields[1]):
                raise FormatError(
                    f"{file.origin}: the first job has {len(fields)} fields, but the Standard "
                    f"Workload Format has {len(FIELDS)} numbers. Check which file this is."
                )
            is_alea = len(fields) >= len(FIELDS) + len(ALEA)
            return Log(file, header, is_alea, float(fields[1]))
    raise FormatError(f"{file.origin}: has a header but no jobs. Fetch the log again.")


def open_lines(dump: Dump, log: Log) -> Sheet:
    """Return the job lines split at blanks, one column of text per field."""
    lines = dump.lines(log.file)
    text = lines.text("line").strip()
    rows = lines.table.filter(text.notnull() & (text != "") & ~text.startswith(";"))
    rows = rows.select(parts=rows.line.strip().re_split(r"[ \t]+"))
    names = [*FIELDS, *ALEA] if log.is_alea else FIELDS
    count = rows["parts"].length()

    def part(place: int) -> ibis.Value:
        # an engine may refuse a place beyond the end, so it is never asked for one
        return (count > place).ifelse(rows["parts"][place], ibis.null("string"))

    fields = {name: part(place) for place, name in enumerate(names)}
    sheet = _SplitLines(log.file, rows.select(_count=count, **fields))
    dump.sheets[-1] = sheet
    sheet.bad_if(sheet.table["_count"] < len(names), f"fewer than {len(names)} fields")
    return sheet


class _SplitLines(Sheet):
    """Fields of blank-separated lines; names the line of what is not a number."""

    def examples(self, limit: int = 3) -> list[str]:
        return list(islice(self._odd_fields(), limit))

    def _odd_fields(self) -> Iterator[str]:
        with self.file.path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                fields = [] if line.lstrip().startswith(";") else line.split()
                where = f"{self.file.name} line {number}"
                if 0 < len(fields) < len(FIELDS):
                    yield f"{where}: has {len(fields)} fields, not {len(FIELDS)}."
                for name, cell in zip(FIELDS, fields, strict=False):
                    if not re.fullmatch(r"-?[0-9]*[.]?[0-9]+", cell):
                        yield f"{where}: {name} is {cell!r}, which is not a number."
