"""The same jobs on the same cluster under each policy, beside what the study of PAI published."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.sim.cluster import Cluster
from prophase.sim.measures.job_classes import groups_of
from prophase.sim.signatures import Floats
from prophase.sim.simulation import simulate
from prophase.sim.sweep.dry_run import unfit_jobs
from prophase.sim.sweep.resampled_traces import (
    AS_RECORDED,
    Resampler,
    interval_remark,
)
from prophase.sim.workload import Workload
from prophase.stats import Estimate
from prophase.stats.blocks import why_too_short
from prophase.study.scheduling.policies import (
    BALANCED,
    FIFO,
    LEAST_GAIN,
    MEASURES,
    NO_SHARING,
    ORACLE,
    RESERVED,
    PolicyResult,
    SchedulePolicy,
    judge,
    percent_change,
    policies_of,
    predicted,
)
from prophase.study.scheduling.predicted_durations import USUAL_METHODS, predict_durations
from prophase.workers import run_all

_ALL = "all jobs"
_HOUR_S = 3600.0


@dataclass(frozen=True)
class ScheduleStudy:
    """All policies, and how good the predictions behind some of them are."""

    results: list[PolicyResult]
    scores: list[JsonObject]
    learnt_jobs: int
    jobs: int
    seeds: int
    notes: list[str]
    left_out: dict[str, int]
    #: policy -> measure -> one value per resampled trace
    drawn: dict[str, dict[str, list[float]]] = field(repr=False, default_factory=dict)
    blocks: int = 0
    settings: JsonObject = field(default_factory=dict)
    #: mean GPUs asked for if every fraction took a whole one, against what is asked for
    gpus_saved_by_sharing_pct: float = math.nan

    @property
    def nobody_waits(self) -> bool:
        """Whether waits under fifo are too short for any order to matter."""
        fifo = self.results[0]
        return not fifo.mean_wait_s > LEAST_GAIN * fifo.mean_jct_s

    @property
    def overall(self) -> list[PolicyResult]:
        """The rows for all jobs together."""
        return [one for one in self.results if one.of == _ALL]

    def of(self, policy: str, of: str = _ALL) -> PolicyResult | None:
        """Return a policy's row."""
        return next((one for one in self.results if (one.policy, one.of) == (policy, of)), None)

    def change(self, before: str, after: str, measure: str) -> Estimate | None:
        """Return the change of a measure between two policies in percent, with its interval."""
        first, then = self.of(before), self.of(after)
        if first is None or then is None or not getattr(first, measure) > 0:
            return None
        base = getattr(first, measure)
        value = 100 * (getattr(then, measure) - base) / base
        one, two = (np.array(self.drawn[name][measure]) for name in (before, after))
        # without a wait there is no change in percent
        base_s = np.where(one > 0, one, math.nan)
        return percent_change(value, 100 * (two / base_s - 1), self.blocks)

    def to_dict(self) -> JsonObject:
        """Return everything as JSON knows it."""

        found: JsonObject = finite(
            {
                "jobs": self.jobs,
                "learnt_jobs": self.learnt_jobs,
                "seeds": self.seeds,
                "blocks": self.blocks,
                "policies": [one.to_dict() for one in self.results],
                "predictors": self.scores,
                "findings": published_beside(self),
                "gpus_saved_by_sharing_pct": self.gpus_saved_by_sharing_pct,
                "left_out": self.left_out,
                "notes": self.notes,
                "settings": self.settings,
            }
        )
        return found


def schedule_study(
    jobs: pd.DataFrame,
    cluster: Cluster,
    methods: Sequence[str] = USUAL_METHODS,
    *,
    test_share: float = 0.5,
    seeds: int = 10,
    by: str = "class",
    policy: JsonMapping | None = None,
    leave_out_unfit: bool = True,
    workers: int | str = 1,
    seed: int = 0,
    show: Callable[[str, float | None], None] = lambda step, percent: None,
) -> ScheduleStudy:
    """Say how much of the gain of knowing all run times predictions keep.

    Predictors learn from the earlier part of the trace; the later part is replayed under
    first come first served, shortest true, and shortest predicted by each of them.

    Parameters
    ----------
    methods : sequence of str
        Predictors whose order is tried.
    test_share : float, default=0.5
        Share of the jobs, by time, that are predicted and replayed.
    seeds : int, default=10
        Resampled traces behind the intervals; 0: none.
    by : str
        Classes that waits are told for.
    policy : mapping, optional
        Settings of all replays, such as ``queue``.
    workers : int or str
        Processes, or a Dask address, for the replays.
    """
    if seeds < 0:
        raise ParameterError(f"seeds is {seeds}: give 0 or more.")
    foretold = predict_durations(
        jobs, methods, test_share=test_share, seed=seed,
        show=lambda name: show(f"predicting with {name}", None),
    )  # fmt: skip
    workload = Workload.from_jobs(foretold.jobs)
    stuck = unfit_jobs(workload, cluster) if leave_out_unfit else np.zeros(len(workload), bool)
    workload = workload.without(stuck, "fit on no node of this cluster")
    base = {"place": "best_fit", "queue": "skip", **(policy or {})}
    chosen = list(policies_of(foretold.columns, workload, cluster, base))
    draw = Resampler(workload)
    too_short = why_too_short(np.ones(draw.blocks), "day")
    seeds = 0 if too_short else seeds
    tasks = list(product(range(AS_RECORDED, seeds + 1), range(len(chosen))))
    cells: dict[tuple[int, int], dict[str, dict[str, float]]] = {}
    shared = (draw, cluster, chosen, by, leave_out_unfit)
    with closing(run_all(_replay, shared, tasks, workers=workers)) as results:
        for task, measured in results:
            cells[task] = measured
            show("replaying", 100 * len(cells) / len(tasks))
    notes = list(foretold.notes)
    if (seeds or too_short) and (said := interval_remark(draw.blocks, seeds)):
        notes.append(said)
    notes.append(
        "The later part starts on an empty cluster: jobs that still ran at the cut are not there."
    )
    counts = {_ALL: len(workload)}
    counts |= {name: len(rows) for name, rows in groups_of(workload, by).rows()}
    judged = [
        judge(chosen, number, of, counts[of], cells, seeds, draw.blocks)
        for number, of in product(range(len(chosen)), counts)
    ]
    study = ScheduleStudy(
        judged, foretold.scores, foretold.learnt_jobs, len(workload), seeds, notes,
        dict(workload.left_out),
        {
            one.name: {m: [cells[s, n][_ALL][m] for s in range(1, seeds + 1)] for m in MEASURES}
            for n, one in enumerate(chosen)
        },
        draw.blocks,
        {"test_share": test_share, "seeds": seeds, "seed": seed, "by": by, "policy": base},
        _saved_by_sharing(workload),
    )  # fmt: skip
    if study.nobody_waits:
        notes.append(
            "Hardly anybody waits under fifo on this cluster, so no order can gain anything. Try a "
            "smaller one, such as --cluster 90%."
        )
    return study


def _replay(
    shared: tuple[Resampler, Cluster, list[SchedulePolicy], str, bool], task: tuple[int, int]
) -> dict[str, dict[str, float]]:
    draw, cluster, policies, by, leave_out = shared
    seed, number = task
    schedule = simulate(
        draw(seed), cluster, seed=seed, leave_out_unfit=leave_out, **policies[number].settings
    )
    waits, done = schedule.wait_s, schedule.jct_s
    groups = groups_of(schedule.workload, by)
    found = {_ALL: _measures(waits, done)}
    return found | {name: _measures(waits[rows], done[rows]) for name, rows in groups.rows()}


def _measures(wait_s: Floats, jct_s: Floats) -> dict[str, float]:
    started = np.isfinite(wait_s)
    if not started.any():
        return dict.fromkeys(MEASURES, math.nan)
    p90, p99 = np.percentile(wait_s[started], [90, 99])
    return {
        "mean_jct_s": float(jct_s[started].mean()),
        "mean_wait_s": float(wait_s[started].mean()),
        "p90_wait_s": float(p90),
        "p99_wait_s": float(p99),
    }


def _saved_by_sharing(workload: Workload) -> float:
    """Return how many fewer GPUs shares need than whole ones, weighted by run time, in percent."""
    from prophase.sim.request_variants import whole_gpus

    whole = float(whole_gpus(workload)[0].gpus @ workload.duration_s)
    return 100 * (1 - float(workload.gpus @ workload.duration_s) / whole) if whole else 0.0


def require_cluster(cluster: Cluster | None) -> Cluster:
    """Refuse a study of schedules without a cluster."""
    if cluster is None:
        raise InputError(
            "a schedule needs a cluster, and the trace names none. Name it with --cluster 100x8 "
            "or a list of nodes; --cluster 90% takes as many nodes as the jobs keep that busy."
        )
    return cluster


def published_beside(study: ScheduleStudy) -> list[JsonObject]:
    """Return one row per published number: theirs, ours with its interval, and whether they agree.

    Agreement is a matter of the same direction: their cluster, load and jobs are others.
    """
    best = next((one.policy for one in study.overall if "predicted by" in one.policy), "")
    rows = [
        _row(study, "mean completion time, shortest predicted against fifo", "-63 to -77 %",
             FIFO, best or predicted("default"), "mean_jct_s"),
        _row(study, "mean completion time, shortest true against fifo", "more than predicted",
             FIFO, ORACLE, "mean_jct_s"),
        _row(study, "p90 wait with sharing against whole GPUs", "-57 % (1,150 s to 497 s)",
             NO_SHARING, FIFO, "p90_wait_s"),
        _row(study, "mean wait, reserving and packing against load balancing", "-45 %",
             BALANCED, RESERVED, "mean_wait_s"),
    ]  # fmt: skip
    shared = study.gpus_saved_by_sharing_pct
    says = "same direction" if shared > 0 else "nobody asks for a part of a GPU"
    rows.append(
        {
            "finding": "GPUs needed with sharing against whole GPUs",
            "published": "-50 % on average",
            **Estimate(-shared if shared > 0 else math.nan).columns("ours_pct"),
            "says": says,
        }
    )
    return rows


def _row(
    study: ScheduleStudy, finding: str, published: str, before: str, after: str, measure: str
) -> JsonObject:
    found = study.change(before, after, measure)
    if found is None:
        missing = before if study.of(before) is None else after
        why = f"no {missing!r} on this trace" if study.of(missing) is None else "nobody waits"
        return {
            "finding": finding, "published": published, **Estimate(math.nan).columns("ours_pct"),
            "says": why,
        }  # fmt: skip
    idle = study.nobody_waits and measure == "mean_jct_s"
    return {
        "finding": finding,
        "published": published,
        **found.columns("ours_pct"),
        "says": "hardly anybody waits here" if idle else _says(found),
    }


def _says(found: Estimate) -> str:
    sure = found.known and (found.low >= 0 or found.high < 0)
    if found.value >= 0:
        return "contradicted here: no gain" if sure else "no gain here, not certain"
    return "same direction" if sure else "same direction, not certain"
