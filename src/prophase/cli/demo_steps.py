"""The steps of the demo that learn and replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from prophase.trace.loading import Trace

#: jobs that profiles are made of
_PROFILED = 10_000
_METHODS = ("default", "backoff-median", "user-median", "global-median")
_SHOWN = ("median_ape_pct", "within_20_pct", "within_x2_pct", "r2_log", "coverage_90_pct")
_ORDERS = (
    ("strict", "fifo"),
    ("skip", "fifo"),
    ("skip", "smallest_gpu_time"),
    ("skip", "shortest predicted"),
    ("skip", "shortest"),
)


@dataclass(frozen=True)
class Predicted:
    """How well durations were predicted, and a prediction for every job of the trace."""

    scores: list[dict[str, Any]]
    predicted_s: pd.Series

    def sentence(self) -> str:
        """Return the main score in a line."""
        best, plain = self.scores[0], self.scores[-1]
        return (
            f"durations predicted within a factor of two: {best['within_x2_pct']:.0f} % of jobs "
            f"(always saying the median: {plain['within_x2_pct']:.0f} %)"
        )


def group_jobs(jobs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the profiles of completed jobs, the largest first."""
    from prophase.profile.clusters import WorkloadProfiler

    done = jobs[jobs["status"] == "completed"]
    profiler = WorkloadProfiler().fit(done.sample(min(len(done), _PROFILED), random_state=0))
    found = [one for one in profiler.profiles_ if not one.outliers]
    return [
        {"profile": one.profile, "jobs": one.n, "share_pct": 100 * one.share,
         "what": one.sentence().split("; ", 1)[-1]}
        for one in sorted(found, key=lambda one: -one.n)
    ]  # fmt: skip


def predict_durations(jobs: pd.DataFrame) -> Predicted:
    """Judge predictions on the last quarter of the trace; nothing is predicted from itself."""
    from prophase.profile.predict.evaluation import evaluate
    from prophase.profile.predict.methods import predictor_named
    from prophase.trace.split import split_by_time

    split = split_by_time(jobs, test_share=0.25)
    early, late = jobs.iloc[split.train], jobs.iloc[split.test]
    found = evaluate(early, late, _METHODS, online=True)
    scores = [
        {"method": name, **{key: measures[key] for key in _SHOWN}}
        for name, measures in found.methods.items()
    ]
    # jobs that the default has learnt from are answered by medians of what had ended before them
    looked_up = predictor_named("backoff-median").fit(early).predict(jobs, as_of="submit")["value"]
    answers = found.answers["default"]["value"].reindex(jobs.index).fillna(looked_up)
    return Predicted(scores, answers.fillna(answers.median()))


def replay(trace: Trace, predicted: Predicted | None) -> list[dict[str, Any]]:
    """Return waits under several queue orders, one of them by predicted durations."""
    from prophase.sim import Cluster, Workload, simulate

    jobs = trace.jobs
    if predicted is not None:
        jobs = jobs.assign(predicted_s=predicted.predicted_s)
    workload, cluster = Workload.from_jobs(jobs), Cluster.from_nodes(trace.nodes)
    rows = []
    for queue, order in _ORDERS:
        if order == "shortest predicted" and predicted is None:
            continue
        chosen = "column:predicted_s" if order == "shortest predicted" else order
        schedule = simulate(workload, cluster, order=chosen, queue=queue, leave_out_unfit=True)
        measured = schedule.metrics()
        rows.append(
            {
                "queue": queue,
                "order": order,
                "mean_wait_s": measured["mean_wait_s"],
                "p99_wait_s": measured["p99_wait_s"],
                "mean_jct_s": measured["mean_jct_s"],
                "gpu_utilisation_pct": measured["gpu_utilisation_pct"],
            }
        )
    return rows
