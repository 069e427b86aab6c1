"""Zeus: measured epochs to a target, and time and power per epoch, of six DL workloads.

Source: You, Chung, Chowdhury, "Zeus: Understanding and Optimizing GPU Energy Consumption
of DNN Training", NSDI 2023. Measurements, not a trace: both become side tables.
Run time of a job = target_epoch x time_per_epoch_s.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import Sheet

_SETTING = ("dataset", "network", "batch_size", "optimizer")
_TRAIN = (*_SETTING, "learning_rate", "run", "target_metric", "target_epoch")
_POWER = (*_SETTING, "power_limit", "time_per_epoch", "average_power")


def _read(dump: Dump) -> Tables:
    found = dump.find("summary_train*.csv", "summary_power_*.csv")
    train, power = having(found, *_TRAIN), having(found, *_POWER)
    if not train and not power:
        dump.sheet(found[0]).need(*_TRAIN)
    tables: Tables = {}
    if train:
        tables["epochs_to_target"] = _epochs(dump.sheet(train[0]))
        dump.note("A missing target_epoch means that the run did not reach its target.")
    if power:
        tables["time_per_epoch"] = stack([_speed(dump.sheet(file), file) for file in power])
    return tables


def _setting(sheet: Sheet) -> dict[str, ibis.Value]:
    return {
        "dataset": sheet.text("dataset"),
        "network": sheet.text("network"),
        "batch_size": sheet.number("batch_size"),
        "optimizer": sheet.text("optimizer"),
    }


def _epochs(sheet: Sheet) -> ibis.Table:
    numbers = ("learning_rate", "run", "target_metric", "target_epoch")
    return sheet.select(**_setting(sheet), **{name: sheet.number(name) for name in numbers})


def _speed(sheet: Sheet, file: SourceFile) -> ibis.Table:
    return sheet.select(
        gpu_type=ibis.literal(file.stem.removeprefix("summary_power_")),
        **_setting(sheet),
        power_limit_w=sheet.number("power_limit"),
        time_per_epoch_s=sheet.number("time_per_epoch"),
        average_power_w=sheet.number("average_power"),
    )


READER = Reader(
    name="zeus",
    title="Zeus: measured epochs to target, time and power per epoch on several GPU types",
    fills={
        "epochs_to_target": _TRAIN,
        "time_per_epoch": (
            "gpu_type",
            *_SETTING,
            "power_limit_w",
            "time_per_epoch_s",
            "average_power_w",
        ),
    },
    cannot="jobs, users and arrivals: these are measurements, kept as side tables",
    read=_read,
    patterns=("summary_train*.csv", "summary_power_*.csv"),
    signature=_TRAIN,
    also=(_POWER,),
)
