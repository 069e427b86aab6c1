"""Alibaba GenTD26: GPU and memory series of the pods of a generative-AI serving cluster.

Source: cluster-trace-v2026-GenAI. Three files hold one metric each. Their samples
meet in steps of one pod: times are counted from the pod's first sample and rounded
to the sampling step (57 s), so samples within half a step of each other share a row.
Every sample ends up in exactly one row; a metric without a sample in a step is
missing there. Several samples of one metric in one step are averaged and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import ibis

from prophase.errors import MissingFileError, ParameterError
from prophase.trace.dump import Dump, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.row_rules import REPAIRED
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import REASON


@dataclass(frozen=True)
class _Metric:
    """One file of the trace and the metric it becomes."""

    stem: str
    name: str
    factor: float = 1.0
    #: below zero by up to this much is noise of the sensor, not damage
    noise: float = 0.0

    @property
    def pattern(self) -> str:
        return f"{self.stem}*.csv"


_METRICS = (
    _Metric("pod_gpu_duty_cycle", "gpu_util_pct", noise=1e-3),
    _Metric("pod_gpu_memory_used_bytes", "gpu_memory_gib", factor=2.0**-30, noise=1e-6),
    _Metric("pod_memory_util", "memory_util_frac", noise=1e-3),
)
_MENDED = f"{REPAIRED}value just below zero, set to 0"
_AVERAGED = f"{REPAIRED}several samples of a metric in one step, averaged"


def _read(dump: Dump) -> Tables:
    step_s = _step(dump)
    found = {m: _file_of(dump, m) for m in _METRICS}
    present = [metric for metric in _METRICS if found[metric] is not None]
    if not present:
        raise MissingFileError(
            f"{dump.root}: holds none of {', '.join(m.stem + '.csv' for m in _METRICS)}. "
            "Point to the folder of the trace."
        )
    absent = [metric.stem for metric in _METRICS if metric not in present]
    if absent:
        dump.note(f"{', '.join(absent)} not in the dump: {len(absent)} metrics stay missing.")
    samples = stack([_samples(dump, m, file) for m, file in found.items() if file is not None])
    return {"usage": _in_steps(samples, present, step_s)}


def _step(dump: Dump) -> float:
    text = dump.option("step_s", "57")
    try:
        step_s = float(text)
    except ValueError:
        step_s = 0.0
    if not 0 < step_s < float("inf"):
        raise ParameterError(f"--option step_s={text}: pass the sampling step in seconds, as 57.")
    return step_s


def _file_of(dump: Dump, metric: _Metric) -> SourceFile | None:
    """Return the file of a metric; Alibaba's end in ``_anon``."""
    found = dump.find(metric.pattern, required=False)
    return next((file for file in found if file.stem.removesuffix("_anon") == metric.stem), None)


def _samples(dump: Dump, metric: _Metric, file: SourceFile) -> ibis.Table:
    """Read one file: pod, time and one metric."""
    sheet = dump.sheet(file)
    sheet.need("value", "timestamp_anon", "container_ip")
    pod = sheet.text("container_ip")
    value = sheet.number("value", factor=metric.factor)
    noise = ((value < 0) & (value >= -metric.noise)).fill_null(False)
    sheet.drop_if(pod.isnull(), "sample without a pod")
    return sheet.select(
        series_id=pod,
        time_s=sheet.number("timestamp_anon"),
        **{metric.name: noise.ifelse(0.0, value), _MENDED: noise},
    )


def _in_steps(samples: ibis.Table, present: list[_Metric], step_s: float) -> ibis.Table:
    """Give every pod one row per step; what cannot be placed stays as it is, with its reason."""
    fit = samples.filter(samples[REASON].isnull())
    first_s = fit.time_s.min().over(group_by=fit.series_id)
    fit = fit.mutate(_step=((fit.time_s - first_s) / step_s).round())
    rows = fit.group_by("series_id", "_step").agg(
        time_s=fit.time_s.min(),
        **{metric.name: fit[metric.name].mean() for metric in present},
        **{f"_joined_{metric.stem}": fit[metric.name].notnull().any() for metric in present},
        **{
            _MENDED: fit[_MENDED].any(),
            _AVERAGED: ibis.or_(*(fit[metric.name].count() > 1 for metric in present)),
        },
    )
    return stack([rows.drop("_step"), samples.filter(samples[REASON].notnull())])


READER = Reader(
    name="genai2026",
    title="Alibaba generative-AI serving pods (2026): GPU use, GPU memory, memory",
    fills={"usage": "series_id time_s gpu_util_pct gpu_memory_gib memory_util_frac".split()},
    cannot="jobs, requests and CPU; times are shifted, so they are no dates",
    read=_read,
    patterns=tuple(metric.pattern for metric in _METRICS),
    signature=("value", "timestamp_anon", "container_ip"),
    options={"step_s": "sampling step in seconds that the metrics are joined by, default 57"},
)
