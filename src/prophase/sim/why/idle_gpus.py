"""Where GPUs lie idle: by type and hour of the week, and beside too little CPU or memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from prophase.sim.schedule import Schedule
from prophase.sim.signatures import GPU_TYPE, GPUS, Floats
from prophase.sim.why.wait_split import WaitSplit
from prophase.trace.describe.trace_clock import WEEKDAYS, knows_weekdays, week_exposure_h

_REFERENCES = ("smallest", "typical")


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
