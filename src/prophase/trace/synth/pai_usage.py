"""What tasks really use: the centre of their profile, moved by the group and by chance."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.trace.synth import pai_world as world
from prophase.trace.synth.columns import Flags, Floats, Ints, chosen, where_known
from prophase.trace.synth.pai_tasks import Tasks

#: column -> (field of a profile, spread of its log between groups, and between runs)
_LAWS = {
    "cpu_mean_cores": ("cpu_cores", 0.30, 0.10),
    "memory_mean_gib": ("memory_gib", 0.30, 0.06),
    "gpu_util_mean_pct": ("gpus", 0.40, 0.15),
    "gpu_memory_mean_gib": ("gpu_memory_gib", 0.30, 0.05),
    "read_bytes": ("read_bytes", 0.40, 0.20),
    "write_bytes": ("write_bytes", 0.40, 0.20),
    "read_count": ("read_count", 0.30, 0.15),
    "write_count": ("write_count", 0.30, 0.15),
}
_MOST_CORES = 90.0


def usage(
    rng: np.random.Generator, tasks: Tasks, task: Ints, group: Ints, profile: Ints, ran: Flags
) -> dict[str, Floats]:
    """Return the usage columns of the job table; missing where nothing ran or was measured."""
    measured = ran & (rng.random(len(task)) >= world.UNMEASURED_SHARE)
    has_gpu = np.isfinite(tasks.gpus[task])
    groups = int(tasks.group[-1]) + 1
    columns: dict[str, Floats] = {}
    for name, (field, group_sd, run_sd) in _LAWS.items():
        centre = np.array([getattr(p, field) for p in world.PROFILES])[profile]
        between = rng.normal(0.0, group_sd, groups)[group]
        columns[name] = centre * np.exp(between + rng.normal(0.0, run_sd, len(task)))
    columns["cpu_mean_cores"] = np.minimum(columns["cpu_mean_cores"], _MOST_CORES)
    # a worker cannot keep more GPUs busy than it holds, plus what a shared GPU lends it
    lent = np.where(tasks.gpus < 1, 1.0, tasks.gpus)[task]
    columns["gpu_util_mean_pct"] = np.minimum(100 * columns["gpu_util_mean_pct"], 98 * lent)
    peak_over_mean = 1.05 + rng.gamma(1.2, 0.3, len(task))
    memory_peak = columns["memory_mean_gib"] * peak_over_mean
    gpu_peak = columns["gpu_memory_mean_gib"] * (1.0 + rng.gamma(0.8, 0.2, len(task)))
    on_gpu = measured & has_gpu
    return {
        "cpu_mean_cores": where_known(columns["cpu_mean_cores"], measured),
        "memory_mean_gib": where_known(columns["memory_mean_gib"], measured),
        "memory_peak_gib": where_known(memory_peak, measured),
        "gpu_util_mean_pct": where_known(columns["gpu_util_mean_pct"], on_gpu),
        "gpu_memory_mean_gib": where_known(columns["gpu_memory_mean_gib"], on_gpu),
        "gpu_memory_peak_gib": where_known(gpu_peak, on_gpu),
        **{
            name: where_known(np.round(columns[name]), measured)
            for name in ("read_bytes", "write_bytes", "read_count", "write_count")
        },
    }


def machine_metrics(
    rng: np.random.Generator,
    nodes: pd.DataFrame,
    given_type: Ints,
    use: dict[str, Floats],
    ran: Flags,
) -> dict[str, object]:
    """Return the node of the first instance and what its machine did meanwhile."""
    types = [None, *world.GPU_TYPES]
    node = np.zeros(len(ran), dtype=np.int64)
    for place, name in enumerate(types):
        mine = np.flatnonzero(given_type == place - 1)
        wanted = nodes["gpu_type"].isna() if name is None else nodes["gpu_type"] == name
        fitting = np.flatnonzero(wanted.to_numpy(dtype=bool))
        node[mine] = fitting[rng.integers(0, len(fitting), len(mine))]
    node = np.where(ran, node, -1)
    measured = np.isfinite(use["cpu_mean_cores"])
    count = len(ran)
    user = rng.gamma(3.0, 6.0, count)
    kernel, iowait = 0.25 * user * rng.random(count), rng.exponential(0.3, count)
    busy = np.minimum(user + kernel + iowait, 100.0)
    workers = 1.0 + rng.poisson(6.0, count)
    on_gpu = measured & (given_type >= 0)
    metrics = {
        "machine_cpu_iowait": iowait,
        "machine_cpu_kernel": kernel,
        "machine_cpu_usr": np.minimum(user, 100.0),
        "machine_load_1": 0.96 * busy * rng.gamma(20.0, 0.05, count),
        "machine_net_receive": np.nan_to_num(use["read_bytes"]) + rng.gamma(2.0, 5e7, count),
        "machine_num_worker": workers,
        "machine_cpu": busy,
    }
    others = np.minimum(rng.gamma(1.2, 14.0, count), 98.0)
    return {
        "after_node": chosen(nodes["node_id"].tolist(), node),
        **{f"after_{name}": where_known(values, measured) for name, values in metrics.items()},
        "after_machine_gpu": where_known(others, on_gpu),
    }
