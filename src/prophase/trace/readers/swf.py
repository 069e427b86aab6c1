"""Standard Workload Format of the Parallel Workloads Archive, and the Alea extension of it.

A log counts everything per processor, so an instance here is one processor: a job of 64
processors has 64 instances of one core. Alea's logs add the nodes used, the queue and the
PBS request as fields 19 to 21, and give the requested memory in bytes per node: there an
instance is a node with its ``ppn`` processors. The format (Feitelson et al., 1999) says -1
for what is unknown; here it is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import ibis

from prophase.errors import FormatError, ParameterError
from prophase.trace.dump import Dump, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.row_rules import REPAIRED
from prophase.trace.source_files import SourceFile, first_lines
from prophase.trace.text_table import Sheet

_STATUS = {"0": "failed", "1": "completed", "5": "cancelled"}
#: lines about parts of a job that has a line of its own
_PARTS = ("2", "3", "4")
_PER_NODE = r"^([0-9]+)(?::[^:#]+)*:ppn=([0-9]+)"
_KIB = 2.0**-20
_BYTE = 2.0**-30
#: half of the jobs asking for more than this per processor cannot be KB
_IMPLAUSIBLE_KB = 2.0**28


def _read(dump: Dump) -> Tables:
    found = dump.find(*READER.patterns)
    machines = [file for file in found if file.name.endswith(".csv")]
    logs = [read_log(file) for file in found if file not in machines]
    tables: Tables = {}
    if logs:
        tables["jobs"] = stack([_jobs(dump, log, several=len(logs) > 1) for log in logs])
    nodes = _nodes(dump, logs, machines)
    if nodes is not None:
        tables["nodes"] = nodes
    return tables


def _jobs(dump: Dump, log: SwfLog, *, several: bool) -> ibis.Table:
    sheet = open_lines(dump, log)
    memory_factor = _memory_factor(dump, log, sheet)
    status = sheet.text("status")
    sheet.drop_if(status.isin(_PARTS), "part of a job that has its own line")
    if log.is_relative:
        dump.clock = "relative"
        dump.note(f"{log.name}: no UnixStartTime, so times count from the start of the log.")
    procs = ibis.coalesce(
        _known(sheet, "procs_asked").nullif(0.0), _known(sheet, "procs_used").nullif(0.0)
    )
    # numbers of jobs and users start at 1 in every log
    prefix = ibis.literal(f"{log.name}/" if several else "")
    own = _fields_of_alea(sheet, procs) if log.is_alea else _fields(sheet, procs, prefix)
    return sheet.select(
        job_id=prefix + sheet.text("job"),
        user=prefix + _word(sheet, "user"),
        submit_s=_known(sheet, "submit") + log.zero_s,
        wait_s=_known(sheet, "wait"),
        duration_s=_known(sheet, "run"),
        status=_status(dump, log, sheet),
        request_memory_gib=_known(sheet, "memory_asked").nullif(0.0) * memory_factor,
        time_limit_s=_known(sheet, "time_asked").nullif(0.0),
        attr_log=ibis.literal(log.name),
        after_procs=_known(sheet, "procs_used"),
        **own,
        # -1 says unknown; anything below it is a mistake of the log
        **{f"{REPAIRED}run time below zero, left missing": (sheet.number("run") < -1.0)},
    )


def _known(sheet: Sheet, name: str) -> ibis.Value:
    value = sheet.number(name)
    return (value < 0).ifelse(ibis.null("float64"), value)


def _word(sheet: Sheet, name: str) -> ibis.Value:
    return sheet.text(name).nullif("-1")


def _fields(sheet: Sheet, procs: ibis.Value, prefix: ibis.Value) -> dict[str, ibis.Value]:
    """Return the fields of the standard, all of them per processor."""
    run, before = _known(sheet, "run"), _word(sheet, "preceding")
    nothing = ibis.null("float64")
    return {
        "instances": procs,
        "request_cpu_cores": ibis.literal(1.0),
        "group": prefix + _word(sheet, "group"),
        "queue": _word(sheet, "queue"),
        "workload": _word(sheet, "executable"),
        "cpu_mean_cores": (run > 0).ifelse(_known(sheet, "cpu_time") / run, nothing),
        "memory_mean_gib": _known(sheet, "memory_used").nullif(0.0) * _KIB,
        "attr_partition": _word(sheet, "partition"),
        "attr_preceding_job": prefix + before,
        "attr_think_time_s": before.notnull().ifelse(_known(sheet, "think_time"), nothing),
    }


def _fields_of_alea(sheet: Sheet, procs: ibis.Value) -> dict[str, ibis.Value]:
    """Return nodes x processors of ``8:ppn=8:cl_zegox``, and the queue.

    These logs fill CPU time, memory used, group, executable and dependency with
    placeholders (1, 1024), which are left out.
    """
    request = sheet.text("request")
    asked = request.re_extract(_PER_NODE, 1).try_cast("float64")
    per_node = request.re_extract(_PER_NODE, 2).try_cast("float64")
    # a request without ppn means one processor on each node
    alone = request.re_extract(r"^([0-9]+)(?::|$)", 1).try_cast("float64")
    nodes = ibis.cases((asked * per_node == procs, asked), (alone == procs, alone), else_=1.0)
    return {
        "instances": nodes,
        "request_cpu_cores": procs / nodes,
        "queue": _word(sheet, "queue_name"),
        "attr_request": request,
        "after_nodes": sheet.text("nodes_used"),
    }


def _status(dump: Dump, log: SwfLog, sheet: Sheet) -> ibis.Value:
    """Return our status; a log that calls every job failed has no status at all."""
    words = sheet.text("status")
    counted = dump.engine.to_pandas(
        sheet.table.agg(jobs=words.count(), failed=(words == "0").cast("int64").sum())
    )
    if int(counted["jobs"].iloc[0]) == int(counted["failed"].fillna(0).iloc[0]):
        dump.note(f"{log.name}: status is 0 (failed) in every line, so it is read as unknown.")
        return ibis.literal("unknown")
    return words.cases(*_STATUS.items(), else_="unknown")


def _memory_factor(dump: Dump, log: SwfLog, sheet: Sheet) -> float:
    """Return what turns requested memory into GiB: the standard's KB, or bytes."""
    wanted = dump.option("memory_unit", "auto").lower()
    if wanted not in ("auto", "kb", "bytes"):
        raise ParameterError(f"--option memory_unit={wanted}: choose kb, bytes or auto.")
    if wanted == "auto":
        asked = _known(sheet, "memory_asked").nullif(0.0)
        middle = dump.engine.to_pandas(sheet.table.agg(middle=asked.median()))["middle"].iloc[0]
        wanted = "bytes" if middle > _IMPLAUSIBLE_KB else "kb"
        if wanted == "bytes":
            dump.note(
                f"{log.name}: requested memory is read as bytes; as KB half of the jobs would ask "
                f"for more than {middle * _KIB:,.0f} GiB. Change with --option memory_unit=kb."
            )
    return _BYTE if wanted == "bytes" else _KIB


def _nodes(dump: Dump, logs: list[SwfLog], machines: list[SourceFile]) -> ibis.Table | None:
    """Return the nodes of each log: from its machines file, else from its header."""
    described = {file.stem: file for file in machines}
    tables = [_nodes_of_machines(dump, name, file) for name, file in described.items()]
    for log in logs:
        nodes = log.header_number("MaxNodes") or log.header_number("MaxProcs")
        if log.name in described or not nodes:
            continue
        cores = (log.header_number("MaxProcs") or nodes) / nodes
        rows = [(f"{log.name}-{i}", cores, None, log.name) for i in range(int(nodes))]
        tables.append(_node_table(dump, log.file, rows))
    return stack(tables) if tables else None


def _nodes_of_machines(dump: Dump, log: str, file: SourceFile) -> ibis.Table:
    sheet = dump.sheet(file)
    sheet.need("name", "nodes", "cpus_per_node", "ram_per_node_kib")
    kinds = dump.engine.to_pandas(
        sheet.select(
            name=sheet.text("name"),
            nodes=sheet.number("nodes"),
            cpus=sheet.number("cpus_per_node"),
            ram=sheet.number("ram_per_node_kib"),
        )
    ).dropna(subset=["nodes"])
    columns = (kinds[column].tolist() for column in ("name", "nodes", "cpus", "ram"))
    rows = (
        (f"{log}-{name}-{i}", cpus, ram * _KIB, f"{log}|{name}")
        for name, nodes, cpus, ram in zip(*columns, strict=True)
        for i in range(int(nodes))
    )
    return _node_table(dump, file, rows)


def _node_table(dump: Dump, file: SourceFile, rows: Iterable[Sequence[object]]) -> ibis.Table:
    columns = ["node_id", "cpu_cores", "memory_gib", "features"]
    sheet = dump.sheet_of_rows(file, columns, rows)
    return sheet.select(
        node_id=sheet.text("node_id"),
        cpu_cores=sheet.number("cpu_cores"),
        memory_gib=sheet.number("memory_gib"),
        features=sheet.text("features"),
    )


READER = Reader(
    name="swf",
    title="Standard Workload Format (Parallel Workloads Archive), also with Alea's fields",
    fills={
        "jobs": (
            "job_id user group queue workload submit_s start_s end_s duration_s wait_s status "
            "instances request_cpu_cores request_memory_gib time_limit_s cpu_mean_cores "
            "memory_mean_gib attr_log attr_partition attr_preceding_job attr_think_time_s "
            "attr_request after_procs after_nodes"
        ).split(),
        "nodes": "node_id cpu_cores memory_gib features".split(),
    },
    cannot="GPUs, peaks, use over time; many logs leave out memory, users or the status",
    read=_read,
    patterns=("*.swf", "*.machines.csv"),
    first_line=r"\s*;\s*\w+\s*:|\s*-?[0-9]+([ \t]+-?[0-9.]+){17}([ \t]|$)",
    # kth-sp2-1996.part1.swf and .part2 are one log
    trace_of=lambda path: path.name.split(".")[0],
    options={"memory_unit": "unit of requested memory: kb (the standard), bytes, or auto"},
    clock="unix",
)


FIELDS = (
    "job submit wait run procs_used cpu_time memory_used procs_asked time_asked memory_asked "
    "status user group executable queue partition preceding think_time"
).split()
ALEA = "nodes_used queue_name request".split()
#: seconds; a later submit time counts from 1970, not from the start of the log
_ABSOLUTE_S = 1e8


@dataclass(frozen=True)
class SwfLog:
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


def read_log(file: SourceFile) -> SwfLog:
    """Read the header and the first job of a log."""
    header: dict[str, str] = {}
    for line in first_lines(file.path, 10_000):
        if line.lstrip().startswith(";"):
            key, _, value = line.lstrip("; \t").partition(":")
            header.setdefault(key.strip(), value.strip())
        elif line.strip():
            fields = line.split()
            if len(fields) < len(FIELDS) or not re.fullmatch(r"-?[0-9]+(\.[0-9]*)?", fields[1]):
                raise FormatError(
                    f"{file.origin}: the first job has {len(fields)} fields, but the Standard "
                    f"Workload Format has {len(FIELDS)} numbers. Check which file this is."
                )
            is_alea = len(fields) >= len(FIELDS) + len(ALEA)
            return SwfLog(file, header, is_alea, float(fields[1]))
    raise FormatError(f"{file.origin}: has a header but no jobs. Fetch the log again.")


def open_lines(dump: Dump, log: SwfLog) -> Sheet:
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
    sheet = _SplitLines(log.file, rows.select(_count=count, **fields), lines.layout)
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
