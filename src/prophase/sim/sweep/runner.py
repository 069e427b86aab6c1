"""Run a sweep: only the cells that are not there yet, on as many workers as there are."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from prophase.cells import open_cells
from prophase.sim.cluster import Cluster
from prophase.sim.cluster_variants import cluster_named
from prophase.sim.request_variants import ASKED, SHARING, Sizing, chosen_sizings, whole_gpus
from prophase.sim.rules.retry_ladder import Ladder
from prophase.sim.schedule import Schedule
from prophase.sim.simulation import simulate
from prophase.sim.sweep.dry_run import try_policies, unfit_somewhere
from prophase.sim.sweep.plan import Cell, SweepPlan
from prophase.sim.sweep.resampled_traces import Resampler, require_blocks
from prophase.sim.sweep.results import SweepResult
from prophase.sim.workload import Workload
from prophase.workers import run_all


@dataclass(frozen=True)
class SweepSetting:
    """What every cell of a sweep needs: the traces to draw by sizing, and clusters by name."""

    draws: Mapping[str, tuple[Resampler, Ladder | None]]
    clusters: Mapping[str, Cluster]


def run_sweep(
    workload: Workload,
    plan: SweepPlan,
    *,
    own: Cluster | None = None,
    sizings: Mapping[str, Sizing] | None = None,
    folder: Path | None = None,
    workers: int | str = 1,
    leave_out_unfit: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> SweepResult:
    """Replay a workload under every combination of a plan and return all results.

    Every seed draws the days of the trace again (``Resampler``); all combinations meet the same
    jobs, so that their differences are paired. A job that one of the clusters cannot run is
    left out of all replays, or refused.

    Parameters
    ----------
    own : Cluster, optional
        What the plan calls ``own``: the nodes of the trace.
    sizings : mapping, optional
        Name in the plan -> the same jobs with other requests.
    folder : Path, optional
        Where finished cells are kept; a second call runs only the rest.
    workers : int or str, default=1
        Processes, 0 for all cores, or a Dask address; see ``run_all``.
    progress : function, optional
        Called with the number of cells done and of all cells.

    Examples
    --------
    >>> jobs = pd.DataFrame({"submit_s": np.arange(600) * 600.0, "duration_s": 5000.0})
    >>> jobs["job_id"], jobs["request_gpus"] = jobs.index.astype(str), 1.0
    >>> result = run_sweep(Workload.from_jobs(jobs), SweepPlan(["1x8", "1x10"], seeds=2))
    >>> result.cells.shape[0], result.ranked().loc[0, "cluster"]
    (6, '1x10')
    """
    draw = Resampler(workload, plan.block_h)
    require_blocks(draw, plan.seeds)
    clusters = {name: cluster_named(name, own) for name in plan.clusters}
    sized = chosen_sizings(list(plan.sizings), workload, sizings or {})
    stuck = np.zeros(len(workload), np.bool_)
    for one, word in product((Sizing(workload), *sized.values()), plan.sharing):
        most = one.highest() if word == SHARING[0] else whole_gpus(one.highest())[0]
        stuck |= unfit_somewhere(most, clusters, leave_out_unfit=leave_out_unfit)
    why = "fit on no node of one of the clusters"
    kept, sized = (
        workload.without(stuck, why),
        {name: one.without(stuck, why) for name, one in sized.items()},
    )
    try_policies(kept, next(iter(clusters.values())), map(dict, plan.policy_settings))
    setting = SweepSetting(
        {name: (Resampler(one.workload, plan.block_h), one.ladder) for name, one in sized.items()},
        clusters,
    )
    data_hash = content_hash(kept, own, plan.block_h)
    marks = {name: one.mark() for name, one in sized.items() if name != ASKED}
    keys = {cell: cell.key(data_hash, marks.get(cell.sizing, "")) for cell in plan.cells()}
    cells = {key: cell for cell, key in keys.items()}
    with open_cells(folder, "sweep", data_hash, plan.to_dict()) as store:
        missing = [cell for key, cell in cells.items() if key not in store.finished]
        done = len(cells) - len(missing)
        report = progress or (lambda done, total: None)
        report(done, len(cells))
        with closing(run_all(run_cell, setting, missing, workers=workers)) as results:
            for cell, measures in results:
                store.add(keys[cell], {**cell.axes, **measures})
                report(done := done + 1, len(cells))
        rows = [{**cell.axes, **store.finished[key]} for key, cell in cells.items()]
    return SweepResult(
        pd.DataFrame(rows),
        axes=plan.axes,
        blocks=Resampler(kept, plan.block_h).blocks,
        data_hash=data_hash,
        left_out=kept.left_out,
    )


def run_cell(setting: SweepSetting, cell: Cell) -> dict[str, Any]:
    """Replay one cell and return its measures."""
    draw, ladder = setting.draws[cell.sizing]
    workload = draw(cell.seed, cell.load)
    if cell.sharing != SHARING[0]:
        workload = whole_gpus(workload)[0]
    policy: dict[str, Any] = dict(cell.policy)
    if ladder is not None:
        policy["ladder"] = ladder
    schedule = simulate(workload, setting.clusters[cell.cluster], seed=cell.seed, **policy)
    return measures_of(schedule)


def measures_of(schedule: Schedule) -> dict[str, Any]:
    """Return what replays are compared by; without numbers that JSON does not know."""
    found = {
        "nodes": len(schedule.cluster),
        "gpus": schedule.cluster.gpus,
        **_flat(schedule.metrics()),
        "p95_wait_s": float(np.percentile(schedule.wait_s, 95)),
        "p95_jct_s": float(np.percentile(schedule.jct_s, 95)),
    }
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, int | float) and math.isfinite(value)
    }


def _flat(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Name the numbers of a group by group and number: gpu_hours.owned."""
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": one for inner, one in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def content_hash(workload: Workload, own: Cluster | None, block_h: float) -> str:
    """Return a hash over everything that a replay reads."""
    digest = hashlib.sha256(str(block_h).encode())
    for array in (workload.submit_s, workload.duration_s, workload.asks):
        digest.update(np.ascontiguousarray(array).tobytes())
    for table in (workload.jobs, own.nodes if own is not None else None):
        if table is not None:
            digest.update(",".join(map(str, table)).encode())
            digest.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return digest.hexdigest()
