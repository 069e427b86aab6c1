"""Host telemetry written by dstat (or pcp-dstat, dool): its CSV output, or a plain table of it.

dstat's own output has a banner, a line of groups and a line of names; it may lack a
clock. The plain table has one header line and a counter ``second``, as published with
Blox (Agarwal et al., EuroSys 2024).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import ibis

from prophase.errors import FormatError
from prophase.trace.dump import Dump, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile, first_lines
from prophase.trace.text_table import Sheet

_GIB = 2.0**-30
#: plain name -> metric; rates are an average since boot in the first row
_RATES = {
    "cpu_usr": "cpu_user_pct",
    "cpu_sys": "cpu_system_pct",
    "cpu_wait": "cpu_wait_pct",
    "disk_read_Bps": "read_bytes_per_s",
    "disk_write_Bps": "write_bytes_per_s",
    "net_recv_Bps": "network_receive_bytes_per_s",
    "net_send_Bps": "network_send_bytes_per_s",
    "page_in_Bps": "page_in_bytes_per_s",
    "page_out_Bps": "page_out_bytes_per_s",
    "sys_int": "interrupts_per_s",
    "sys_csw": "context_switches_per_s",
    "io_read_ops": "read_ops_per_s",
    "io_write_ops": "write_ops_per_s",
}
#: plain name -> (metric, factor)
_LEVELS = {
    "mem_used_B": ("memory_gib", _GIB),
    "mem_buff_B": ("memory_buffer_gib", _GIB),
    "mem_cache_B": ("memory_cache_gib", _GIB),
    "mem_free_B": ("memory_free_gib", _GIB),
    "load_1m": ("load_1m", 1.0),
}
#: shares of all cores that count as in use: neither idle nor waiting for a disk
_BUSY = ("cpu_usr", "cpu_sys", "cpu_hiq", "cpu_siq")
_PLAIN = ("second", "cpu_usr", "cpu_sys", "mem_used_B")

#: (group, name) in dstat's two header lines -> plain name
_NATIVE = {
    **{("total cpu usage", n): f"cpu_{n}" for n in ("usr", "sys", "hiq", "siq")},
    ("total cpu usage", "wai"): "cpu_wait",
    ("dsk/total", "read"): "disk_read_Bps",
    ("dsk/total", "writ"): "disk_write_Bps",
    ("net/total", "recv"): "net_recv_Bps",
    ("net/total", "send"): "net_send_Bps",
    ("memory usage", "used"): "mem_used_B",
    ("memory usage", "buff"): "mem_buff_B",
    ("memory usage", "cach"): "mem_cache_B",
    ("memory usage", "free"): "mem_free_B",
    ("paging", "in"): "page_in_Bps",
    ("paging", "out"): "page_out_Bps",
    ("system", "int"): "sys_int",
    ("system", "csw"): "sys_csw",
    ("io/total", "read"): "io_read_ops",
    ("io/total", "writ"): "io_write_ops",
    ("load avg", "1m"): "load_1m",
    ("epoch", "epoch"): "epoch",
    ("system", "date/time"): "date",
    ("system", "time"): "date",
}
_METRICS = (*_RATES, "cpu_hiq", "cpu_siq", *_LEVELS)


def _read(dump: Dump) -> Tables:
    found = dump.find("*.csv")
    series = [_usage(dump, file) for file in found]
    dump.note("The first row of a run averages its rates since boot: only its memory is kept.")
    return {"usage": stack(series)}


def _usage(dump: Dump, file: SourceFile) -> ibis.Table:
    if "csv output" in first_lines(file.path, 1)[0].lower():
        sheet = dump.sheet_of_rows(file, ("second", "fields", *_METRICS), _native_rows(file))
        sheet.bad_if(sheet.number("fields") == 0, "wrong number of fields")
    else:
        sheet = dump.sheet(file)
        sheet.need(*_PLAIN)
    return _metrics(sheet, file)


def _metrics(sheet: Sheet, file: SourceFile) -> ibis.Table:
    time = sheet.number("second")
    busy = [sheet.number(name) for name in _BUSY if sheet.has(name)]
    rates = {metric: sheet.number(n) for n, metric in _RATES.items() if sheet.has(n)}
    rates["cpu_util_pct"] = sum(busy[1:], start=busy[0])
    levels = {
        metric: sheet.number(n, factor=factor)
        for n, (metric, factor) in _LEVELS.items()
        if sheet.has(n)
    }
    return sheet.select(
        series_id=ibis.literal(file.stem),
        time_s=time,
        **{
            metric: (time > 0).ifelse(value, ibis.null("float64"))
            for metric, value in rates.items()
        },
        **levels,
    )


def _native_rows(file: SourceFile) -> Iterator[list[object]]:
    """Yield second, whether the width is right, and the metrics of each line of dstat's output.

    The second comes from the column epoch or date/time if there is one, else from the
    delay in the command line.
    """
    names: list[str] = []
    delay, count, zero, year = 1.0, 0, None, 1970
    with file.path.open(newline="", encoding="utf-8", errors="replace") as handle:
        groups: list[str] = []
        for cells in csv.reader(handle):
            first = cells[0].strip().lower() if cells else ""
            if not first or first.startswith(("author:", "host:")) or "csv output" in first:
                continue
            if first == "cmdline:":
                delay, year = _delay_of(cells), _year_of(cells)
            elif _is_header(cells):
                # two header lines: groups, each named once, then the names inside them
                if not groups:
                    groups = _filled(cells)
                else:
                    names = [_NATIVE.get(pair, "") for pair in zip(groups, cells, strict=False)]
                    groups = []
            elif len(cells) != len(names):
                yield [None, 0, *[None] * len(_METRICS)]
            else:
                row = dict(zip(names, cells, strict=True))
                clock = _clock(row, year)
                if clock is not None:
                    zero = clock if zero is None else zero
                yield [
                    count * delay if clock is None or zero is None else clock - zero,
                    len(cells),
                    *(row.get(name) for name in _METRICS),
                ]
                count += 1
    if not count:
        raise FormatError(
            f"{file.origin}: has dstat's banner but no samples below it. Check that dstat ran "
            "with --output until the end."
        )


def _is_header(cells: Sequence[str]) -> bool:
    """Names only: a line of samples has at least one number."""
    return not any(re.fullmatch(r"-?\d+(\.\d*)?(e[+-]?\d+)?", cell.strip()) for cell in cells)


def _filled(groups: Sequence[str]) -> list[str]:
    """Repeat each group over its columns; pcp-dstat says total usage for total cpu usage."""
    filled: list[str] = []
    for group in groups:
        name = "total cpu usage" if group == "total usage" else group
        filled.append(name or filled[-1])
    return filled


def _delay_of(cells: Sequence[str]) -> float:
    """Return seconds between samples: dstat [options] [delay [count]]."""
    words = cells[1].split() if len(cells) > 1 else []
    numbers = re.findall(r"(?<=\s)\d+(?=\s|$)", " " + " ".join(words[1:]))
    trailing = [word for word in words[-2:] if word in numbers]
    return float(trailing[0]) if trailing else 1.0


def _year_of(cells: Sequence[str]) -> int:
    """Return the year in: "Date:","18 Jul 2017 21:23:33 PDT"."""
    year = re.search(r"\b(?:19|20)\d\d\b", cells[-1])
    return int(year[0]) if year else 1970


def _clock(row: dict[str, str], year: int) -> float | None:
    """Return seconds since 1970 of a line, if it has a readable clock."""
    try:
        if row.get("epoch"):
            return float(row["epoch"])
        if row.get("date"):
            stamp = datetime.strptime(f"{year}-{row['date']}", "%Y-%d-%m %H:%M:%S")
            return stamp.replace(tzinfo=UTC).timestamp()
    except ValueError:
        pass
    return None


READER = Reader(
    name="dstat",
    title="Host telemetry written by dstat: CPU, memory, disk and network per second",
    fills={
        "usage": [
            *"series_id time_s cpu_util_pct".split(),
            *_RATES.values(),
            *(metric for metric, _ in _LEVELS.values()),
        ]
    },
    cannot="GPUs, and which process used what: the numbers are of the whole host",
    read=_read,
    patterns=("*.csv",),
    signature=("cpu_usr", "cpu_sys", "disk_read_Bps", "mem_used_B"),
    first_line=r'"?(Dstat|pcp-dstat|dool)\b.*CSV output',
)
