"""Slurm jobs of Cedar and Graham (Digital Research Alliance of Canada), with queue snapshots.

Source: mila-iqia/slurm-queue-time-pred. Each file holds jobs of one cluster that were
submitted before noon and still waited at noon; what the queue looked like at noon
(``q_*``, ``r_*``, ``*_poll``) is not known at submission and is kept as ``after_*``.
Requests are totals of the job, so every job is one instance.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.readers import sacct_cells as slurm
from prophase.trace.source_files import SourceFile

_NEEDED = ("job_unique_id", "partition_id", "account_id", "req_cpus", "req_tres")
#: snapshot at noon: pending (q) and running (r) ahead, of the partition, of the account
_QUEUE_STATE = [
    f"{state}_{scope}{what}_above"
    for state in ("q", "r")
    for scope in ("", "p_", "a_", "p_a_")
    for what in ("jobs", "cores", "mem", "core_hours", "gpus", "gpu_hours")
]
_SHARES = ("raw_share_poll", "norm_share_poll", "raw_use_poll", "norm_use_poll",
           "effect_use_poll", "level_fs_poll")  # fmt: skip
#: numbers known only after submission, beside the snapshot columns
_LATER = ("alloc_nodes", "priority_final", "priority_poll", "poll_wait_sec")
#: Slurm's MB are MiB
_MIB = 1 / 1024


def _read(dump: Dump) -> Tables:
    found = dump.find("*_*.csv")
    files = having(found, *_NEEDED) or found
    return {"jobs": stack([_jobs(dump, file) for file in files])}


def _jobs(dump: Dump, file: SourceFile) -> ibis.Table:
    sheet = dump.sheet(file)
    sheet.need(*_NEEDED)
    cluster = file.stem.split("_")[0]
    tres = sheet.text("req_tres")
    later = [
        name
        for name in sheet.columns
        if name in _LATER or name.startswith(("q_", "r_")) or name.endswith(("_poll",))
    ]
    return sheet.select(
        # numbers are unique inside a cluster only
        job_id=ibis.literal(f"{cluster}/") + sheet.text("job_unique_id"),
        group=sheet.text("account_id"),
        queue=sheet.text("partition_id"),
        submit_s=sheet.instant("submit_time"),
        start_s=sheet.instant("start_time"),
        end_s=sheet.instant("end_time"),
        status=slurm.status(sheet.text("state")),
        instances=ibis.literal(1.0),
        request_cpu_cores=sheet.number("req_cpus"),
        # 0 means the default of the partition, which the TRES text holds
        request_memory_gib=ibis.coalesce(
            sheet.number("req_mem_total", factor=_MIB).nullif(0.0), slurm.tres_gib(tres)
        ),
        request_gpus=slurm.tres_gpus(tres).fill_null(0.0),
        gpu_type=slurm.tres_gpu_type(tres),
        time_limit_s=sheet.number("time_limit_sec"),
        attr_cluster=ibis.literal(cluster),
        attr_req_nodes=slurm.tres_number(tres, "node"),
        attr_req_tres=tres,
        after_eligible_s=sheet.instant("eligible_time"),
        after_poll_s=sheet.instant("poll_time"),
        **{f"after_{name}": _finite(sheet.number(name)) for name in later},
    )


def _finite(value: ibis.Value) -> ibis.Value:
    """Fair share is infinite where an account has not used anything yet; that is no number."""
    return (value.abs() < 1e300).ifelse(value, ibis.null("float64"))


READER = Reader(
    name="drac",
    aliases=("drac-slurm",),
    title="Slurm jobs of Cedar and Graham (Canada) with the state of the queue at noon",
    fills={
        "jobs": (
            "job_id group queue submit_s start_s end_s duration_s wait_s status instances "
            "request_cpu_cores request_memory_gib request_gpus gpu_type time_limit_s attr_cluster "
            "attr_req_nodes attr_req_tres after_eligible_s after_poll_s "
            + " ".join(f"after_{name}" for name in (*_LATER, *_QUEUE_STATE, *_SHARES))
        ).split()
    },
    cannot="users, measured use, jobs that started before noon (so the load cannot be replayed)",
    read=_read,
    patterns=("*_*.csv",),
    signature=_NEEDED,
    trace_of=lambda path: path.name.split("_")[0],
    clock="local",
)
