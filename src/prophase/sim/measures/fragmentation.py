"""Fragmentation: idle GPUs that the workload's typical jobs cannot use.

Source: Weng et al., "Beware of Fragmentation", USENIX ATC 2023. A node's idle GPUs are no good
to a class of jobs if the class needs none, may not use their type, lacks CPU beside them, or
finds too little free on single GPUs; the mean over the workload's classes is fragmented.
"""

from __future__ import annotations

import numpy as np

from prophase.sim.cluster import Cluster
from prophase.sim.compilation import call
from prophase.sim.feasibility import with_types
from prophase.sim.kernels import fragmentation_sweep as kernel
from prophase.sim.measures.occupancy import Occupancy
from prophase.sim.place import fgd as typical
from prophase.sim.rules.node_availability import Absences
from prophase.sim.signatures import ASK_TYPES, CPU, GPUS, Floats, Ints
from prophase.sim.workload import Workload

_WHOLE = 1000


def fragmented_gpus(
    workload: Workload,
    cluster: Cluster,
    held: Occupancy,
    away: Absences | None,
    edges: Floats,
) -> Floats:
    """Return the idle GPUs that typical jobs could not use, as time averages.

    Returns
    -------
    array of shape (GPU types, bins)
        Number of GPUs, per type as numbered by the cluster and bin between equal edges.

    Examples
    --------
    Two halves of a GPU stay idle beside jobs of 0.5 GPU; a job of one GPU could not use them.

    >>> import pandas as pd
    >>> from prophase.sim import Cluster, Workload, simulate
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 10.0})
    >>> jobs["request_gpus"] = [0.5, 1.0]
    >>> schedule = simulate(Workload.from_jobs(jobs), Cluster.parse("2x1"))
    >>> float(schedule.fragmented_gpus.mean())
    0.25
    """
    matrix = cluster.matrix
    bins = np.zeros((len(cluster.gpu_types), len(edges) - 1))
    if not cluster.gpus:
        return bins
    node, gpu_bits = held.node, held.gpu_bits
    cpu, milli = held.instance_cpu, held.instance_milli
    begin, end = held.start_s[held.attempt], held.end_s[held.attempt]
    if away is not None:
        # a node that is not there has nothing idle, as if one job held all of it
        node, begin, end = (
            np.r_[node, away.node],
            np.r_[begin, away.from_s],
            np.r_[end, away.to_s],
        )
        gpu_bits = np.r_[gpu_bits, np.left_shift(1, matrix[away.node, GPUS]) - 1]
        cpu = np.r_[cpu, matrix[away.node, CPU]]
        milli = np.r_[milli, np.full(len(away.node), _WHOLE)]
    width = (edges[-1] - edges[0]) / bins.shape[1]
    when = np.clip((np.r_[begin, end] - edges[0]) / width, 0.0, bins.shape[1])
    classes, share, levels = _classes(workload, cluster)
    call(
        kernel.sweep_states, matrix.copy(), np.argsort(when), when, node, gpu_bits, cpu, milli,
        classes, share, levels, bins, work=2 * len(node),
    )  # fmt: skip
    return bins / _WHOLE


def _classes(workload: Workload, cluster: Cluster) -> tuple[Ints, Floats, Ints]:
    """Return the typical classes as the kernel wants them, their shares, and milli levels."""
    asks = with_types(workload, cluster)
    found = typical.typical_classes(asks, asks[:, ASK_TYPES])
    levels, level = np.unique(found[:, typical.CLASS_MILLI].astype(np.int64), return_inverse=True)
    classes = np.zeros((len(found), 4), np.int64)
    classes[:, kernel.CLASS_CPU] = found[:, typical.CLASS_CPU]
    classes[:, kernel.CLASS_GPUS] = found[:, typical.CLASS_GPUS]
    classes[:, kernel.CLASS_TYPES] = found[:, typical.CLASS_TYPES]
    classes[:, kernel.CLASS_LEVEL] = level
    return classes, np.ascontiguousarray(found[:, typical.CLASS_SHARE]), levels
