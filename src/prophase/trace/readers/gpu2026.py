"""Alibaba GPU clusters, 2026: what every pod held and used in each hour, and its scheduling delay.

Source: cluster-trace-gpu-v2026 of alibaba/clusterdata, as Parquet. Hours are folders
(``day=109/hour=08``) counted from the first day of the trace, so starts and ends of pods are known
to the hour. SM use is summed over the GPUs of a pod: 100 is one GPU that is busy all the time. A
pod is a job here; run times are those of the table of executions where it has them.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, having, stack
from prophase.trace.reader import Reader, SourceTable, Tables, filled, number, text
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import REASON, Sheet

_HOUR_S = 3600.0
_POD_HOURS = (
    "pod_id", "workload_id", "server_id", "state_public", "gpu_request", "used_gpu_hours",
    "avg_gpu_sm_util", "schedule_delay_sec",
)  # fmt: skip
_EXECUTIONS = ("pod_id", "workload_id", "gpu_request", "duration_hours", "schedule_delay_sec")
_SERVERS = ("server_id", "asw_id", "gpu_spec_public", "gpu_count", "cpu_capacity_cores")


def _time(sheet: Sheet) -> ibis.Value:
    """Return the beginning of the hour that the folders of a file name."""
    return (sheet.number("day") * 24.0 + sheet.number("hour")) * _HOUR_S


def _cores(sheet: Sheet) -> ibis.Value:
    return sheet.number("avg_cpu_request_util") * sheet.number("cpu_request_cores")


#: what a pod is, in each hour and in the table of executions
_POD = {
    "job_id": text("pod_id"),
    "group": text("workload_id"),
    "queue": text("priority_class"),
    "workload": text("model_type_public"),
    "task": text("job_type_public"),
    "request_gpus": number("gpu_request"),
    "gpu_type": text("gpu_spec_public"),
    "wait_s": number("schedule_delay_sec"),
    "attr_genai": text("is_genai_request"),
    "after_ready_delay_s": number("ready_delay_sec"),
    "after_node": text("server_id"),
}
_HOURS = SourceTable(
    "hours",
    _POD_HOURS,
    _POD
    | {
        "request_cpu_cores": number("cpu_request_cores"),
        "attr_cluster": text("cluster_id"),
        "attr_gpu_memory_request": number("gpu_mem_request"),
        "_time_s": _time,
        "_state": text("state_public"),
        "_gpu_hours": number("used_gpu_hours"),
        "_gpu_util_pct": number("avg_gpu_sm_util"),
        "_gpu_memory_gib": number("avg_gpu_mem_gib"),
        "_cpu_cores": _cores,
        "_memory_util_frac": number("avg_memory_util"),
    },
    "A pod starts and ends on the hour in which it is first and last seen; one that is there in "
    "the first hour may be older.",
    many=True,
)
_RUNS = SourceTable(
    "executions", _EXECUTIONS, _POD | {"_run_s": number("duration_hours", _HOUR_S)}, many=True
)
_USAGE = SourceTable(
    "usage",
    _POD_HOURS,
    {
        "series_id": text("pod_id"),
        "time_s": _time,
        "cpu_cores": _cores,
        "cpu_util_pct": number("avg_cpu_request_util", 100.0),
        "memory_util_frac": number("avg_memory_util"),
        "gpu_util_pct": number("avg_gpu_sm_util"),
        "gpu_memory_gib": number("avg_gpu_mem_gib"),
        "gpu_hours": number("used_gpu_hours"),
    },
    many=True,
)
_NETWORK = SourceTable(
    "network",
    ("server_id", "rx_gibps_avg", "tx_gibps_avg"),
    {
        "node_id": text("server_id"),
        "time_s": _time,
        "receive_gib_per_s": number("rx_gibps_avg"),
        "send_gib_per_s": number("tx_gibps_avg"),
    },
    many=True,
)
_SERVER_HOURS = SourceTable(
    "nodes",
    _SERVERS,
    {
        "node_id": text("server_id"),
        "cpu_cores": number("cpu_capacity_cores"),
        "gpus": number("gpu_count"),
        "gpu_type": text("gpu_spec_public"),
        "attr_cluster": text("cluster_id"),
        "attr_switch": text("asw_id"),
        "_time_s": _time,
    },
    many=True,
)
_ENDED = {"Succeeded": "completed", "Failed": "failed", "Pending": "pending"}


def _read(dump: Dump) -> Tables:
    found = dump.find("*.parquet")
    tables = _USAGE.read_all(dump, found) | _NETWORK.read_all(dump, found)
    jobs = _jobs(dump, found)
    if jobs is not None:
        tables["jobs"] = jobs
    servers = _SERVER_HOURS.read_all(dump, found)
    if servers:
        tables["nodes"] = _nodes(servers["nodes"])
    if not tables:
        dump.sheet(found[0]).need(*_POD_HOURS)
    return tables


def _jobs(dump: Dump, found: list[SourceFile]) -> ibis.Table | None:
    """Return one row per pod: its hours in one, with the run time of the table of executions."""
    runs = _RUNS.read_all(dump, [file for file in found if file in having(found, *_EXECUTIONS)])
    hours = _HOURS.read_all(dump, found)
    if not hours:
        if not runs:
            return None
        dump.note("There are no hours of pods: when they ran is not known, how long is.")
        alone = runs["executions"]
        return alone.mutate(duration_s=alone._run_s, instances=ibis.literal(1.0)).drop("_run_s")
    pods = _by_pod(hours["hours"])
    if runs:
        spans = runs["executions"]
        spans = spans.filter(spans[REASON].isnull() & spans.job_id.notnull())
        longest = spans.group_by("job_id").agg(_run_s=spans._run_s.max())
        pods = dump.join_one(pods, longest, ["job_id"], name="executions")
        known = pods.status.isnull() | (pods.status != "running")
        ended = ibis.coalesce(pods.start_s + pods._run_s, pods.end_s)
        pods = pods.mutate(end_s=known.ifelse(ended, ibis.null("float64"))).drop("_run_s")
    return pods


def _by_pod(hours: ibis.Table) -> ibis.Table:
    whole = hours.filter(hours[REASON].isnull() & hours.job_id.notnull())
    clock = whole.agg(_last_hour_s=whole._time_s.max())
    latest = {"_state", "after_node", *_POD, "request_cpu_cores"} - {"job_id"}
    started = (whole._state != "Pending") | whole._state.isnull()
    pods = whole.group_by("job_id").agg(
        start_s=whole._time_s.min(where=started),
        _seen_s=whole._time_s.max(),
        gpu_util_mean_pct=whole._gpu_util_pct.mean(),
        gpu_memory_mean_gib=whole._gpu_memory_gib.mean(),
        cpu_mean_cores=whole._cpu_cores.mean(),
        after_memory_util_frac=whole._memory_util_frac.mean(),
        after_gpu_hours=whole._gpu_hours.sum(),
        attr_cluster=whole.attr_cluster.max(),
        attr_gpu_memory_request=whole.attr_gpu_memory_request.max(),
        **{name: whole[name].argmax(whole._time_s) for name in sorted(latest)},
    )
    pods = pods.cross_join(clock)
    there = (pods._seen_s == pods._last_hour_s) & pods._state.isin(["Running", "Standby"])
    status = ibis.cases(
        *((pods._state == theirs, ours) for theirs, ours in _ENDED.items()),
        (there, "running"),
        else_=ibis.null("string"),
    )
    ended = there.ifelse(ibis.null("float64"), pods._seen_s + _HOUR_S)
    pods = pods.mutate(
        submit_s=pods.start_s - pods.wait_s,
        end_s=pods.start_s.isnull().ifelse(ibis.null("float64"), ended),
        status=status,
        priority=(pods.queue == "HP").ifelse(
            1.0, (pods.queue == "LP").ifelse(0.0, ibis.null("float64"))
        ),
        instances=ibis.literal(1.0),
        **{REASON: ibis.null("string")},
    ).drop("_seen_s", "_last_hour_s", "_state")
    broken = hours.filter(hours[REASON].notnull() | hours.job_id.isnull())
    return stack([pods, broken.select("job_id", REASON)])


def _nodes(hours: ibis.Table) -> ibis.Table:
    """Return one row per server; it is available as long as it is seen."""
    whole = hours.filter(hours[REASON].isnull())
    clock = whole.agg(_first_s=whole._time_s.min(), _last_s=whole._time_s.max())
    seen = whole.group_by("node_id").agg(
        cpu_cores=whole.cpu_cores.max(),
        gpus=whole.gpus.max(),
        gpu_type=whole.gpu_type.max(),
        attr_cluster=whole.attr_cluster.max(),
        attr_switch=whole.attr_switch.max(),
        _from_s=whole._time_s.min(),
        _until_s=whole._time_s.max(),
    )
    seen = seen.cross_join(clock)
    always = ibis.null("float64")
    return seen.mutate(
        available_from_s=(seen._from_s > seen._first_s).ifelse(seen._from_s, always),
        available_until_s=(seen._until_s < seen._last_s).ifelse(seen._until_s + _HOUR_S, always),
    ).drop("_from_s", "_until_s", "_first_s", "_last_s")


READER = Reader(
    name="gpu2026",
    title="Alibaba GPU clusters (2026): pod-hours with SM use, scheduling delay, servers, network",
    fills={
        "jobs": filled(
            "jobs",
            [
                *_POD,
                *"submit_s start_s end_s status priority instances request_cpu_cores".split(),
                *"gpu_util_mean_pct gpu_memory_mean_gib cpu_mean_cores attr_cluster".split(),
                *"attr_gpu_memory_request after_memory_util_frac after_gpu_hours".split(),
            ],
        ),
        "usage": _USAGE.fills,
        "nodes": [name for name in _SERVER_HOURS.fills if not name.startswith("_")]
        + ["available_from_s", "available_until_s"],
        "network": _NETWORK.fills,
    },
    cannot="users, minutes, memory in GiB, peaks; the unit of gpu_mem_request is not said",
    read=_read,
    patterns=("*.parquet",),
    signature=_POD_HOURS,
    also=(_EXECUTIONS, _SERVERS, _NETWORK.needs),
)
