"""Run a sweep: only the cells that are not there yet, on as many workers as there are."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from prophase.cells import CellStore, finished_cells, open_cells
from prophase.errors import ParameterError
from prophase.sim.cluster import Cluster
from prophase.sim.cluster_variants import cluster_named
from prophase.sim.request_variants import ASKED, SHARING, Sizing, chosen_sizings, whole_gpus
from prophase.sim.rules.retry_ladder import Ladder
from prophase.sim.rules.speed_and_sharing import as_sharing
from prophase.sim.schedule import Schedule
from prophase.sim.simulation import simulate
from prophase.sim.sweep.dry_run import try_policies, unfit_somewhere
from prophase.sim.sweep.plan import Cell, SweepPlan
from prophase.sim.sweep.resampled_traces import (
    AS_RECORDED,
    DrawnBlocks,
    Resampler,
    replayed_blocks,
    require_blocks,
)
from prophase.sim.sweep.results import SweepResult
from prophase.sim.workload import Workload
from prophase.workers import load_ahead, run_all

#: what is computed, as its folder says; parts of it that were run apart
KIND, PARTS = "sweep", "parts"


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

    Every seed draws days of the trace again (``Resampler``), as many in a row as its backlog lasts,
    at most a sixth of the trace; one of fewer than four days is only replayed as recorded. All
    combinations meet the same jobs, so that their differences are paired. A job that one of the
    clusters cannot run is left out of all replays, or refused.

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
    load_ahead(run_cell, workers)
    ready = _prepared(workload, plan, own, sizings or {}, leave_out_unfit)
    with open_cells(folder, KIND, ready.data_hash, plan.to_dict()) as store:
        if folder is not None:
            for place in sorted((folder / PARTS).glob("*-of-*")):
                for key, held in finished_cells(place, KIND).items():
                    if key in ready.cells and key not in store.finished:
                        store.add(key, held)
        _run_missing(ready, ready.cells, store, workers, progress)
        rows = [{**cell.axes, **store.finished[key]} for key, cell in ready.cells.items()]
    return SweepResult(
        pd.DataFrame(rows),
        axes=plan.axes,
        drawn=ready.drawn,
        data_hash=ready.data_hash,
        left_out=ready.kept.left_out,
    )


def run_part(
    workload: Workload,
    plan: SweepPlan,
    part: tuple[int, int],
    folder: Path,
    *,
    own: Cluster | None = None,
    sizings: Mapping[str, Sizing] | None = None,
    workers: int | str = 1,
    leave_out_unfit: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Run one of several equal parts of a sweep, beside the others; return how many cells it has.

    Parts keep their cells in folders of their own below ``folder``, so they need nothing from
    each other. :func:`run_sweep` with the same plan and folder takes their cells and runs what
    is missing.

    Parameters
    ----------
    part : tuple of int
        Which part, from 1, of how many.
    """
    number, of = part
    if not 1 <= number <= of:
        raise ParameterError(f"part {number}/{of}: write for example 2/8, the second of 8 parts.")
    ready = _prepared(workload, plan, own, sizings or {}, leave_out_unfit)
    done = finished_cells(folder, KIND)
    own_cells = dict(list(ready.cells.items())[number - 1 :: of])
    wanted = {key: cell for key, cell in own_cells.items() if key not in done}
    place = folder / PARTS / f"{number}-of-{of}"
    with open_cells(place, KIND, ready.data_hash, plan.to_dict()) as store:
        _run_missing(ready, wanted, store, workers, progress)
    return len(own_cells)


def claim_folder(
    workload: Workload,
    plan: SweepPlan,
    folder: Path,
    *,
    own: Cluster | None = None,
    sizings: Mapping[str, Sizing] | None = None,
    leave_out_unfit: bool = False,
) -> int:
    """Check that a sweep can be run and make its folder; return how many cells are missing."""
    ready = _prepared(workload, plan, own, sizings or {}, leave_out_unfit)
    with open_cells(folder, KIND, ready.data_hash, plan.to_dict()) as store:
        return sum(key not in store.finished for key in ready.cells)


@dataclass(frozen=True)
class _Prepared:
    """A sweep that can be run: its jobs, what cells need, and every cell by its key."""

    kept: Workload
    drawn: DrawnBlocks
    setting: SweepSetting
    data_hash: str
    cells: Mapping[str, Cell]
    #: the combination whose replay, as recorded, chose the blocks; and that, if there was one
    first: Cell
    replay: Schedule | None
    #: seconds of a replay of the first combination, if there was one
    replay_s: float | None


def _prepared(
    workload: Workload,
    plan: SweepPlan,
    own: Cluster | None,
    sizings: Mapping[str, Sizing],
    leave_out_unfit: bool,
) -> _Prepared:
    if plan.block_h is not None:
        require_blocks(Resampler(workload, plan.block_h), plan.seeds)
    clusters = {name: cluster_named(name, own) for name in plan.clusters}
    sized = chosen_sizings(list(plan.sizings), workload, sizings)
    stuck = np.zeros(len(workload), np.bool_)
    shares = {dict(policy).get("share") for policy in plan.policy_settings}
    rules = [as_sharing(share if isinstance(share, str) else None) for share in shares]
    for one, word, rule in product((Sizing(workload), *sized.values()), plan.sharing, rules):
        most = one.highest() if word == SHARING[0] else whole_gpus(one.highest())[0]
        if rule is not None:
            # whole GPUs, or smaller shares: a gang may no longer fit
            most = rule.apply(most)
        stuck |= unfit_somewhere(most, clusters, leave_out_unfit=leave_out_unfit)
    why = "fit on no node of one of the clusters"
    kept, sized = (
        workload.without(stuck, why),
        {name: one.without(stuck, why) for name, one in sized.items()},
    )
    try_policies(kept, next(iter(clusters.values())), map(dict, plan.policy_settings))
    # of the first combination, so that more of them find the finished cells again
    first = Cell(plan.policy_settings[0], plan.clusters[0], 1.0, AS_RECORDED)
    began = time.process_time()
    drawn, replay = replayed_blocks(kept, clusters[first.cluster], dict(first.policy), plan.block_h)
    replay_s = time.process_time() - began if plan.block_h is None else None
    setting = SweepSetting(
        {
            name: (Resampler(one.workload, drawn.block_h, drawn.run), one.ladder)
            for name, one in sized.items()
        },
        clusters,
    )
    data_hash = content_hash(kept, own, drawn.block_h * drawn.run)
    last = AS_RECORDED if drawn.why_not else plan.seeds
    marks = {name: one.mark() for name, one in sized.items() if name != ASKED}
    cells = {
        cell.key(data_hash, marks.get(cell.sizing, "")): cell
        for cell in plan.cells()
        if cell.seed <= last
    }
    return _Prepared(kept, drawn, setting, data_hash, cells, first, replay, replay_s)


def _run_missing(
    ready: _Prepared,
    wanted: Mapping[str, Cell],
    store: CellStore,
    workers: int | str,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Run the cells that the store does not have yet."""
    missing = {cell: key for key, cell in wanted.items() if key not in store.finished}
    done = len(wanted) - len(missing)
    report = progress or (lambda done, total: None)
    report(done, len(wanted))
    if ready.replay is not None and ready.first in missing:
        measures = measures_of(ready.replay)
        store.add(missing.pop(ready.first), {**ready.first.axes, **measures})
        report(done := done + 1, len(wanted))
    cells = run_all(run_cell, ready.setting, list(missing), workers=workers, task_s=ready.replay_s)
    with closing(cells) as results:
        for cell, measures in results:
            store.add(missing[cell], {**cell.axes, **measures})
            report(done := done + 1, len(wanted))


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
