"""Where GPUs lie idle: by type and hour of the week, beside too little CPU or memory, and by node
and hour of the day, GPUs that nobody holds beside GPUs that jobs hold without using them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from prophase.sim.schedule import Schedule
from prophase.sim.signatures import GPU_TYPE, GPUS, Floats
from prophase.sim.why.wait_split import WaitSplit
from prophase.trace.describe.trace_clock import (
    DAY_S,
    HOUR_S,
    WEEKDAYS,
    knows_weekdays,
    utc_offset_s,
    week_exposure_h,
)

_REFERENCES = ("smallest", "typical")
_HOURS = 24
#: what the map has of each node and hour, in GPU-hours
_AMOUNTS = ("unallocated_gpu_h", "allocated_idle_gpu_h", "unknown_use_gpu_h")


def owned_gpu_h(schedule: Schedule) -> Floats:
    """Return the GPU-hours of each type from the first to the last submission."""
    matrix, kinds = schedule.cluster.matrix, len(schedule.cluster.gpu_types)
    first, last = float(schedule.workload.submit_s.min()), float(schedule.workload.submit_s.max())
    hours = np.bincount(matrix[:, GPU_TYPE], matrix[:, GPUS], kinds) * (last - first) / 3600
    away = schedule.absences
    if away is not None:
        gone = np.clip(away.to_s, first, last) - np.clip(away.from_s, first, last)
        gpus = matrix[away.node, GPUS] * gone / 3600
        hours -= np.bincount(matrix[away.node, GPU_TYPE], gpus, kinds)
    return hours


def idle_rows(split: WaitSplit) -> list[dict[str, Any]]:
    """Return idle GPU-hours by GPU type, and how many of them while GPU jobs waited."""
    schedule = split.schedule
    matrix = schedule.cluster.matrix
    owned, idle = owned_gpu_h(schedule), split.idle_gpu_h.sum(axis=2)
    rows = []
    for kind, name in enumerate(schedule.cluster.gpu_types):
        gpus = int(matrix[matrix[:, GPU_TYPE] == kind, GPUS].sum())
        if not gpus:
            continue
        total = float(idle[kind].sum())
        rows.append(
            {
                "gpu_type": name or "GPU",
                "gpus": gpus,
                "owned_gpu_h": float(owned[kind]),
                "idle_gpu_h": total,
                "idle_pct": 100 * total / owned[kind] if owned[kind] > 0 else None,
                "idle_while_waiting_gpu_h": float(idle[kind, 1]),
            }
        )
    return rows


def idle_by_hour(split: WaitSplit, clock: str) -> list[dict[str, Any]]:
    """Return one row per GPU type and hour of the week: idle GPU-hours and mean idle GPUs."""
    schedule = split.schedule
    submit = schedule.workload.submit_s
    exposure = week_exposure_h(float(submit.min()), float(submit.max()), clock)
    matrix = schedule.cluster.matrix
    rows = []
    for kind, name in enumerate(schedule.cluster.gpu_types):
        if not matrix[matrix[:, GPU_TYPE] == kind, GPUS].sum():
            continue
        for hour in range(168):
            empty, queued = split.idle_gpu_h[kind, :, hour].tolist()
            day = WEEKDAYS[hour // 24] if knows_weekdays(clock) else f"day {hour // 24 + 1}"
            hours = float(exposure[hour])
            rows.append(
                {
                    "gpu_type": name or "GPU",
                    "day": day,
                    "hour": hour % 24,
                    "idle_gpu_h": empty + queued,
                    "idle_while_waiting_gpu_h": queued,
                    "mean_idle_gpus": (empty + queued) / hours if hours else None,
                }
            )
    return rows


def stranded_rows(split: WaitSplit) -> list[dict[str, Any]]:
    """Return GPU-hours free on nodes whose CPU or memory cannot take a GPU job."""
    idle = split.idle_gpu_h.sum(axis=(1, 2))
    rows: list[dict[str, Any]] = []
    if not split.references.any():
        # GPU jobs that ask for nothing beside fit beside anything
        return rows
    for kind, name in enumerate(split.schedule.cluster.gpu_types):
        if not idle[kind]:
            continue
        for number, reference in enumerate(_REFERENCES):
            cpu, memory = split.stranded_gpu_h[kind, number].tolist()
            rows.append(
                {
                    "gpu_type": name or "GPU",
                    "gpu_job": reference,
                    "needs_cores": float(split.references[number, 0]) / 1000,
                    "needs_memory_gib": float(split.references[number, 1]) / 1024,
                    "lacks_cpu_gpu_h": cpu,
                    "lacks_memory_gpu_h": memory,
                    "stranded_pct_of_idle": 100 * (cpu + memory) / float(idle[kind]),
                }
            )
    return rows


def idle_map(schedule: Schedule, clock: str = "relative") -> pd.DataFrame:
    """Return one row per node with GPUs and hour of the day, until the last submission.

    ``allocated_idle_gpu_h`` is what jobs held and, by their mean use of GPUs, did not use;
    ``unknown_use_gpu_h`` was held by jobs of which the trace does not tell it.
    """
    matrix, held = schedule.cluster.matrix, schedule.occupancy
    submit, shift = schedule.workload.submit_s, utc_offset_s(clock)
    first, last = float(submit.min()) + shift, float(submit.max()) + shift
    begin, end = (
        np.clip(time[held.attempt] + shift, first, last) for time in (held.start_s, held.end_s)
    )
    use = _used_gpus(schedule)[held.job[held.attempt]]
    idle = np.maximum(held.instance_gpus - use, 0.0)
    unknown = np.isnan(use)
    away = schedule.absences
    nodes, gpus = np.flatnonzero(matrix[:, GPUS] > 0), matrix[:, GPUS].astype(np.float64)
    count, tables = len(matrix), []
    for hour in range(_HOURS):
        inside = _seconds_in(hour, begin, end) / HOUR_S
        owned = gpus * _seconds_in(hour, np.array([first]), np.array([last])) / HOUR_S
        if away is not None:
            gone = _seconds_in(
                hour,
                np.clip(away.from_s + shift, first, last),
                np.clip(away.to_s + shift, first, last),
            )
            owned -= np.bincount(away.node, gpus[away.node] * gone / HOUR_S, count)
        allocated = np.bincount(held.node, held.instance_gpus * inside, count)
        table = {
            "node_id": schedule.cluster.nodes["node_id"].to_numpy()[nodes],
            "gpu_type": np.array(schedule.cluster.gpu_types)[matrix[nodes, GPU_TYPE]],
            "gpus": matrix[nodes, GPUS],
            "hour": hour,
            "owned_gpu_h": owned[nodes],
        }
        wasted = np.bincount(held.node, np.where(unknown, 0.0, idle) * inside, count)
        silent = np.bincount(held.node, held.instance_gpus * unknown * inside, count)
        amounts = (np.maximum(owned - allocated, 0.0), wasted, silent)
        table |= {name: part[nodes] for name, part in zip(_AMOUNTS, amounts, strict=True)}
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


def idle_nodes(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the map summed up by node: most idle GPU-hours that jobs held first."""
    if table.empty:
        return []
    known = ["node_id", "gpu_type", "gpus"]
    summed = table.groupby(known, sort=False)[["owned_gpu_h", *_AMOUNTS]].sum().reset_index()
    for name in _AMOUNTS:
        share = 100 * summed[name] / summed["owned_gpu_h"].where(summed["owned_gpu_h"] > 0)
        summed[name.replace("_gpu_h", "_pct")] = share
    summed = summed.sort_values("allocated_idle_gpu_h", ascending=False, kind="stable")
    return [{str(name): value for name, value in row.items()} for row in summed.to_dict("records")]


def _used_gpus(schedule: Schedule) -> Floats:
    """Return the GPUs that an instance of each job kept busy on average."""
    jobs = schedule.workload.jobs
    if "gpu_util_mean_pct" not in jobs:
        return np.full(len(jobs), np.nan)
    used: Floats = jobs["gpu_util_mean_pct"].to_numpy(np.float64) / 100.0
    return used


def _seconds_in(hour: int, begin: Floats, end: Floats) -> Floats:
    """Return how much of each time span lies in an hour of the day."""

    def until(time: Floats) -> Floats:
        days = np.floor(time / DAY_S)
        return days * HOUR_S + np.clip(time - days * DAY_S - hour * HOUR_S, 0.0, HOUR_S)

    return until(end) - until(begin)
