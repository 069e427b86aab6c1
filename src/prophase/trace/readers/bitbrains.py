"""Bitbrains VMs, 2013: sizes and CPU use of business VMs every five minutes.

Source: Shen, van Beek, Iosup, CCGrid 2015 (GWA-T-12), in the tables of the OpenDC
trace archive. A VM is placed on a host as a job is, so it is a job here.
``cpu_capacity`` is the capacity of all cores together: 2,600 or 2,926 MHz per core
times ``cpu_count``. Use may exceed it by some 5 %, as the hosts can clock up.

A sample stands at the end of its interval, which is ``step_s`` long: equal neighbours
were merged. A VM that is switched off has ``online_cpus`` 0. A VM that outlives the
trace has the end of the trace as its end: its life is a lower bound.

The archive's own files (``fastStorage.zip``, ``rnd.zip``) are read too: one per VM, separated by a
semicolon and a tab, with memory, disk and network. Their header says milliseconds, their times are
seconds. A VM is named by trace and file, as ``rnd/12``; its life is that of its samples, its peaks
are those of five-minute means.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

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
from prophase.trace.text_table import REASON

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


#: columns of the archive's own files, in their order
_RAW = (
    "Timestamp [ms]", "CPU cores", "CPU capacity provisioned [MHZ]", "CPU usage [MHZ]",
    "CPU usage [%]", "Memory capacity provisioned [KB]", "Memory usage [KB]",
    "Disk read throughput [KB/s]", "Disk write throughput [KB/s]",
    "Network received throughput [KB/s]", "Network transmitted throughput [KB/s]",
)  # fmt: skip
_RAW_HEADER = set(_RAW[:4])
_STEP_S = 300.0


def _read(dump: Dump) -> Tables:
    found = dump.find("*.csv")
    raw = having(found, *_RAW_HEADER)
    if raw:
        return _read_archive(dump, raw)
    tables = _JOBS.read_all(dump, found) | _SAMPLES.read_all(dump, found)
    if "usage" in tables:
        tables["usage"] = _with_cores(dump, tables["usage"], having(found, *_JOBS.needs))
    if not tables:
        raise MissingFileError(
            f"{dump.root}: holds neither a table of VMs (id, start_time, stop_time, cpu_capacity) "
            "nor a CPU series (id, timestamp, cpu_usage_mhz). Point to the folder of the trace."
        )
    return tables


def _read_archive(dump: Dump, raw: Sequence[SourceFile]) -> Tables:
    """Return samples and VMs of files that have one VM each."""
    flat = dump.scratch / "flat" / "bitbrains.csv"
    flat.parent.mkdir(parents=True, exist_ok=True)
    with flat.open("w", encoding="utf-8") as out:
        for file in raw:
            vm = _vm_of(file)
            with file.path.open(encoding="utf-8", errors="replace") as lines:
                out.writelines(
                    f"{vm};{line.replace(chr(9), '')}" for line in islice(lines, 1, None)
                )
    sheet = dump.sheet(SourceFile(flat, raw[0].origin), columns=["vm", *_RAW], separator=";")
    stamp, capacity = sheet.number(_RAW[0]), sheet.number(_RAW[2])
    # the header says milliseconds, the published files hold seconds
    time_s = (stamp > 1e11).ifelse(stamp / 1e3, stamp)
    share = sheet.number(_RAW[3]) / capacity.nullif(0.0)
    samples = sheet.select(
        series_id=sheet.text("vm"),
        time_s=time_s,
        step_s=_STEP_S,
        cpu_mhz=sheet.number(_RAW[3]),
        online_cpus=sheet.number(_RAW[1]),
        cpu_cores=share * sheet.number(_RAW[1]),
        cpu_util_pct=share * 100.0,
        memory_gib=sheet.number(_RAW[6], factor=_GIB_PER_KIB),
        memory_limit_gib=sheet.number(_RAW[5], factor=_GIB_PER_KIB),
        read_bytes_per_s=sheet.number(_RAW[7], factor=1024.0),
        write_bytes_per_s=sheet.number(_RAW[8], factor=1024.0),
        received_bytes_per_s=sheet.number(_RAW[9], factor=1024.0),
        sent_bytes_per_s=sheet.number(_RAW[10], factor=1024.0),
        _mhz=capacity,
    )
    whole = samples.filter(samples[REASON].isnull())
    vms = whole.group_by(job_id=whole.series_id).agg(
        start_s=whole.time_s.min() - _STEP_S,
        end_s=whole.time_s.max(),
        request_cpu_cores=whole.online_cpus.max(),
        request_memory_gib=whole.memory_limit_gib.max(),
        cpu_mean_cores=whole.cpu_cores.mean(),
        cpu_peak_cores=whole.cpu_cores.max(),
        memory_mean_gib=whole.memory_gib.mean(),
        memory_peak_gib=whole.memory_gib.max(),
        attr_cpu_capacity_mhz=whole._mhz.max(),
    )
    vms = vms.mutate(submit_s=vms.start_s, instances=ibis.literal(1.0))
    return {"jobs": vms, "usage": samples.drop("_mhz")}


def _vm_of(file: SourceFile) -> str:
    """Name a VM by its trace and its file: months of ``rnd`` continue each other.

    Examples
    --------
    >>> from pathlib import Path
    >>> _vm_of(SourceFile(Path("/x/rnd/2013-7/12.csv"), Path("/data/rnd.zip")))
    'rnd/12'
    """
    trace = next((part for part in file.path.parts[::-1] if part in ("rnd", "fastStorage")), None)
    return f"{trace}/{file.stem}" if trace else file.stem


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
    title="Bitbrains business VMs (2013): sizes, CPU and memory use every 5 minutes",
    fills={
        "jobs": filled(
            "jobs",
            [
                *_JOBS.columns,
                *"cpu_mean_cores cpu_peak_cores memory_mean_gib memory_peak_gib".split(),
            ],
        ),
        "usage": filled(
            "usage",
            [
                *_SAMPLES.columns,
                *"cpu_cores cpu_util_pct memory_gib memory_limit_gib read_bytes_per_s".split(),
                *"write_bytes_per_s received_bytes_per_s sent_bytes_per_s".split(),
            ],
        ),
    },
    cannot="owners, GPUs; VMs are long-lived services, not training jobs",
    read=_read,
    patterns=("*.csv",),
    signature=("id", "start_time", "stop_time", "cpu_count", "cpu_capacity", "mem_capacity"),
    also=(("id", "timestamp", "duration_ms", "cpu_usage_mhz"), _RAW[:4]),
    clock="unix",
)
