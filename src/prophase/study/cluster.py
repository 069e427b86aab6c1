"""The cluster a study runs on: named in short, a list of nodes, or the nodes of the trace."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import InputError, MissingFileError, ParameterError
from prophase.sim.cluster import Cluster
from prophase.sim.signatures import ASK_CPU
from prophase.sim.workload import Workload
from prophase.trace.trace_tables import Trace, open_trace

#: GPUs of a node that no trace describes, and the cores of one without GPUs
_GPUS, _CORES = 8, 64


def machines(
    trace: Trace, named: str | Path | None, *, replayed: pd.DataFrame | None = None
) -> Cluster | None:
    """Return the cluster that is named, else that of the trace's nodes; None if there is neither.

    Parameters
    ----------
    named : str or path, optional
        A file or workspace with nodes, a slurm.conf, short as ``"20x8 V100 96c 512g"``, or
        ``"90%"``: as many nodes as the jobs keep that busy, see ``cluster_at``.
    replayed : DataFrame, optional
        The jobs that are meant, if not all of the trace.

    Examples
    --------
    >>> cluster = machines(Trace({}, "csv", ""), "2x8 V100 96c 512g")
    >>> cluster.gpus if cluster else None
    16
    """
    if named is None:
        return Cluster.from_nodes(trace.nodes) if "nodes" in trace.tables else None
    if str(named).strip().endswith("%"):
        share = units.parse_quantity(str(named), where="--cluster")
        # a plan is checked before its trace is there
        if replayed is None and "jobs" not in trace.tables:
            return None
        return cluster_at(trace.jobs if replayed is None else replayed, share)
    path = Path(named)
    if path.exists():
        source = "sacct" if path.suffix == ".conf" else None
        return Cluster.from_nodes(open_trace(path, source=source, tables=["nodes"]).nodes)
    try:
        return Cluster.parse(str(named))
    except ParameterError as cause:
        if path.suffix or len(path.parts) > 1:
            raise MissingFileError(f"{path}: there is no such list of nodes.") from cause
        raise


def cluster_at(jobs: pd.DataFrame, utilisation: float) -> Cluster:
    """Return a cluster that the jobs keep this busy on average, for a trace that names none.

    Nodes have 8 GPUs, or 64 cores (or as many as the largest job needs) if no job asks for a
    GPU; memory does not limit.

    Parameters
    ----------
    utilisation : float
        Share of the GPUs, or cores, in use from the first to the last submission if nobody had
        to wait, such as 0.9.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": list("abc"), "submit_s": [0.0, 50, 100], "duration_s": 90.0})
    >>> cluster_at(jobs.assign(request_gpus=8.0), 0.7).gpus
    16
    """
    if not 0 < utilisation <= 10:
        raise ParameterError(
            f"a cluster that is {100 * utilisation:g} % busy: give a share above 0 %, such as 90%."
        )
    workload = Workload.from_jobs(jobs)
    gpus = workload.gpus
    cores = workload.asks[:, ASK_CPU] / 1000
    per_job, each = gpus, float(_GPUS)
    if not (gpus > 0).any():
        per_job, each = workload.cores, max(float(_CORES), cores.max())
    if not (per_job > 0).any():
        raise InputError(
            "no job asks for GPUs or cores, so its load needs no nodes: name a cluster, such as "
            "100x8."
        )
    span = float(np.ptp(workload.submit_s))
    if not span > 0:
        raise InputError("all jobs come at once: their load over time is unknown. Name a cluster.")
    # what runs on after the last submission keeps nobody waiting
    seen_s = np.minimum(workload.duration_s, workload.submit_s.max() - workload.submit_s)
    nodes = max(1, math.ceil(float(per_job @ seen_s) / span / utilisation / each))
    return (
        Cluster.uniform(nodes, _GPUS)
        if (gpus > 0).any()
        else Cluster.uniform(nodes, 0, cpu_cores=each)
    )
