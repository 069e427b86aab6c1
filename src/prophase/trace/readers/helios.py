"""SenseTime Helios, 2020: job logs of four GPU clusters, and the minute-by-minute state of one.

Source: Hu et al., "Characterization and Prediction of Deep Learning Workloads in
Large-Scale GPU Datacenters", SC 2021. ``cluster_log.csv`` (one per cluster, in a folder
of its name) becomes jobs, one instance per node. ``vc_minute_state*.csv`` has no jobs: the
running, waiting and idle GPUs of each virtual cluster become usage.
"""

from __future__ import annotations

from collections.abc import Sequence

import ibis

from prophase.errors import MissingFileError
from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.readers import sacct_cells as slurm
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import Sheet

_JOB = ("job_id", "vc", "gpu_num", "cpu_num", "node_num", "state", "submit_time")
_STATE = ("vc", "time", "total_gpu_num", "running_gpu_num", "pending_gpu_num")
_SUMMARY = ("id", "gpu_num", "job_num", "gpu_job_num")
CLUSTERS = ("earth", "saturn", "uranus", "venus")
#: column of the minute state -> metric
_METRICS = {
    "total_job_num": "total_jobs",
    "running_job_num": "running_jobs",
    "pending_job_num": "pending_jobs",
    "running_gpujob_num": "running_gpu_jobs",
    "pending_gpujob_num": "pending_gpu_jobs",
    "total_gpu_num": "total_gpus",
    "running_gpu_num": "running_gpus",
    "pending_gpu_num": "pending_gpus",
    "idle_gpu_num": "idle_gpus",
    # the share of GPUs that is allocated, not how busy they are
    "gpu_utilization": "allocated_frac",
}


def _read(dump: Dump) -> Tables:
    found = dump.find(*READER.patterns)
    logs = having(found, *_JOB)
    states = having(found, *_STATE)
    sizes = [file for file in having(found, "date", "total") if file not in states]
    summaries = having(found, *_SUMMARY)
    tables: Tables = {}
    if logs:
        tables["jobs"] = stack([_jobs(dump, file, several=len(logs) > 1) for file in logs])
    if states:
        tables["usage"] = stack([_usage(dump.sheet(file)) for file in states])
    if sizes:
        tables["gpus_by_day"] = stack([_sizes(dump.sheet(file)) for file in sizes])
    if summaries:
        tables["cluster_summary"] = stack([_summary(dump.sheet(file)) for file in summaries])
    if not tables:
        raise MissingFileError(
            f"{dump.root}: has neither the columns of a job log ({', '.join(_JOB)}) nor of a "
            f"minute state ({', '.join(_STATE)}). Fetch the trace with: prophase fetch helios"
        )
    return tables


def _cluster(file: SourceFile) -> str:
    """Return the cluster a file belongs to: its folder's name, or the start of its own."""
    inside = file.path if file.origin.suffix == ".zip" else file.origin
    name = file.stem.split("_")[0].lower()
    return name.capitalize() if name in CLUSTERS else inside.parent.name


def _jobs(dump: Dump, file: SourceFile, *, several: bool) -> ibis.Table:
    sheet = dump.sheet(file)
    cluster = _cluster(file)
    # numbers are unique inside a cluster only
    known = several or cluster.lower() in CLUSTERS
    prefix = f"{cluster}/" if known else ""
    nodes = sheet.number("node_num").clip(lower=1.0).fill_null(1.0)
    start, end = sheet.instant("start_time"), sheet.instant("end_time")
    return sheet.select(
        job_id=ibis.literal(prefix) + sheet.text("job_id"),
        user=sheet.text("user"),
        queue=sheet.text("vc"),
        name=sheet.text("jobname", optional=True),
        submit_s=sheet.instant("submit_time"),
        start_s=start,
        end_s=end,
        duration_s=ibis.coalesce(end - start, sheet.number("duration")),
        status=slurm.status(sheet.text("state")),
        instances=nodes,
        request_cpu_cores=sheet.number("cpu_num") / nodes,
        request_gpus=sheet.number("gpu_num") / nodes,
        attr_cluster=ibis.literal(cluster) if known else ibis.null("string"),
    )


def _usage(sheet: Sheet) -> ibis.Table:
    metrics = {ours: sheet.number(column) for column, ours in _METRICS.items() if sheet.has(column)}
    return sheet.select(series_id=sheet.text("vc"), time_s=sheet.instant("time"), **metrics)


def _sizes(sheet: Sheet) -> ibis.Table:
    """Turn one column per virtual cluster into one row per day and virtual cluster."""
    cluster = _cluster(sheet.file)
    virtual: Sequence[str] = [name for name in sheet.columns if name not in ("date", "total")]
    return stack(
        [
            sheet.select(
                cluster=ibis.literal(cluster),
                date=sheet.text("date"),
                time_s=sheet.instant("date"),
                vc=ibis.literal(name),
                gpus=sheet.table[name].try_cast("float64"),
            )
            for name in virtual
        ]
    )


def _summary(sheet: Sheet) -> ibis.Table:
    """Return totals of each cluster; run and queue times are in seconds."""
    numbers = {name: sheet.number(name) for name in sheet.columns if name != "id"}
    return sheet.select(cluster=sheet.text("id"), **numbers)


#: columns of the published totals; times are in seconds
_TOTALS = [
    *"gpu_num job_num cpu_job_num gpu_job_num avg_gpu_num med_gpu_num".split(),
    *(f"{kind}_{time}_{by}" for kind in ("avg", "med") for time in ("run_time", "que_time")
      for by in ("cpu", "gpu")),
    *(f"{end}_rate{by}" for end in ("complete", "cancel", "fail") for by in ("", "_cpu", "_gpu")),
    *(f"{end}_gpu_time" for end in ("complete", "cancel", "fail")),
]  # fmt: skip

READER = Reader(
    name="helios",
    title="SenseTime Helios GPU clusters (2020): job logs, or a cluster's state per minute",
    fills={
        "jobs": (
            "job_id user queue submit_s start_s end_s duration_s wait_s status instances "
            "request_cpu_cores request_gpus attr_cluster"
        ).split(),
        "usage": ["series_id", "time_s", *_METRICS.values()],
        "gpus_by_day": "cluster date time_s vc gpus".split(),
        "cluster_summary": ["cluster", *_TOTALS],
    },
    cannot="memory, measured GPU use, time limits, single nodes",
    read=_read,
    patterns=("*cluster_log*.csv", "vc_minute_state*.csv", "*gpu_number*.csv", "*summary*.csv"),
    signature=_JOB,
    also=(_STATE,),
    clock="local",
)
