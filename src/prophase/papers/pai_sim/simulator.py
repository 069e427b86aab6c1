"""Alibaba's PAI simulator, reproduced job by job.

Source of the rules: the simulator published with the PAI trace (Weng et al., NSDI 2022).
GPU and CPU count in whole percent and are pooled per node; memory is ignored; a job that
does not fit is skipped and the next one tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError, not_among
from prophase.sim.kernels import published_simulators as pai_nodes
from prophase.sim.signatures import (
    ASK_COLUMNS,
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MILLI,
    ASK_TYPES,
    CPU,
    FREE_CPU,
    FREE_GPU,
    FREE_SHARE,
    GPU_TYPE,
    GPUS,
    Floats,
    Ints,
)
from prophase.sim.static_loop import PlaceSettings, run_static_loop

#: cores per GPU of the default one-node cluster
CORES_PER_GPU = 23.22
#: the built-in heterogeneous cluster: type, nodes, GPUs and cores of each
HETERO = (
    ("CPU", 16, 0, 96),
    ("MISC", 56, 8, 96),
    ("T4", 100, 2, 96),
    ("P100", 160, 2, 64),
    ("V100", 48, 8, 96),
)
NODE_ORDERS = (
    pai_nodes.by_id,
    pai_nodes.least_idle_gpu,
    pai_nodes.most_idle_gpu,
    pai_nodes.least_used,
)
#: queue order -> column that sorts it
ORDERS = {
    "fifo": "submit_s",
    "shortest": "duration_s",
    "user_dur": "attr_user_dur",
    "group_dur": "attr_group_dur",
    "group_gpu_dur": "attr_group_gpu_dur",
}


@dataclass(frozen=True)
class PaiResult:
    """Completion times per job, and the simulator's own averages (weighted by instances)."""

    jobs: pd.DataFrame
    mean_jct_s: float
    mean_wait_s: float
    makespan_s: float


def simulate_pai(
    jobs: pd.DataFrame,
    *,
    gpus: int = 6500,
    cores: int | None = None,
    order: str = "fifo",
    arrival_rate: int = -1,
    hetero: bool = False,
    gpu_type_matching: int = 0,
    node_order: int = 3,
) -> PaiResult:
    """Replay a job table as the PAI simulator does.

    Parameters
    ----------
    gpus, cores : int
        Size of the one node; cores default to 23.22 per GPU. Ignored if ``hetero``.
    arrival_rate : int, default=-1
        Jobs per minute in place of the trace's arrivals; -1 keeps those.
    hetero : bool
        Use the simulator's built-in list of 380 nodes.
    gpu_type_matching : {0, 1, 2}
        0 ignores GPU types, 1 needs the same type, 2 only V100 jobs need V100 nodes.
    node_order : {0, 1, 2, 3}
        By id, least idle GPU, most idle GPU, least used first.
    """
    if order not in ORDERS:
        raise ParameterError(not_among(f"order {order!r} is unknown here.", order, ORDERS))
    if not 0 <= node_order < len(NODE_ORDERS) or gpu_type_matching not in (0, 1, 2):
        raise ParameterError("node_order is 0, 1, 2 or 3, and gpu_type_matching 0, 1 or 2.")
    if ORDERS[order] not in jobs:
        raise InputError(f"order {order!r} needs the column {ORDERS[order]}.")
    nodes, kinds = _hetero_nodes() if hetero else _one_node(gpus, cores)
    jobs = jobs.reset_index(drop=True)
    identity = _identity(jobs)
    submit = _arrivals(jobs["submit_s"].to_numpy(float), identity, arrival_rate)
    duration = np.maximum(np.trunc(jobs["duration_s"].to_numpy(float)), 1.0)
    asks = _asks(jobs, nodes, kinds, gpu_type_matching)
    key = {"submit_s": submit, "duration_s": duration}.get(ORDERS[order])
    if key is None:
        key = jobs[ORDERS[order]].to_numpy(float)
    rank = np.empty(len(jobs), np.int64)
    rank[np.lexsort((identity, key))] = np.arange(len(jobs))
    by_time = np.lexsort((identity, submit))
    in_time = np.argsort(np.argsort(rank[by_time]))
    starts = run_static_loop(
        submit[by_time],
        duration[by_time],
        asks[by_time],
        in_time,
        nodes,
        PlaceSettings(NODE_ORDERS[node_order], pooled=True, fill=True),
    )
    if np.isnan(starts.start_s).any():
        stuck = jobs["job_id"].iloc[by_time[np.isnan(starts.start_s)][:3]]
        raise InputError(f"these jobs never fit on the cluster: {', '.join(map(str, stuck))}.")
    return _result(jobs, by_time, submit, duration, starts.start_s, asks[:, ASK_INSTANCES])


def _identity(jobs: pd.DataFrame) -> Floats:
    """The simulator breaks ties by job_id, as a number where it is one."""
    numbers = pd.to_numeric(jobs["job_id"], errors="coerce")
    if numbers.notna().all():
        return numbers.to_numpy(float)
    return np.argsort(np.argsort(jobs["job_id"].to_numpy(str))).astype(float)


def _arrivals(submit: Floats, identity: Floats, rate: int) -> Floats:
    rounded = np.round(submit)
    if rate <= 0:
        return rounded
    place = np.empty(len(submit))
    place[np.lexsort((identity, rounded))] = np.arange(len(submit))
    return np.floor(place / rate) * 60.0


def _percent(values: pd.Series) -> Ints:
    return np.round(100.0 * values.fillna(0.0).to_numpy(float)).astype(np.int64)


def _asks(jobs: pd.DataFrame, nodes: Ints, kinds: list[str], matching: int) -> Ints:
    asks = np.zeros((len(jobs), ASK_COLUMNS), np.int64)
    gpu = np.minimum(_percent(jobs["request_gpus"]), nodes[:, FREE_GPU].sum())
    cores = jobs.get("request_cpu_cores", pd.Series(0.0, jobs.index))
    asks[:, ASK_CPU] = np.minimum(_percent(cores), nodes[:, CPU].sum())
    asks[:, ASK_GPUS] = gpu > 0
    asks[:, ASK_MILLI] = gpu
    asks[:, ASK_INSTANCES] = jobs["instances"].fillna(1.0).astype(np.int64)
    if matching:
        wanted = jobs["gpu_type"].fillna("CPU").to_numpy(str)
        bits = {kind: 1 << place for place, kind in enumerate(kinds)}
        asks[:, ASK_TYPES] = [
            bits.get(kind, 1 << 62)
            if (matching == 1 and kind != "CPU") or (matching == 2 and kind == "V100")
            else 0
            for kind in wanted
        ]
    return asks


def _one_node(gpus: int, cores: int | None) -> tuple[Ints, list[str]]:
    return _node_matrix([("ANY", 1, gpus, cores or round(CORES_PER_GPU * gpus))])


def _hetero_nodes() -> tuple[Ints, list[str]]:
    return _node_matrix(list(HETERO))


def _node_matrix(groups: list[tuple[str, int, int, int]]) -> tuple[Ints, list[str]]:
    rows = []
    for kind, (_, count, gpus, cores) in enumerate(groups):
        row = np.zeros(FREE_SHARE, np.int64)
        row[GPUS], row[GPU_TYPE] = gpus, kind
        row[CPU] = row[FREE_CPU] = 100 * cores
        row[FREE_GPU] = 100 * gpus
        rows += [row] * count
    return np.array(rows), [group[0] for group in groups]


def _result(
    jobs: pd.DataFrame,
    by_time: Ints,
    submit: Floats,
    duration: Floats,
    start_in_time: Floats,
    instances: Ints,
) -> PaiResult:
    start = np.empty(len(jobs))
    start[by_time] = start_in_time
    jct = start + duration - submit
    table = pd.DataFrame(
        {
            "job_id": jobs["job_id"],
            "submit_s": submit,
            "start_s": start,
            "end_s": start + duration,
            "duration_s": duration,
            "jct_s": jct,
            "wait_s": jct - duration,
            "instances": instances,
        }
    )
    return PaiResult(
        table,
        mean_jct_s=float(np.average(jct, weights=instances)),
        mean_wait_s=float(np.average(jct - duration, weights=instances)),
        makespan_s=float((start + duration).max() + 1),
    )
