"""Replay a trace whose waits are known and score it: the steps of one validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prophase.result import Result
from prophase.sim.cluster import Cluster
from prophase.sim.measures.job_classes import groups_of
from prophase.sim.validation.result import never_limited, validation_result
from prophase.sim.validation.rules_trial import try_rules
from prophase.sim.validation.scheduler_clocks import replay_clocks
from prophase.sim.validation.verdict import Thresholds
from prophase.sim.validation.wait_validation import Validation, validate, without_outcomes
from prophase.sim.workload import Workload
from prophase.trace.trace_tables import Trace


@dataclass(frozen=True)
class Scoring:
    """Which jobs are scored, how, and how often the trace is replayed.

    Attributes
    ----------
    clocks : int
        Replays, the scheduler's clock beginning at other instants; 0: as many as its queue needs.
    learn_rules : bool
        Learn the rules of the site from the first half of the log and score the second.
    """

    by: str = "class"
    clocks: int = 0
    warm_up_s: float = 0.0
    score_first: int | None = None
    score_ids: Sequence[str] | None = None
    thresholds: Thresholds | None = None
    learn_rules: bool = False
    time_zone: str = "UTC"
    seed: int = 0


def check_replay(
    trace: Trace,
    cluster: Cluster,
    policy: Mapping[str, Any],
    scoring: Scoring,
    progress: Callable[[str, float | None], None],
) -> tuple[Validation, Result]:
    """Replay a trace without seeing when its jobs started, and compare waits."""
    workload = Workload.from_jobs(without_outcomes(trace.jobs))
    groups_of(workload, scoring.by)  # a wrong name is told before the work begins
    trial, wanted = None, scoring.score_ids
    if scoring.learn_rules:
        trial = try_rules(
            trace.jobs, cluster, dict(policy), warm_up_s=scoring.warm_up_s,
            time_zone=scoring.time_zone, progress=progress,
        )  # fmt: skip
        schedule, others, wanted = trial.schedule, [], trial.second
    else:
        progress("replaying it", None)
        schedule, *others = replay_clocks(workload, cluster, dict(policy), scoring.clocks)
    progress("comparing waits", None)
    found = validate(
        trace.jobs,
        schedule,
        others=others,
        by=scoring.by,
        score_first=scoring.score_first,
        score_ids=wanted,
        warm_up_s=scoring.warm_up_s,
        thresholds=scoring.thresholds,
        random_state=scoring.seed,
    )
    origin = {"nodes": len(cluster), "gpus": cluster.gpus, "policy": dict(policy)}
    result = validation_result(found, trial, **origin, data_hash=trace.data_hash)
    return found, result.noted(*never_limited(schedule))
