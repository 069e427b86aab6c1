"""Replay scenarios on the same jobs and rank them against the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError, nearest
from prophase.sim.measures.offered_load import load_measures, times_asked
from prophase.sim.request_variants import highest_of
from prophase.sim.simulation import simulate
from prophase.sim.sweep.dry_run import try_policies, unfit_jobs
from prophase.sim.sweep.resampled_traces import (
    AS_RECORDED,
    DrawnBlocks,
    Resampler,
    recorded_change,
    replayed_blocks,
    require_blocks,
)
from prophase.sim.sweep.results import more_is_better
from prophase.sim.sweep.runner import measures_of
from prophase.sim.whatif.scenarios import BASELINE, WhatIfScenario
from prophase.sim.workload import name_some
from prophase.stats import Estimate
from prophase.workers import load_ahead, run_all


@dataclass(frozen=True)
class ScenarioComparison:
    """Measures of every scenario and seed; seed 0 is the trace as recorded."""

    scenarios: tuple[WhatIfScenario, ...]
    cells: pd.DataFrame
    drawn: DrawnBlocks
    left_out: Mapping[str, int]

    def overload(self) -> dict[str, Any] | None:
        """Return what is overloaded in the baseline, if anything is."""
        base = self.scenarios[0]
        if BASELINE not in self._times_asked():
            return None
        found = load_measures(simulate(base.workload, base.cluster, **base.policy))
        return found.get("overload")

    def overloaded(self) -> dict[str, float]:
        """Return the changes after which jobs ask for more than there is, and how many times."""
        every = self._times_asked()
        return {str(name): float(times) for name, times in every.items() if name != BASELINE}

    def _times_asked(self) -> pd.Series:
        recorded = self.cells["seed"] == AS_RECORDED
        return times_asked(self.cells[recorded].set_index("scenario"))

    def ranked(self, measure: str = "mean_wait_s") -> pd.DataFrame:
        """Return one row per scenario, best first.

        Columns: the measure on the trace as recorded, its change against the baseline on the same
        jobs with a 95 % interval from resampled traces, the same in percent, and a verdict. The
        interval of the measure is what the change's leaves of it.
        """
        known = [str(name) for name in self.cells if name not in ("scenario", "seed")]
        if measure not in known:
            raise ParameterError(
                f"measure {measure!r} is unknown. {nearest(measure, known)} "
                f"Known: {', '.join(known)}."
            )
        by_seed = self.cells.pivot(index="scenario", columns="seed", values=measure)
        recorded, draws = by_seed[AS_RECORDED], by_seed.drop(columns=AS_RECORDED)
        then, before = float(recorded[BASELINE]), draws.loc[BASELINE].to_numpy(float)
        sign = -1.0 if more_is_better(measure) else 1.0
        rows = []
        for scenario in self.scenarios:
            now, after = float(recorded[scenario.name]), draws.loc[scenario.name].to_numpy(float)
            change = recorded_change((then, now), (before, after), self.drawn.independent)
            if self.drawn.why_not:
                change = Estimate(now - then, reason=self.drawn.why_not)
            low, high = change.ends()
            if min(then, now) >= 0 and low is not None:
                # a measure that is never negative cannot fall by more than all of it
                low = max(low, -then)
            rows.append(
                {
                    "scenario": scenario.name,
                    "nodes": len(scenario.cluster),
                    "gpus": scenario.cluster.gpus,
                    measure: now,
                    f"{measure}_low": None if low is None else then + low,
                    f"{measure}_high": None if high is None else then + high,
                    "change": change.value,
                    "change_low": low,
                    "change_high": high,
                    "change_pct": 100 * change.value / then if then else np.nan,
                    "verdict": _verdict(scenario.name, change, sign),
                }
            )
        table = pd.DataFrame(rows).sort_values(measure, ascending=sign > 0, kind="stable")
        table.insert(0, "rank", np.arange(1, len(table) + 1))
        return table.reset_index(drop=True)


def compare_scenarios(
    scenarios: Sequence[WhatIfScenario],
    *,
    seeds: int = 10,
    block_h: float | None = None,
    workers: int | str = 1,
    progress: Callable[[int, int], None] | None = None,
) -> ScenarioComparison:
    """Replay every scenario on the trace and on resampled traces, the same for all.

    Parameters
    ----------
    scenarios : sequence of WhatIfScenario
        From ``scenarios_of``, after ``runnable_scenarios``.
    seeds : int, default=10
        Traces whose days are resampled; see ``Resampler``. None are where blocks that hold the
        backlog leave too few to draw from.
    block_h : float, optional
        Hours that stay together; chosen from the data if not given, see ``blocks_for``.
    """
    load_ahead(_replay, workers)
    first = scenarios[0]
    blocks, replay = replayed_blocks(first.workload, first.cluster, first.policy, block_h)
    drawn = drawing(scenarios, blocks)
    require_blocks(drawn[0][1], seeds, chosen=block_h is None)
    last = AS_RECORDED if blocks.why_not else seeds
    tasks = list(product(range(AS_RECORDED, last + 1), range(len(scenarios))))
    total, rows = len(tasks), []
    if replay is not None and first.load == 1.0:
        rows.append({"scenario": first.name, "seed": AS_RECORDED, **measures_of(replay)})
        tasks.remove((AS_RECORDED, 0))
    with closing(run_all(_replay, drawn, tasks, workers=workers)) as results:
        for (seed, number), measures in results:
            rows.append({"scenario": scenarios[number].name, "seed": seed, **measures})
            if progress:
                progress(len(rows), total)
    cells = pd.DataFrame(rows).sort_values(["scenario", "seed"]).reset_index(drop=True)
    return ScenarioComparison(tuple(scenarios), cells, blocks, scenarios[0].workload.left_out)


def runnable_scenarios(
    scenarios: Sequence[WhatIfScenario], *, leave_out_unfit: bool = False
) -> list[WhatIfScenario]:
    """Refuse what cannot run, or leave a job that one scenario cannot run out of all."""
    stuck = np.zeros(len(scenarios[0].workload), np.bool_)
    for scenario in scenarios:
        if "seed" in scenario.policy:
            raise ParameterError(
                f"{scenario.name}: seed cannot be set, as every replay has its own. Say how many "
                "there are (--seeds)."
            )
        unfit = unfit_jobs(highest_of(scenario.workload, scenario.policy), scenario.cluster)
        if unfit.any() and not leave_out_unfit:
            ids = scenario.workload.jobs.loc[unfit, "job_id"]
            raise InputError(
                f"{scenario.name}: {int(unfit.sum()):,} of {len(unfit):,} jobs fit on no node of "
                f"the cluster even when it is empty: {name_some(ids)}. Add nodes that fit, or "
                "leave these jobs out of all scenarios (--leave-out-unfit)."
            )
        stuck |= unfit
    kept = {
        id(one.workload): one.workload.without(stuck, "fit on no node of one of the clusters")
        for one in scenarios
    }
    runnable = [replace(one, workload=kept[id(one.workload)]) for one in scenarios]
    for scenario in runnable:
        try_policies(scenario.workload, scenario.cluster, [scenario.policy])
    return runnable


def drawing(
    scenarios: Sequence[WhatIfScenario], blocks: DrawnBlocks
) -> list[tuple[WhatIfScenario, Resampler]]:
    """Pair each scenario with what draws its jobs; scenarios of the same jobs share it."""
    draws = {
        id(one.workload): Resampler(one.workload, blocks.block_h, blocks.run) for one in scenarios
    }
    return [(one, draws[id(one.workload)]) for one in scenarios]


def _replay(
    drawn: Sequence[tuple[WhatIfScenario, Resampler]], task: tuple[int, int]
) -> dict[str, Any]:
    seed, number = task
    scenario, draw = drawn[number]
    workload = draw(seed, scenario.load)
    return measures_of(simulate(workload, scenario.cluster, seed=seed, **scenario.policy))


def _verdict(name: str, change: Estimate, sign: float) -> str:
    if name == BASELINE:
        return "-"
    if not change.known:
        return "no interval" if change.value else "no change"
    if change.holds(0.0):
        return "no clear change"
    return "better" if sign * change.value < 0 else "worse"
