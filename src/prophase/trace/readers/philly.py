"""Microsoft Philly training jobs, 2017: the published job log, or reduced CSV copies of it.

Source: Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN
Training Workloads", USENIX ATC 2019.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import ibis

from prophase.errors import FormatError
from prophase.trace.dump import Dump, numbered
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile, first_lines
from prophase.trace.text_table import Sheet

_LOG_COLUMNS = ("jobid", "user", "vc", "status", "submitted", "start", "end", "gpus", "attempts")
_STATUS = {"Pass": "completed", "Killed": "cancelled", "Failed": "failed"}


def _read(dump: Dump) -> Tables:
    file = dump.find("philly*.csv", "cluster_job_log*")[0]
    if first_lines(file.path, 1)[0].lstrip().startswith("["):
        return {"jobs": _from_log(dump, file)}
    return {"jobs": _from_csv(dump.sheet(file))}


def _from_csv(sheet: Sheet) -> ibis.Table:
    """Read timestamp, duration, num_gpus, gpu_time, cluster (the Sia authors' copy)."""
    sheet.need("timestamp", "duration", "num_gpus", "cluster")
    jobs = sheet.select(
        queue=sheet.text("cluster"),
        submit_s=sheet.instant("timestamp"),
        duration_s=sheet.number("duration"),
        instances=ibis.literal(1.0),
        request_gpus=sheet.number("num_gpus"),
    )
    return numbered(jobs, "philly-")


def _from_log(dump: Dump, file: SourceFile) -> ibis.Table:
    """Read cluster_job_log: a JSON list of jobs, each with its attempts."""
    sheet = dump.sheet_of_rows(file, _LOG_COLUMNS, _log_rows(file))
    status = sheet.text("status")
    start, end = sheet.instant("start"), sheet.instant("end")
    return sheet.select(
        job_id=sheet.text("jobid"),
        user=sheet.text("user"),
        queue=sheet.text("vc"),
        submit_s=sheet.instant("submitted"),
        start_s=start,
        end_s=end,
        status=status.cases(*_STATUS.items(), else_="unknown"),
        instances=ibis.literal(1.0),
        request_gpus=sheet.number("gpus"),
        after_attempts=sheet.number("attempts"),
    )


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
    fills={
        "jobs": (
            "job_id user queue submit_s start_s end_s duration_s wait_s status instances "
            "request_gpus after_attempts"
        ).split()
    },
    cannot="CPU, memory and usage; the reduced CSV also lacks user, status and waits",
    read=_read,
    patterns=("philly*.csv", "cluster_job_log*"),
    signature=("timestamp", "duration", "num_gpus", "gpu_time", "cluster"),
    clock="local",
)
