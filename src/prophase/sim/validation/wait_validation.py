"""The waits of a replay that cannot peek beside those the trace recorded, class by class."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, ParameterError
from prophase.plain import finite
from prophase.sim.cluster import PLENTY
from prophase.sim.measures.job_classes import groups_of
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import ASK_CPU, ASK_GPUS, CPU, Floats
from prophase.sim.theory_comparison import TheoryComparison, beside_theory, schedule_beside_theory
from prophase.sim.validation.verdict import ClassVerdict, Thresholds, judge
from prophase.sim.validation.wait_scores import WaitScores, score_waits
from prophase.trace.schema import JOBS

#: what is known only afterwards and yet belongs to the job, not to the schedule
_KEPT = ("duration_s", "status")


def without_outcomes(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs as they were submitted, with their run times.

    Starts, ends, waits and every ``after_`` column are gone; a policy that asks for one is
    refused. Jobs whose submit time is missing go too: their start must not stand in for it.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a"], "submit_s": [0.0], "duration_s": [9.0]})
    >>> list(without_outcomes(jobs.assign(start_s=5.0, after_nodes="n1")).columns)
    ['job_id', 'submit_s', 'duration_s']
    """
    if "submit_s" not in jobs or not jobs["submit_s"].notna().any():
        raise InputError(
            "the job table has no submit times (submit_s): what a job waited is not known, and "
            "replaying recorded starts would prove nothing."
        )
    decided = [
        name
        for name in jobs.columns
        if (column := JOBS.get(name)) is not None and column.known == "after" and name not in _KEPT
    ]
    return jobs[jobs["submit_s"].notna()].drop(columns=decided)


ALL = "all jobs"
#: fewer jobs have no quantiles worth a line
_LEAST_SCORED = 10


@dataclass(frozen=True)
class Validation:
    """How well a replay meets the trace.

    Attributes
    ----------
    jobs : DataFrame
        One row per scored job: class, submit time, observed and simulated wait.
    scores : dict
        Class -> scores; ``"all jobs"`` comes first.
    verdicts : tuple of ClassVerdict
        One per class, in the same order.
    utilisation : dict
        Resource -> (observed, simulated) busy share between first and last submission, where
        every job's start is known.
    left_out : dict
        Jobs that are not scored, counted by reason.
    theory : TheoryComparison or None
        Trace, simulation and queueing formulas side by side.
    """

    by: str
    jobs: pd.DataFrame
    scores: dict[str, WaitScores]
    verdicts: tuple[ClassVerdict, ...]
    thresholds: Thresholds
    utilisation: dict[str, tuple[float, float]]
    left_out: dict[str, int]
    notes: tuple[str, ...]
    theory: TheoryComparison | None
    theory_missing: str = ""

    @property
    def verdict(self) -> ClassVerdict:
        """Verdict on all jobs together."""
        return self.verdicts[0]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per class: observed beside simulated, distances, verdict."""
        rows = []
        for verdict in self.verdicts:
            row: dict[str, Any] = {"class": verdict.name, "jobs": verdict.jobs}
            found = self.scores.get(verdict.name)
            if found is not None:
                rank = found.rank_correlation
                row |= {
                    "observed_mean_s": found.observed_mean_s,
                    "simulated_mean_s": found.simulated_mean_s,
                    "error_pct": finite(100 * found.mean_error.value),
                    **{
                        f"{name}_{side}_s": values[name]
                        for name in found.observed_s
                        for side, values in (
                            ("observed", found.observed_s),
                            ("simulated", found.simulated_s),
                        )
                    },
                    "ks": found.ks.value,
                    "rank_correlation": None if rank is None else rank.value,
                }
            row["valid"] = {True: "yes", False: "no", None: "cannot tell"}[verdict.valid]
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single jobs as JSON knows it."""
        return {
            "by": self.by,
            "thresholds": asdict(self.thresholds),
            "scores": {name: asdict(found) for name, found in self.scores.items()},
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            "utilisation": {
                name: {"observed": observed, "simulated": simulated}
                for name, (observed, simulated) in self.utilisation.items()
            },
            "left_out": self.left_out,
            "notes": list(self.notes),
            "theory": self.theory.to_dict() if self.theory else {"missing": self.theory_missing},
        }


def validate(
    trace_jobs: pd.DataFrame,
    schedule: Schedule,
    *,
    others: Sequence[Schedule] = (),
    by: str = "class",
    score_first: int | None = None,
    score_ids: Collection[str] | None = None,
    warm_up_s: float = 0.0,
    thresholds: Thresholds | None = None,
    theory: bool = True,
    draws: int = 300,
    random_state: int = 0,
) -> Validation:
    """Compare a replay with what the trace says happened.

    The replay must not have seen the outcome: make its workload from
    ``without_outcomes(trace_jobs)``.

    Parameters
    ----------
    trace_jobs : DataFrame
        The trace's job table, with ``wait_s`` or ``start_s`` and ``submit_s``.
    schedule : Schedule
        A replay of these jobs; jobs are matched by ``job_id``.
    others : sequence of Schedule, optional
        Further replays of the same jobs, where the model leaves something to chance: each job's
        simulated wait is the mean over all replays.
    by : str, default="class"
        Classes to score apart: ``"class"`` (short or long x GPUs), ``"gpus"``, or a column.
    score_first : int, optional
        Score only the jobs submitted first; all take part in the replay.
    score_ids : collection of str, optional
        Score only these jobs.
    warm_up_s : float, default=0
        Jobs submitted in the first so many seconds are not scored: a real cluster is not empty
        when its log begins.

    Examples
    --------
    >>> from prophase.sim import Cluster, Workload, simulate
    >>> from prophase.sim.validation.wait_validation import without_outcomes
    >>> jobs = pd.DataFrame({"job_id": [f"j{i}" for i in range(200)]})
    >>> jobs["submit_s"], jobs["duration_s"], jobs["request_gpus"] = 60.0 * jobs.index, 90.0, 1.0
    >>> jobs["wait_s"] = 30.0 * jobs.index
    >>> replay = simulate(Workload.from_jobs(without_outcomes(jobs)), Cluster.uniform(1, 1))
    >>> validate(jobs, replay).verdict.valid
    True
    """
    limits = thresholds or Thresholds()
    workload = schedule.workload
    observed = _observed(trace_jobs).reindex(workload.jobs["job_id"].astype(str)).to_numpy()
    # a job that was interrupted counts until its first start, as the trace's wait does
    simulated = np.mean([one.start_s for one in (schedule, *others)], axis=0) - workload.submit_s
    known, left_out = _to_score(schedule, observed, simulated, score_first, score_ids, warm_up_s)
    groups = groups_of(workload, by)
    names = np.array(groups.names)[groups.code]
    table = pd.DataFrame(
        {
            "job_id": workload.jobs["job_id"].astype(str),
            "class": names,
            "submit_s": workload.submit_s,
            "observed_s": observed,
            "simulated_s": simulated,
        }
    )[known].reset_index(drop=True)
    scores: dict[str, WaitScores] = {}
    verdicts = []
    for name in [ALL, *(n for n in groups.names if (table["class"] == n).any())]:
        rows = table if name == ALL else table[table["class"] == name]
        if len(rows) >= _LEAST_SCORED:
            scores[name] = score_waits(
                rows["submit_s"].to_numpy(),
                rows["observed_s"].to_numpy(),
                rows["simulated_s"].to_numpy(),
                negligible_s=limits.negligible_s,
                draws=draws,
                random_state=random_state,
            )
        verdicts.append(judge(name, len(rows), scores.get(name), limits))
    beside, why = _theory(schedule, observed) if theory else (None, "not asked for")
    return Validation(
        by=by,
        jobs=table,
        scores=scores,
        verdicts=tuple(verdicts),
        thresholds=limits,
        utilisation=_utilisation(schedule, observed),
        left_out=left_out,
        notes=schedule.notes,
        theory=beside,
        theory_missing=why,
    )


def _observed(jobs: pd.DataFrame) -> pd.Series:
    """Return the recorded wait of each job, by its id."""
    if jobs["job_id"].duplicated().any():
        twice = jobs.loc[jobs["job_id"].duplicated(), "job_id"].iloc[0]
        raise InputError(f"job_id {twice} names several jobs: waits cannot be matched by it.")
    waits = pd.Series(np.nan, jobs.index)
    if "wait_s" in jobs:
        waits = jobs["wait_s"].astype(float)
    if "start_s" in jobs and "submit_s" in jobs:
        waits = waits.fillna(jobs["start_s"].astype(float) - jobs["submit_s"].astype(float))
    if not waits.notna().any():
        raise InputError(
            "the trace does not say how long jobs waited (wait_s, or start_s and submit_s): there "
            "is nothing to validate against."
        )
    return pd.Series(waits.to_numpy(float), jobs["job_id"].astype(str))


def _to_score(
    schedule: Schedule,
    observed: Floats,
    simulated: Floats,
    score_first: int | None,
    score_ids: Collection[str] | None,
    warm_up_s: float,
) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Choose the jobs to score; count the others by the first reason that applies."""
    workload = schedule.workload
    ids = workload.jobs["job_id"].astype(str)
    place = np.argsort(np.argsort(workload.submit_s, kind="stable"), kind="stable")
    first = workload.submit_s.min()
    reasons: dict[str, NDArray[np.bool_]] = {
        "no recorded wait": np.isnan(observed),
        "recorded start before submission": observed < 0,
        "never started in the simulation": ~np.isfinite(simulated),
        "submitted during warm-up": workload.submit_s < first + warm_up_s,
    }
    if score_first is not None:
        if score_first < 1:
            raise ParameterError(f"score_first is {score_first}: score at least one job.")
        reasons[f"not among the first {score_first:,}"] = place >= score_first
    if score_ids is not None:
        wanted = {str(one) for one in score_ids}
        strangers = wanted - set(ids)
        if strangers:
            raise ParameterError(
                f"{len(strangers):,} of the jobs to score are not in the replay, such as "
                f"{sorted(strangers)[0]}."
            )
        reasons["not among those asked for"] = ~ids.isin(wanted).to_numpy()
    scored = np.ones(len(workload), bool)
    counts = {}
    for reason, rows in reasons.items():
        hit = scored & rows
        if hit.any():
            counts[reason] = int(hit.sum())
        scored &= ~rows
    if not scored.any():
        told = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        raise InputError(f"no job is left to score: {told}.")
    return scored, counts


def _utilisation(schedule: Schedule, observed: Floats) -> dict[str, tuple[float, float]]:
    """Return busy shares between first and last submission, for what the cluster states."""
    workload, cluster = schedule.workload, schedule.cluster
    if np.isnan(observed).any():
        return {}
    cores = cluster.matrix[:, CPU]
    pools = {
        "gpus": (workload.gpus, float(cluster.gpus)),
        "cores": (workload.cores, float(cores.sum()) / 1000 if (cores < PLENTY).all() else 0.0),
    }
    begin, end = float(workload.submit_s.min()), float(workload.submit_s.max())
    found = {}
    for name, (need, capacity) in pools.items():
        if capacity <= 0 or end <= begin or not need.any():
            continue
        busy = []
        for wait in (observed, schedule.start_s - workload.submit_s):
            start = workload.submit_s + wait
            inside = np.clip(start + workload.duration_s, begin, end) - np.clip(start, begin, end)
            busy.append(float(np.nansum(inside * need)) / (capacity * (end - begin)))
        found[name] = (busy[0], busy[1])
    return found


def _theory(schedule: Schedule, observed: Floats) -> tuple[TheoryComparison | None, str]:
    """Return trace, simulation and formulas side by side, or why that cannot be."""
    workload = schedule.workload
    told = workload.jobs.assign(
        wait_s=observed, submit_s=workload.submit_s, duration_s=workload.duration_s
    )
    cores = schedule.cluster.matrix[:, CPU]
    mostly_cpu = (workload.asks[:, ASK_GPUS] == 0).mean() > 0.5
    try:
        if mostly_cpu and workload.asks[:, ASK_CPU].any() and (cores < PLENTY).all():
            servers = int(cores.sum()) // 1000
            return beside_theory(told, schedule.wait_s, servers, resource="cores"), ""
        return schedule_beside_theory(replace(schedule, workload=replace(workload, jobs=told))), ""
    except InputError as cause:
        return None, str(cause)
