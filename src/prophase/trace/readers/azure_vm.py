"""Azure VMs: life and size of each VM, and its CPU every five minutes.

Source: Cortez et al., SOSP 2017. The owner's files (Azure Public Dataset V2, 2019) have no
header: ``vmtable`` has a row per VM, ``vm_cpu_readings`` one per VM and step. Sizes are published
in buckets; a VM beyond the last one (``>24`` cores, ``>64`` GB) has no size here. A VM that
outlives the trace has its end as end: its life is a lower bound.

Wide tables made from V1 (2017), a column per VM and a row per step, are read as well: a sample
stands at the end of its five minutes, so step 1 is at 300 s. Values are percent of the VM.
"""

from __future__ import annotations

import re

import ibis

from prophase.errors import MissingFileError
from prophase.trace.dump import Dump, first_line_of, having, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import BAD, REASON, Sheet

_STEP = "step_300s"
_STEP_S = 300.0
#: word in the file's name -> metric
_METRICS = {"avg": "cpu_util_pct", "max": "cpu_util_peak_pct"}


#: columns of the owner's files
_VMS = (
    "vm subscription deployment created deleted max_cpu avg_cpu p95_max_cpu category cores memory"
).split()
_READINGS = "time vm min_cpu max_cpu avg_cpu".split()
#: how lines of theirs begin: long names in base64
_NAME = r"[\w+/]{40,}=*"
_VM_LINE = rf"{_NAME},{_NAME},{_NAME},\d+,\d+,"
_READING_LINE = rf"\d+,{_NAME},[\d.]+,[\d.]+,[\d.]+$"


def _read(dump: Dump) -> Tables:
    raw = dump.find("*vmtable*.csv", "*vm_cpu_readings*.csv", required=False)
    vms = [file for file in raw if re.match(_VM_LINE, first_line_of(file.path))]
    readings = [file for file in raw if re.match(_READING_LINE, first_line_of(file.path))]
    tables: Tables = {}
    if vms:
        tables["jobs"] = _vms(dump.sheet(dump.in_one("vmtable", vms), columns=_VMS))
    if readings:
        sheet = dump.sheet(dump.in_one("vm_cpu_readings", readings), columns=_READINGS)
        tables["usage"] = sheet.select(
            series_id=sheet.text("vm"),
            time_s=sheet.number("time"),
            cpu_util_pct=sheet.number("avg_cpu"),
            cpu_util_peak_pct=sheet.number("max_cpu"),
            cpu_util_min_pct=sheet.number("min_cpu"),
        )
    return tables or _read_wide(dump)


def _vms(sheet: Sheet) -> ibis.Table:
    cores, memory = (_bucket(sheet, name) for name in ("cores", "memory"))
    return sheet.select(
        job_id=sheet.text("vm"),
        user=sheet.text("subscription"),
        group=sheet.text("deployment"),
        workload=sheet.text("category"),
        # a VM does not queue: it is there from its creation
        submit_s=sheet.number("created"),
        start_s=sheet.number("created"),
        end_s=sheet.number("deleted"),
        instances=1.0,
        request_cpu_cores=cores,
        request_memory_gib=memory,
        cpu_mean_cores=sheet.number("avg_cpu", factor=0.01) * cores,
        cpu_peak_cores=sheet.number("max_cpu", factor=0.01) * cores,
        attr_cores_bucket=sheet.text("cores"),
        attr_memory_bucket=sheet.text("memory"),
        after_cpu_p95_pct=sheet.number("p95_max_cpu"),
    )


def _bucket(sheet: Sheet, name: str) -> ibis.Value:
    """Return the size that a bucket names; the last one, such as >24, has none."""
    return sheet.parsed(
        name, lambda cell: cell.try_cast("float64"), "a size", allowed=[">24", ">64"]
    )


def _read_wide(dump: Dump) -> Tables:
    found = having(dump.find("*.csv"), _STEP)
    files = {word: file for word in _METRICS for file in found if word in file.stem}
    if not files:
        raise MissingFileError(
            f"{dump.root}: holds no table with the column {_STEP} whose name contains "
            f"{' or '.join(_METRICS)}, such as cpu_avg.csv. Point to the folder of the series."
        )
    return {"usage": _side_by_side([_long(dump, file, word) for word, file in files.items()])}


def _long(dump: Dump, file: SourceFile, word: str) -> ibis.Table:
    """Turn one column per VM into one row per VM and step; a bad cell spoils that row alone."""
    sheet = dump.sheet(file)
    vms = [name for name in sheet.columns if name != _STEP]
    wide = sheet.select(
        _at=sheet.number(_STEP, factor=_STEP_S), **{vm: sheet.text(vm) for vm in vms}
    )
    long = wide.pivot_longer(vms, names_to="series_id", values_to="_text")
    value = long._text.try_cast("float64")
    broken = value.isnull() & long._text.notnull()
    reason = ibis.cases(
        (long[REASON].notnull(), long[REASON]), (broken, f"{BAD}{file.stem} is not a number")
    )
    return long.select(
        series_id=long.series_id,
        time_s=long._at,
        **{_METRICS[word]: value, f"_joined_{file.stem}": value.notnull(), REASON: reason},
    )


def _side_by_side(tables: list[ibis.Table]) -> ibis.Table:
    """Put the metrics of a VM and step into one row; a step only one file has is kept."""
    if len(tables) == 1:
        return tables[0]
    samples = stack(tables)
    metrics = [name for name in samples.columns if name in _METRICS.values()]
    flags = [name for name in samples.columns if name.startswith("_joined_")]
    return samples.group_by("series_id", "time_s").agg(
        **{name: samples[name].max() for name in metrics},
        **{name: samples[name].any() for name in flags},
        **{REASON: samples[REASON].min()},
    )


READER = Reader(
    name="azure-vm",
    title="Azure VMs (2017, 2019): life and size of VMs, mean and highest CPU every 5 minutes",
    fills={
        "jobs": (
            "job_id user group workload submit_s start_s end_s duration_s wait_s instances "
            "request_cpu_cores request_memory_gib cpu_mean_cores cpu_peak_cores "
            "after_cpu_p95_pct attr_cores_bucket attr_memory_bucket"
        ).split(),
        "usage": "series_id time_s cpu_util_pct cpu_util_peak_pct cpu_util_min_pct".split(),
    },
    cannot="use of memory, GPUs, dates; exact sizes of VMs: they are published in buckets",
    read=_read,
    patterns=("*.csv",),
    signature=(_STEP,),
    first_line=f"{_VM_LINE}|{_READING_LINE}",
)
