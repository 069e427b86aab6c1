"""Azure VMs, 2017: mean and highest CPU of each VM every five minutes.

Source: Cortez et al., SOSP 2017 (Azure Public Dataset V1), as wide tables: a column
per VM, a row per step. Values are percent of the VM. A sample stands at the end of
its five minutes, so step 1 is at 300 s.
"""

from __future__ import annotations

import ibis

from prophase.errors import MissingFileError
from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import BAD, REASON

_STEP = "step_300s"
_STEP_S = 300.0
#: word in the file's name -> metric
_METRICS = {"avg": "cpu_util_pct", "max": "cpu_util_peak_pct"}


def _read(dump: Dump) -> Tables:
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
    title="Azure VMs (2017): mean and highest CPU every 5 minutes, one column per VM",
    fills={"usage": "series_id time_s cpu_util_pct cpu_util_peak_pct".split()},
    cannot="jobs, sizes of the VMs, memory, dates: steps are only numbered",
    read=_read,
    patterns=("*.csv",),
    signature=(_STEP,),
)
