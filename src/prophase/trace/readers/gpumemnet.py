"""GPUMemNet: measured GPU memory of generated networks, each trained alone for a minute.

Source: the GPUMemNet repository (IT University of Copenhagen). What describes the
network is known before the run and becomes ``attr_*``: the columns, and the settings
that the file name of each run spells out. -1 means not measured. The peak of a run
that ended out of memory is only a lower bound. The run time is not recorded.
"""

from __future__ import annotations

import re

import ibis

from prophase.trace.dump import Dump, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.row_rules import REPAIRED
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import Sheet

_STATUS = {"SUCCESSFUL": "completed", "OOM_CRASH": "oom"}
_MIB = 1 / 1024.0
_NETWORK = {
    "Depth": "attr_depth",
    "Total Activations": "attr_total_activations",
    "Total Parameters": "attr_total_parameters",
}
_ACTIVITY = {
    "Avg GRACT": "after_graphics_active_frac",
    "Avg SMACT": "after_sm_active_frac",
    "Avg SMOCC": "after_sm_occupancy_frac",
    "Avg FP32A": "after_fp32_active_frac",
}
#: settings inside the file name -> column; the name says dropout twice: rate, then on or off
_NAMED_NUMBERS = {
    "input": "attr_input_features",
    "output": "attr_output_features",
    "input_channels": "attr_input_channels",
    "num_classes": "attr_classes",
    "input_size": "attr_input_size",
    "base_filters": "attr_base_filters",
    "dropout": "attr_dropout_rate",
}
_NO_LAYERS = f"{REPAIRED}network not recorded, its columns left out"
_NO_PEAK = f"{REPAIRED}GPU memory peak of 0, not measured"


def _read(dump: Dump) -> Tables:
    return {"jobs": stack([_jobs(dump, file) for file in dump.find("*.csv")])}


def _jobs(dump: Dump, file: SourceFile) -> ibis.Table:
    sheet = dump.sheet(file)
    sheet.need("Filename", "Activations-Params", "Batch Size", "Max GPU Memory (MiB)")
    name = sheet.text("Filename").re_replace(r"\.out$", "")
    layers = sheet.text("Activations-Params")
    unknown = (layers == "[]").fill_null(False)
    peak = sheet.number("Max GPU Memory (MiB)", factor=_MIB)
    counts = {
        column: _snake(column) for column in sheet.columns if column.endswith((" Count", " Layers"))
    }
    network = {
        new: unknown.ifelse(ibis.null("float64"), sheet.number(old))
        for old, new in {**_NETWORK, **counts}.items()
        if sheet.has(old)
    }
    return sheet.select(
        job_id=name,
        name=name,
        workload=ibis.literal(network_kind(file.stem)),
        status=_status(sheet),
        instances=ibis.literal(1.0),
        request_gpus=ibis.literal(1.0),
        gpu_util_mean_pct=_measured(sheet.number("Avg GPUTL")),
        gpu_memory_peak_gib=peak.nullif(0.0),
        attr_batch_size=sheet.number("Batch Size"),
        attr_activation=sheet.text("Activation Function"),
        attr_layers=layers.nullif("[]"),
        **network,
        **_settings(name),
        **{new: _measured(sheet.number(old)) for old, new in _ACTIVITY.items()},
        **{_NO_LAYERS: unknown, _NO_PEAK: (peak == 0).fill_null(False)},
    )


def network_kind(stem: str) -> str:
    """Return mlp, cnn or transformer: the first word of the file's name.

    Examples
    --------
    >>> network_kind("mlp_data_step2")
    'mlp'
    """
    words = re.findall(r"[a-z]+", stem.lower())
    return words[0] if words else stem


def _status(sheet: Sheet) -> ibis.Value:
    if not sheet.has("Status"):
        return ibis.null("string")
    return sheet.text("Status").cases(*_STATUS.items(), else_="unknown")


def _settings(name: ibis.Value) -> dict[str, ibis.Value]:
    """Take the settings out of a name such as input:763_depth:5_arch:gradual_dropout:0.2."""
    columns = {
        column: name.re_extract(f"(^|_){setting}:([0-9.]+)(_|$)", 2).try_cast("float64")
        for setting, column in _NAMED_NUMBERS.items()
    }
    columns["attr_architecture"] = name.re_extract("_arch:([a-z]+)", 1).nullif("")
    for setting in ("dropout", "batchnorm"):
        word = name.re_extract(f"_{setting}:(True|False)", 1)
        columns[f"attr_{setting}"] = word.lower().nullif("")
    return columns


def _measured(value: ibis.Value) -> ibis.Value:
    return value.nullif(-1.0)


def _snake(column: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", column)
    return "attr_" + "_".join(words).lower()


READER = Reader(
    name="gpumemnet",
    title="GPUMemNet: GPU memory and use of generated MLP and CNN training runs",
    fills={
        "jobs": [
            *"job_id name workload status instances request_gpus gpu_util_mean_pct".split(),
            *"gpu_memory_peak_gib attr_batch_size attr_activation attr_layers".split(),
            *_NETWORK.values(),
            *_NAMED_NUMBERS.values(),
            *"attr_architecture attr_dropout attr_batchnorm".split(),
            *"attr_conv2d_count attr_batchnorm2d_count attr_dropout_count".split(),
            *"attr_adaptiveavgpool2d_count attr_linear_count".split(),
            *"attr_batch_normalization_layers attr_dropout_layers".split(),
            *_ACTIVITY.values(),
        ]
    },
    cannot="run times (about a minute each), clocks, users, host memory; MLP runs have no status",
    read=_read,
    patterns=("*.csv",),
    signature=("Filename", "Activations-Params", "Max GPU Memory (MiB)", "Avg GPUTL"),
)
