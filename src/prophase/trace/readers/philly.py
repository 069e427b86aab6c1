"""Microsoft Philly training jobs, 2017: the published job log, or reduced CSV copies of it.

Source: Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN
Training Workloads", USENIX ATC 2019.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from prophase.errors import FormatError
from prophase.trace.dump import Dump, numbered
from prophase.trace.reader import Reader, SourceTable, Tables, constant, instant, number, text
from prophase.trace.source_files import SourceFile, first_lines

_STATUS = {"Pass": "completed", "Killed": "cancelled", "Failed": "failed"}
#: the Sia authors' copy
_CSV = SourceTable(
    "jobs",
    ("timestamp", "duration", "num_gpus", "cluster"),
    {
        "queue": text("cluster"),
        "submit_s": instant("timestamp"),
        "duration_s": number("duration"),
        "instances": constant(1.0),
        "request_gpus": number("num_gpus"),
    },
)
#: cluster_job_log: a JSON list of jobs, each with its attempts
_LOG = SourceTable(
    "jobs",
    ("jobid", "user", "vc", "status", "submitted", "start", "end", "gpus", "attempts"),
    {
        "job_id": text("jobid"),
        "user": text("user"),
        "queue": text("vc"),
        "submit_s": instant("submitted"),
        "start_s": instant("start"),
        "end_s": instant("end"),
        "status": lambda sheet: sheet.text("status").cases(*_STATUS.items(), else_="unknown"),
        "instances": constant(1.0),
        "request_gpus": number("gpus"),
        "after_attempts": number("attempts"),
    },
)


def _read(dump: Dump) -> Tables:
    file = dump.find("philly*.csv", "cluster_job_log*")[0]
    if first_lines(file.path, 1)[0].lstrip().startswith("["):
        return {"jobs": _LOG.read(dump.sheet_of_rows(file, _LOG.needs, _log_rows(file)))}
    sheet = dump.sheet(file)
    sheet.need(*_CSV.needs)
    return {"jobs": numbered(_CSV.read(sheet), "philly-")}


def _log_rows(file: SourceFile) -> Iterator[tuple[object, ...]]:
    """Yield one row per job: first attempt's start to last attempt's end."""
    try:
        jobs = json.loads(file.path.read_text(encoding="utf-8"))
        for job in jobs:
            attempts = job["attempts"]
            gpus = [sum(len(node["gpus"]) for node in a["detail"]) for a in attempts]
            yield (
                job["jobid"],
                job["user"],
                job["vc"],
                job["status"],
                job["submitted_time"],
                attempts[0]["start_time"] if attempts else None,
                attempts[-1]["end_time"] if attempts else None,
                max(gpus, default=None),
                len(attempts),
            )
    except (json.JSONDecodeError, KeyError, TypeError) as cause:
        raise FormatError(
            f"{file.origin}: is not Philly's cluster_job_log ({cause!r}). "
            "Fetch the file again, or check which file this is."
        ) from cause


READER = Reader(
    name="philly",
    title="Microsoft Philly GPU training jobs (2017), published log or reduced CSV",
    fills={"jobs": _LOG.fills},
    cannot="CPU, memory and usage; the reduced CSV also lacks user, status and waits",
    read=_read,
    patterns=("philly*.csv", "cluster_job_log*"),
    signature=("timestamp", "duration", "num_gpus", "gpu_time", "cluster"),
    clock="local",
)
