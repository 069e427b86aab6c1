"""Refuse what cannot run before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, ProphaseError
from prophase.sim.cluster import Cluster
from prophase.sim.signatures import ASK_INSTANCES, Ints
from prophase.sim.simulation import simulate
from prophase.sim.workload import Workload, name_some

#: jobs of different kinds that a policy is tried on
_TRIED = 20
_MARK = "attr_kind_of_job"


def unfit_somewhere(
    workload: Workload, clusters: Mapping[str, Cluster], *, leave_out_unfit: bool = False
) -> NDArray[np.bool_]:
    """Tell which jobs one of the clusters could not run, so that all are judged by the same jobs.

    Refused by name, unless they are to be left out.
    """
    stuck = np.zeros(len(workload), np.bool_)
    for name, cluster in clusters.items():
        unfit = unfit_jobs(workload, cluster)
        if unfit.any() and not leave_out_unfit:
            ids = workload.jobs.loc[unfit, "job_id"]
            raise InputError(
                f"{int(unfit.sum()):,} of {len(workload):,} jobs fit on no node of cluster "
                f"{name!r} even when it is empty: {name_some(ids)}. Add nodes that fit, or leave "
                "these jobs out of all replays (--leave-out-unfit)."
            )
        stuck |= unfit
    return stuck


def unfit_jobs(workload: Workload, cluster: Cluster) -> NDArray[np.bool_]:
    """Tell which jobs not even the empty cluster could run, as ``simulate`` judges it."""
    kind_of, kinds = _one_of_each_kind(workload)
    fitting = simulate(_with_idle_job(kinds), cluster, leave_out_unfit=True).workload.jobs[_MARK]
    unfit: NDArray[np.bool_] = ~np.isin(kind_of, fitting.to_numpy(np.int64))
    return unfit


def try_policies(
    workload: Workload, cluster: Cluster, policies: Iterable[Mapping[str, Any]]
) -> None:
    """Replay a few jobs under each policy: unknown names and missing columns show at once."""
    kinds = _one_of_each_kind(workload)[1]
    few = kinds.without(np.arange(len(kinds)) >= _TRIED, "are not needed for a trial")
    for settings in policies:
        try:
            simulate(few, cluster, leave_out_unfit=True, **settings)
        except ProphaseError as cause:
            if len(settings) > 1 and "column" in str(cause):
                words = ", ".join(f"{name} {value}" for name, value in settings.items())
                raise type(cause)(f"policy ({words}): {cause}") from cause
            raise


def _one_of_each_kind(workload: Workload) -> tuple[Ints, Workload]:
    """Return the kind of each job (request, GPU types, features), and one job of each kind."""
    alike = pd.DataFrame(workload.asks)
    for column in ("gpu_type", "attr_features"):
        if column in workload.jobs:
            alike[column] = workload.jobs[column].astype("string").fillna("")
    kind_of = np.asarray(alike.groupby(list(alike), sort=False).ngroup(), np.int64)
    first = np.unique(kind_of, return_index=True)[1]
    jobs = workload.jobs.iloc[first].assign(**{_MARK: kind_of[first]}).reset_index(drop=True)
    return kind_of, Workload(
        jobs, workload.submit_s[first], workload.duration_s[first], workload.asks[first], {}
    )


def _with_idle_job(kinds: Workload) -> Workload:
    """Add a job that asks for nothing: it fits everywhere, so that something always does."""
    idle = kinds.jobs.iloc[[-1]].copy()
    idle[_MARK] = -1
    for column in ("gpu_type", "attr_features"):
        if column in idle:
            idle[column] = None
    asks = np.zeros((1, kinds.asks.shape[1]), np.int64)
    asks[0, ASK_INSTANCES] = 1
    return replace(
        kinds,
        jobs=pd.concat([kinds.jobs, idle.astype(kinds.jobs.dtypes)], ignore_index=True),
        submit_s=np.append(kinds.submit_s, kinds.submit_s[-1]),
        duration_s=np.append(kinds.duration_s, 1.0),
        asks=np.vstack([kinds.asks, asks]),
    )
