"""Alibaba Model-as-a-Service, 2026: GPU hours and use of LLM inference instances.

Source: Zheng et al., "Model-as-a-Service in the Wild", ATC 2026 (cluster-trace-v2026-maas of
alibaba/clusterdata), as Parquet. The daily table has segments of an instance within a day, the
weekly one five-minute means; both count from the same start. An instance is a job here. Its start
is known to the day, its run time is its GPU hours over its GPUs. SM use is given per allocated
GPU and becomes that of all of them: 100 is one GPU that is busy all the time.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, SourceTable, Tables, filled, number, text
from prophase.trace.text_table import REASON, Sheet

_DAY_S = 86400.0
_DAILY_NEEDS = ("day", "instance_id", "app_id", "pd_role", "gpu_hours", "zero_samples", "sm_util")
_WEEKLY_NEEDS = ("instance_id", "time_s", "gpu_count", "sm_util", "gpu_mem_util", "samples")
_CASES_NEEDS = ("time_s", "app_id", "series_id", "pd_role", "metric", "value")


def _gpu_util(sheet: Sheet) -> ibis.Value:
    return sheet.number("sm_util") * sheet.number("gpu_count")


def _gpu_memory(sheet: Sheet) -> ibis.Value:
    return sheet.number("gpu_mem_util") / 100.0 * sheet.number("gpu_mem_alloc")


def _run_s(sheet: Sheet) -> ibis.Value:
    return sheet.number("gpu_hours") / sheet.number("gpu_count").nullif(0.0) * 3600.0


_ATTRIBUTES = {
    "group": text("app_id"),
    "queue": text("workload"),
    "workload": text("model_id"),
    "task": text("pd_role"),
    "gpu_type": text("gpu_type"),
    "request_gpus": number("gpu_count"),
    "attr_base_model": text("base_id"),
    "attr_model_arch": text("model_arch"),
    "attr_parameters_billion": number("params_b"),
    "attr_cluster": text("cluster_id"),
    "attr_site": text("site_id"),
    "attr_gpu_memory_gib": number("gpu_mem_alloc"),
}
#: means of a segment, to be weighted by its samples
_MEANS = {
    "gpu_util_mean_pct": _gpu_util,
    "gpu_memory_mean_gib": _gpu_memory,
    "cpu_mean_cores": number("cpu_usage"),
    "memory_mean_gib": number("mem_usage"),
}
_DAILY = SourceTable(
    "segments",
    _DAILY_NEEDS,
    _ATTRIBUTES
    | _MEANS
    | {
        "job_id": text("instance_id"),
        "_day_s": number("day", _DAY_S),
        "_run_s": _run_s,
        "_gpu_hours": number("gpu_hours"),
        "_samples": number("samples"),
        "_idle": number("zero_samples"),
    },
    "An instance starts at the beginning of the day in which it is first seen, and runs for its "
    "GPU hours over its GPUs.",
    many=True,
)
_WEEKLY = SourceTable(
    "usage",
    _WEEKLY_NEEDS,
    {
        "series_id": text("instance_id"),
        "time_s": number("time_s"),
        "cpu_cores": number("cpu_usage"),
        "memory_gib": number("mem_usage"),
        "gpu_util_pct": _gpu_util,
        "gpu_memory_util_pct": number("gpu_mem_util"),
        "gpus": number("gpu_count"),
    },
    many=True,
)


def _read(dump: Dump) -> Tables:
    found = dump.find("*.parquet", "app_metrics*.csv")
    tables: Tables = {}
    daily = _DAILY.read_all(dump, found)
    weekly = _WEEKLY.read_all(dump, found)
    if daily:
        tables["jobs"] = _by_instance(daily["segments"])
    if weekly:
        tables["usage"] = weekly["usage"]
        if daily:
            tables["usage"] = _with_gpu_memory(dump, weekly["usage"], daily["segments"])
    cases = having(found, *_CASES_NEEDS)
    if cases:
        sheet = dump.sheet(cases[0], missing=["\\N"])
        numbers = {name: sheet.number(name) for name in ("time_s", "value")}
        words = {name: sheet.text(name) for name in _CASES_NEEDS if name not in numbers}
        tables["app_metrics"] = sheet.select(
            **numbers, **words, gpu_type=sheet.text("gpu_type", optional=True)
        )
    if not tables:
        dump.sheet(found[0]).need(*_DAILY_NEEDS)
    return tables


def _by_instance(segments: ibis.Table) -> ibis.Table:
    """Return one row per instance; one that is there on the last day is still running."""
    whole = segments.filter(segments[REASON].isnull() & segments.job_id.notnull())
    clock = whole.agg(_last_day_s=whole._day_s.max())
    weighed = {
        name: (whole[name] * whole._samples).sum()
        / whole._samples.sum(where=whole[name].notnull()).nullif(0)
        for name in _MEANS
    }
    jobs = whole.group_by("job_id").agg(
        start_s=whole._day_s.min(),
        _seen_s=whole._day_s.max(),
        _run_s=whole._run_s.sum(),
        after_gpu_hours=whole._gpu_hours.sum(),
        after_idle_frac=whole._idle.sum() / whole._samples.sum().nullif(0),
        **{name: whole[name].argmax(whole._day_s) for name in _ATTRIBUTES},
        **weighed,
    )
    jobs = jobs.cross_join(clock)
    running = jobs._seen_s == jobs._last_day_s
    jobs = jobs.mutate(
        # instances do not queue in this trace: they are there from their first day
        submit_s=jobs.start_s,
        duration_s=running.ifelse(ibis.null("float64"), jobs._run_s),
        status=running.ifelse("running", ibis.null("string")),
        instances=ibis.literal(1.0),
        **{REASON: ibis.null("string")},
    ).drop("_seen_s", "_run_s", "_last_day_s")
    broken = segments.filter(segments[REASON].notnull() | segments.job_id.isnull())
    return stack([jobs, broken.select("job_id", REASON)])


def _with_gpu_memory(dump: Dump, usage: ibis.Table, segments: ibis.Table) -> ibis.Table:
    """Turn the share of GPU memory into GiB by what the instance had per GPU."""
    whole = segments.filter(segments[REASON].isnull() & segments.job_id.notnull())
    per_gpu = whole.attr_gpu_memory_gib / whole.request_gpus.nullif(0.0)
    sizes = whole.group_by(series_id=whole.job_id).agg(_gib_per_gpu=per_gpu.max())
    joined = dump.join_one(usage, sizes, ["series_id"], name="daily")
    used = joined.gpu_memory_util_pct / 100.0 * joined._gib_per_gpu * joined.gpus
    return joined.mutate(gpu_memory_gib=used).drop("_gib_per_gpu")


READER = Reader(
    name="maas2026",
    title="Alibaba Model-as-a-Service (2026): GPU hours and use of LLM inference instances",
    fills={
        "jobs": filled(
            "jobs",
            [
                "job_id", "submit_s", "start_s", "duration_s", "status", "instances",
                *_ATTRIBUTES, *_MEANS, "after_gpu_hours", "after_idle_frac",
            ],
        ),
        "usage": filled("usage", [*_WEEKLY.columns, "gpu_memory_gib"]),
        "app_metrics": [*_CASES_NEEDS, "gpu_type"],
    },
    cannot="users, waits, requested CPU and memory, hours of a start or end, nodes",
    read=_read,
    patterns=("*.parquet", "app_metrics*.csv"),
    signature=_DAILY_NEEDS,
    also=(_WEEKLY_NEEDS, _CASES_NEEDS),
)  # fmt: skip
