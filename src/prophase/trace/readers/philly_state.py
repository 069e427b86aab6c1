"""Microsoft Philly, 2017: every job of any final status, and how many nodes were busy.

Source: Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
Workloads", USENIX ATC 2019; jobs as reduced by the RFold authors, node counts as
published with Hu et al. (Helios), SC 2021. It is a source of its own beside ``philly``:
other columns, more jobs, and a cluster series to check a replay against.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, having
from prophase.trace.reader import Reader, Tables
from prophase.trace.text_table import Sheet

_JOBS = ("job_id", "submit_time", "arrival_s", "num_gpus", "run_s")
_ACTIVE = ("time", "active", "total")
_SHARES = ("vc", "node num")


def _read(dump: Dump) -> Tables:
    found = dump.find("jobs_all_status*.csv", "active_nodes*.csv", "vc_nodes*.csv")
    kinds = {"jobs": (_JOBS, _jobs), "usage": (_ACTIVE, _usage), "vc_nodes": (_SHARES, _vc_nodes)}
    tables = {
        name: read(dump.sheet(files[0]))
        for name, (columns, read) in kinds.items()
        if (files := having(found, *columns))
    }
    if not tables:
        dump.sheet(found[0]).need(*_JOBS)
    if "jobs" in tables:
        dump.note("A run lasts from its first start to its last end, pauses included; no waits.")
    return tables


def _jobs(sheet: Sheet) -> ibis.Table:
    return sheet.select(
        job_id=sheet.text("job_id"),
        submit_s=sheet.instant("submit_time"),
        duration_s=sheet.number("run_s"),
        instances=ibis.literal(1.0),
        request_gpus=sheet.number("num_gpus"),
    )


def _usage(sheet: Sheet) -> ibis.Table:
    return sheet.select(
        series_id=ibis.literal("cluster"),
        time_s=sheet.instant("time"),
        active_nodes=sheet.number("active"),
        total_nodes=sheet.number("total"),
    )


def _vc_nodes(sheet: Sheet) -> ibis.Table:
    return sheet.select(queue=sheet.text("vc"), nodes=sheet.number("node num"))


READER = Reader(
    name="philly-state",
    aliases=("philly-cluster-state",),
    title="Microsoft Philly jobs of every final status (2017) and busy nodes per minute",
    fills={
        "jobs": "job_id submit_s duration_s instances request_gpus".split(),
        "usage": "series_id time_s active_nodes total_nodes".split(),
        "vc_nodes": "queue nodes".split(),
    },
    cannot="waits, status, user and queue of a job; which node has how many GPUs",
    read=_read,
    patterns=("jobs_all_status*.csv", "active_nodes*.csv", "vc_nodes*.csv"),
    signature=_JOBS,
    also=(_ACTIVE, _SHARES),
    clock="local",
)
