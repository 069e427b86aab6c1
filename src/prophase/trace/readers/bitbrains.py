"""Bitbrains VMs, 2013: sizes and CPU use of business VMs every five minutes.

Source: Shen, van Beek, Iosup, CCGrid 2015 (GWA-T-12), in the tables of the OpenDC
trace archive. A VM is placed on a host as a job is, so it is a job here.
``cpu_capacity`` is the capacity of all cores together: 2,600 or 2,926 MHz per core
times ``cpu_count``. Use may exceed it by some 5 %, as the hosts can clock up.

A sample stands at the end of its interval, which is ``step_s`` long: equal neighbours
were merged. A VM that is switched off has ``online_cpus`` 0. A VM that outlives the
trace has the end of the trace as its end: its life is a lower bound.
"""

from __future__ import annotations

import ibis

from prophase.errors import MissingFileError
from prophase.trace.dump import Dump, having
from prophase.trace.reader import (
    Reader,
    SourceTable,
    Tables,
    constant,
    filled,
    instant,
    number,
    text,
)
from prophase.trace.source_files import SourceFile

_GIB_PER_KIB = 1 / 2**20
_JOBS = SourceTable(
    "jobs",
    ("id", "start_time", "stop_time", "cpu_capacity"),
    {
        "job_id": text("id"),
        # a VM does not queue: it is there from its start
        "submit_s": instant("start_time"),
        "start_s": instant("start_time"),
        "end_s": instant("stop_time"),
        "instances": constant(1.0),
        "request_cpu_cores": number("cpu_count"),
        "request_memory_gib": number("mem_capacity", _GIB_PER_KIB),
        "attr_cpu_capacity_mhz": number("cpu_capacity"),
    },
)
_SAMPLES = SourceTable(
    "usage",
    ("id", "timestamp", "cpu_usage_mhz"),
    {
        "series_id": text("id"),
        "time_s": instant("timestamp"),
        "step_s": number("duration_ms", 1e-3),
        "cpu_mhz": number("cpu_usage_mhz"),
        "online_cpus": number("cpu_count"),
    },
)


def _read(dump: Dump) -> Tables:
    found = dump.find("*.csv")
    tables = _JOBS.read_all(dump, found) | _SAMPLES.read_all(dump, found)
    if "usage" in tables:
        tables["usage"] = _with_cores(dump, tables["usage"], having(found, *_JOBS.needs))
    if not tables:
        raise MissingFileError(
            f"{dump.root}: holds neither a table of VMs (id, start_time, stop_time, cpu_capacity) "
            "nor a CPU series (id, timestamp, cpu_usage_mhz). Point to the folder of the trace."
        )
    return tables


def _with_cores(dump: Dump, samples: ibis.Table, vms: list[SourceFile]) -> ibis.Table:
    if not vms:
        dump.note("There is no table of VMs: CPU use stays in MHz, cores and percent are missing.")
        return samples
    sizes = dump.sheet(vms[0])
    capacity = sizes.select(
        series_id=sizes.text("id"),
        _cores=sizes.number("cpu_count"),
        _mhz=sizes.number("cpu_capacity").nullif(0.0),
    )
    joined = dump.join_one(samples, capacity, ["series_id"], name="vms")
    return joined.mutate(
        cpu_cores=joined.cpu_mhz / joined._mhz * joined._cores,
        cpu_util_pct=joined.cpu_mhz / joined._mhz * 100.0,
    )


READER = Reader(
    name="bitbrains",
    title="Bitbrains business VMs (2013): sizes and CPU use every 5 minutes",
    fills={
        "jobs": _JOBS.fills,
        "usage": filled("usage", [*_SAMPLES.columns, "cpu_cores", "cpu_util_pct"]),
    },
    cannot="memory use, owners, GPUs; VMs are long-lived services, not training jobs",
    read=_read,
    patterns=("*.csv",),
    signature=("id", "start_time", "stop_time", "cpu_count", "cpu_capacity", "mem_capacity"),
    also=(("id", "timestamp", "duration_ms", "cpu_usage_mhz"),),
    clock="unix",
)
