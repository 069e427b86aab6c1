"""Zeus: measured epochs to a target, and time and power per epoch, of six DL workloads.

Source: You, Chung, Chowdhury, "Zeus: Understanding and Optimizing GPU Energy Consumption
of DNN Training", NSDI 2023. Measurements, not a trace: both become side tables.
Run time of a job = target_epoch x time_per_epoch_s.
"""

from __future__ import annotations

import ibis

from prophase.trace.reader import Reader, SourceTable, number, text
from prophase.trace.text_table import Sheet

_SETTING = {
    "dataset": text("dataset"),
    "network": text("network"),
    "batch_size": number("batch_size"),
    "optimizer": text("optimizer"),
}
_RUN = ("learning_rate", "run", "target_metric", "target_epoch")


def _gpu_type(sheet: Sheet) -> ibis.Value:
    return ibis.literal(sheet.file.stem.removeprefix("summary_power_"))


READER = Reader.of_tables(
    "zeus",
    "Zeus: measured epochs to target, time and power per epoch on several GPU types",
    SourceTable(
        "epochs_to_target",
        (*_SETTING, *_RUN),
        {**_SETTING, **{name: number(name) for name in _RUN}},
        "A missing target_epoch means that the run did not reach its target.",
    ),
    SourceTable(
        "time_per_epoch",
        (*_SETTING, "power_limit", "time_per_epoch", "average_power"),
        {
            "gpu_type": _gpu_type,
            **_SETTING,
            "power_limit_w": number("power_limit"),
            "time_per_epoch_s": number("time_per_epoch"),
            "average_power_w": number("average_power"),
        },
        many=True,
    ),
    cannot="jobs, users and arrivals: these are measurements, kept as side tables",
    patterns=("summary_train*.csv", "summary_power_*.csv"),
)
