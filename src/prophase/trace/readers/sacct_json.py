"""Slurm's accounting as JSON, which ``sacct --json`` and slurmrestd write, as rows of sacct's.

Rows have sacct's own names and are written as a dump that the reader ``sacct`` knows. Fields are
separated by a character that no user types; line breaks inside fields become spaces.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from prophase.errors import FormatError, storage_errors
from prophase.json_types import JsonMapping, JsonObject
from prophase.plural import counted
from prophase.trace.dump import first_line_of
from prophase.trace.source_files import SourceFile

SEPARATOR = "\x1f"
#: what is asked for; a release that lacks one is asked for the others
FIELDS = (
    "JobID JobIDRaw DBIndex Cluster JobName User Account Partition QOS Submit Eligible Start End "
    "ElapsedRaw State ExitCode TimelimitRaw ReqCPUS NNodes NCPUS ReqMem ReqTRES AllocTRES Priority "
    "MaxRSS TotalCPU NTasks AveDiskRead AveDiskWrite TRESUsageInAve TRESUsageInMax Constraints "
    "Reservation WCKey WorkDir Comment AdminComment SubmitLine Restarts NodeList"
).split()
Row = Mapping[str, str]


def write_dump(rows: Iterable[Row], path: Path) -> int:
    """Write rows as a dump and return how many there are."""
    count = 0
    # half a character of a name, which JSON can hold, becomes a question mark
    with storage_errors(path), path.open("w", encoding="utf-8", errors="replace") as out:
        out.write(SEPARATOR.join(FIELDS) + "\n")
        for row in rows:
            cells = (row.get(name, "") for name in FIELDS)
            out.write(SEPARATOR.join(re.sub(r"\s+", " ", cell).strip() for cell in cells) + "\n")
            count += 1
    return count


#: how a file begins, its white space folded; older releases put "meta" first, newer ones last
BEGINNING = r'\{.*"jobs" ?: ?\[.*"(?:allocation_nodes|association|derived_exit_code)" ?:'
_LIST = re.compile(r'"jobs"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_CHUNK = 1 << 20
#: characters of one job; what is longer does not end
_LONGEST_JOB = 64 << 20


def is_json(file: SourceFile) -> bool:
    """Say whether a file of accounting is written as JSON."""
    return first_line_of(file.path).startswith("{")


def file_rows(path: Path, origin: Path) -> Iterator[Row]:
    """Yield the rows of a file, a job at a time: what a year of jobs takes fits in no memory."""
    with storage_errors(path), path.open(encoding="utf-8", errors="replace") as text:
        yield from rest_rows({"jobs": _jobs_of(text, origin)})


def _jobs_of(text: TextIO, origin: Path) -> Iterator[JsonObject]:
    decoder, held = json.JSONDecoder(), ""
    while (found := _LIST.search(held)) is None:
        more = text.read(_CHUNK)
        if not more:
            raise FormatError(f'{origin}: has no list of "jobs", which sacct --json writes.')
        held += more
    at, count = found.end(), 0
    while True:
        between = _BETWEEN.match(held, at)
        at = between.end() if between else at
        if held[at : at + 1] == "]":
            return
        try:
            job, at = decoder.raw_decode(held, at)
        except (ValueError, RecursionError):
            more = text.read(_CHUNK) if len(held) - at < _LONGEST_JOB else ""
            if not more:
                raise FormatError(
                    f"{origin}: breaks off after {counted(count, 'job')}. Write it again: "
                    "sacct -aD -S now-30days --json > sacct.json"
                ) from None
            held, at = held[at:] + more, 0
            continue
        count += 1
        yield job


# Releases differ in small things: a number may be a number or an
# object with "set" and "number", a state a word or a list of words.
# A field that is of another kind than expected counts as not given.


def rest_rows(document: JsonMapping) -> Iterator[Row]:
    """Yield a row per job and per step of ``sacct --json`` or ``/slurmdb/.../jobs``.

    A job that is no object, or has no number, is a row without one, which a reader counts as bad.
    """
    jobs = document.get("jobs")
    for place, one in enumerate(jobs if isinstance(jobs, Iterable) else ()):
        job = _object(one)
        record = _text(plain(job.get("db_index"))) or f"rest-{place}"
        name = _job_id(job)
        yield _job_row(job, name, record)
        for step in _objects(job.get("steps")) if name else ():
            yield {**_step_row(step, name, record), "Cluster": _text(job.get("cluster"))}


def _object(value: object) -> JsonMapping:
    return value if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[JsonMapping]:
    listed = value if isinstance(value, list) else []
    return [one for one in listed if isinstance(one, Mapping)]


#: Slurm's numbers for "infinite" and "not set", of 32 and of 64 bits; 24.11 sends the second as
#: the start of a job that never started
_UNSET = frozenset(2**bits - below for bits in (32, 64) for below in (1, 2))


def plain(value: object) -> object:
    """Return a number that may be wrapped, or None if it is not set.

    Examples
    --------
    >>> plain({"set": True, "number": 7}), plain(7), plain(4_294_967_294)
    (7, 7, None)
    """
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return None if isinstance(value, int) and value in _UNSET else value


def _job_id(job: JsonMapping) -> str:
    array, het = _object(job.get("array")), _object(job.get("het"))
    for part, mark, field in ((array, "_", "task_id"), (het, "+", "job_offset")):
        whole, own = _text(plain(part.get("job_id"))), _text(plain(part.get(field)))
        if whole not in ("", "0") and own:
            return f"{whole}{mark}{own}"
    return _text(plain(job.get("job_id")))


def _job_row(job: JsonMapping, name: str, record: str) -> Row:
    times, tres = _object(job.get("time")), _object(job.get("tres"))
    asked = _tres(tres.get("requested"))
    comment = _object(job.get("comment"))
    limit = plain(times.get("limit"))
    return {
        "JobID": name, "JobIDRaw": _text(plain(job.get("job_id"))), "DBIndex": record,
        "Cluster": _text(job.get("cluster")), "JobName": _text(job.get("name")),
        "User": _text(job.get("user") or _object(job.get("association")).get("user")),
        "Account": _text(job.get("account")), "Partition": _text(job.get("partition")),
        "QOS": _text(job.get("qos")), "Submit": _instant(times.get("submission")),
        "Eligible": _instant(times.get("eligible")), "Start": _instant(times.get("start")),
        "End": _instant(times.get("end")), "ElapsedRaw": _text(plain(times.get("elapsed"))),
        "State": _state(job.get("state")), "ExitCode": _exit(job.get("exit_code")),
        "TimelimitRaw": "UNLIMITED" if limit is None else _text(limit),
        "ReqCPUS": _text(plain(_object(job.get("required")).get("CPUs"))),
        "NNodes": _text(plain(job.get("allocation_nodes"))),
        "NCPUS": _amount(tres.get("allocated"), "cpu"),
        "ReqMem": f"{_amount(tres.get('requested'), 'mem')}M" if "mem=" in asked else "",
        "ReqTRES": asked, "AllocTRES": _tres(tres.get("allocated")),
        "Priority": _text(plain(job.get("priority"))),
        "Constraints": _text(job.get("constraints")),
        "Reservation": _text(_object(job.get("reservation")).get("name")),
        "WCKey": _text(_object(job.get("wckey")).get("wckey")),
        "WorkDir": _text(job.get("working_directory")), "Comment": _text(comment.get("job")),
        "AdminComment": _text(comment.get("administrator")),
        "SubmitLine": _text(job.get("submit_line")), "NodeList": _text(job.get("nodes")),
        "Restarts": _text(plain(job.get("restart_cnt"))),
    }  # fmt: skip


def _step_row(step: JsonMapping, name: str, record: str) -> Row:
    tres, times = _object(step.get("tres")), _object(step.get("time"))
    used, written = _object(tres.get("requested")), _object(tres.get("consumed"))
    identity = _object(step.get("step"))
    total = _object(times.get("total"))
    # newer releases write "17.batch", older ones the part behind the dot
    step_id = _text(identity.get("id")).rpartition(".")[2]
    memory = _number(_amount(used.get("max"), "mem"))
    seconds, more = (_number(plain(total.get(unit))) for unit in ("seconds", "microseconds"))
    return {
        "JobID": f"{name}.{step_id}", "DBIndex": record, "JobName": _text(identity.get("name")),
        "Start": _instant(times.get("start")), "End": _instant(times.get("end")),
        "ElapsedRaw": _text(plain(times.get("elapsed"))), "State": _state(step.get("state")),
        "ExitCode": _exit(step.get("exit_code")), "AllocTRES": _tres(tres.get("allocated")),
        "NTasks": _text(plain(_object(step.get("tasks")).get("count"))),
        "MaxRSS": "" if memory is None else f"{memory / 1024:.0f}K",
        "TotalCPU": _clock((seconds or 0.0) + (more or 0.0) / 1e6),
        "AveDiskRead": _amount(used.get("average"), "fs", "disk"),
        "AveDiskWrite": _amount(written.get("average"), "fs", "disk"),
    }  # fmt: skip


def _tres(listed: object) -> str:
    """Return a list of resources as sacct writes it; memory is in MiB there."""
    parts = []
    for one in _objects(listed):
        kind, name = _text(one.get("type")), _text(one.get("name"))
        kind = f"{kind}/{name}" if name else kind
        count = plain(one.get("count"))
        # "not set" of 64 bits comes as -2, too
        if isinstance(count, int | float) and count >= 0:
            parts.append(f"{kind}={count}{'M' if kind == 'mem' else ''}")
    return ",".join(parts)


def _amount(listed: object, kind: str, name: str | None = None) -> str:
    for one in _objects(listed):
        if one.get("type") == kind and (one.get("name") or None) == name:
            return _text(plain(one.get("count")))
    return ""


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) else ""


def _number(value: object) -> float | None:
    try:
        found = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and found >= 0 else None


def _instant(value: object) -> str:
    seconds = plain(value)
    if not isinstance(seconds, int | float) or seconds <= 0:
        return "Unknown"
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        # no such year: a time that no reader takes for one
        return _text(seconds)


def _state(value: object) -> str:
    """Return one word, as sacct does: an attempt that was requeued is pending again, too."""
    held = value.get("current") if isinstance(value, Mapping) else value
    if not isinstance(held, list):
        return _text(held)
    return "REQUEUED" if "REQUEUED" in held else _text(held[0]) if held else ""


def _exit(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    signal = _object(value.get("signal"))
    number = _text(plain(signal.get("signal_id", signal.get("id"))))
    return f"{_text(plain(value.get('return_code'))) or 0}:{number or 0}"


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{seconds % 60:06.3f}"
