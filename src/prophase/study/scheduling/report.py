"""A study of schedules as a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from prophase.study.report.charts import Chart
from prophase.study.report.parts import DataUsed, Measure, Reproduction, ResultTable, Step
from prophase.study.report.report import Finding, Report
from prophase.study.scheduling.comparison import ScheduleStudy, published_beside
from prophase.study.scheduling.policies import FIFO, ORACLE, PolicyResult


def schedule_report(study: ScheduleStudy, *, data: DataUsed, command: str = "") -> Report:
    """Return the report of a study of schedules."""
    best = best_predicted(study)
    return Report(
        title="Would predictions shorten the queue?",
        question=(
            f"How much of what perfect knowledge of run times would save do our predictions keep, "
            f"on {study.jobs:,} jobs that no predictor had learnt from?"
        ),
        answer=sentence(study),
        verdict="good" if best is not None and best.kept_pct > 0 else "note",
        facts=[] if best is None else [_kept(best), _change(best), _change_of_p99(best)],
        data=[data],
        method=[
            f"Predictors learnt from the {study.learnt_jobs:,} earlier jobs; each later job was "
            "foretold as of its submission, from whatever had ended by then.",
            "The later jobs were replayed on the same cluster under every policy, as recorded and "
            f"on {study.seeds} traces whose blocks of time were drawn anew, the same for all "
            "policies. Kept is the share of the gain of knowing all run times over fifo.",
        ],
        findings=schedule_findings(study),
        valid_for=["the order of the policies on this cluster at this load"],
        not_valid_for=["another load: with shorter queues every gain shrinks, with longer ones it "
                       "grows"],
        limits=[
            *study.notes,
            "Shortest first by run time is no bound where jobs differ in GPUs: an order may keep "
            "more than 100 %.",
        ],
        apply=[
            Step("Try other loads and clusters:", "prophase sweep HISTORY --load 0.8,1,1.2"),
            Step("Ask for a prediction of a job:", "prophase ask job.yaml --workspace HISTORY"),
        ],
        reproduce=Reproduction(command, {"replays and predictors": study.settings["seed"]},
                               study.settings) if command else None,
    )  # fmt: skip


def sentence(study: ScheduleStudy) -> str:
    """Say what predictions are worth in the queue."""
    fifo, oracle, best = study.of(FIFO), study.of(ORACLE), best_predicted(study)
    if fifo is None or oracle is None or best is None:
        return "No predictor could answer on this trace."
    if not math.isfinite(best.kept_pct):
        whole = (
            "hardly shortens that" if study.nobody_waits or math.isnan(oracle.change_pct_low) else
            f"would change the mean completion time by {oracle.change_pct:.1f} % "
            f"({oracle.change_pct_low:.1f} to {oracle.change_pct_high:.1f}), which may be nothing"
        )  # fmt: skip
        return (
            f"Nothing to gain for sure: with fifo jobs wait {fifo.mean_wait_s:,.0f} s on average, "
            f"and knowing every run time {whole}."
        )
    span = "" if not math.isfinite(best.kept_pct_low) else (
        f" ({best.kept_pct_low:.0f} to {best.kept_pct_high:.0f} %)"
    )  # fmt: skip
    return (
        f"Ordering by predicted run times ({best.policy.removeprefix('shortest, predicted by ')}) "
        f"keeps {best.kept_pct:.0f} %{span} of the oracle's gain: the mean completion time goes "
        f"from {fifo.mean_jct_s:,.0f} to {best.mean_jct_s:,.0f} s, with true run times to "
        f"{oracle.mean_jct_s:,.0f} s. The wait that one job in a hundred exceeds goes from "
        f"{fifo.p99_wait_s:,.0f} to {best.p99_wait_s:,.0f} s."
    )


def best_predicted(study: ScheduleStudy) -> PolicyResult | None:
    """Return the first predictor's row: the default, not the luckiest."""
    return next(
        (one for one in study.overall if one.kind == "order" and "predicted by" in one.policy), None
    )


def schedule_findings(study: ScheduleStudy) -> list[Finding]:
    """Return the parts of the result, also for reports that hold more."""
    overall = [one.to_dict() for one in study.overall]
    classes = [one.to_dict() for one in study.results if one.of != "all jobs"]
    kept = [row for row in overall if row["kept_pct"] is not None and row["policy"] != FIFO]
    tail = [row for row in overall if row["p99_change_pct"] is not None]
    charts = [
        Chart("kept-gain", "Gain of knowing all run times that is kept", "intervals", kept,
              x="policy", y=["kept_pct"], unit="gain kept, %", reference=100.0),
    ] if kept else []  # fmt: skip
    charts.append(
        Chart("completion", "Mean completion time by policy", "bars", overall, x="policy",
              y=["mean_jct_s"], unit="s")
    )  # fmt: skip
    if tail:
        charts.append(
            Chart("tail", "Wait that one job in a hundred exceeds, against fifo", "intervals", tail,
                  x="policy", y=["p99_change_pct"], unit="change, %", reference=0.0)
        )  # fmt: skip
    found = [
        Finding(
            "Every policy on the same jobs", [sentence(study)],
            [ResultTable([_shown(row, ()) for row in overall],
                         "Times in seconds; changes against fifo, 95 % intervals"),
             ResultTable([_shown(row, ("of", "jobs")) for row in classes],
                         "The same per class of jobs")],
            charts,
        ),
        Finding(
            "Beside the NSDI 2022 study of PAI",
            ["Their cluster, load and jobs are others; what can agree is the direction."],
            [ResultTable(published_beside(study), "Published and ours")],
        ),
    ]  # fmt: skip
    if study.scores:
        table = ResultTable(study.scores, "On the same later jobs, as of submission")
        found.append(Finding("How good the predictions are", [], [table]))
    return found


def _shown(row: dict[str, Any], more: Sequence[str]) -> dict[str, Any]:
    """Return what a table has room for, what matters most first."""
    parts = [name for name in row if name.startswith(("change_pct", "kept_pct"))]
    tail = [name for name in row if name.startswith(("p99_change_pct", "p99_kept_pct"))]
    names = ["policy", *more, "mean_jct_s", *parts, "mean_wait_s", "p99_wait_s", *tail]
    return {name: row[name] for name in names}


def _change_of_p99(best: PolicyResult) -> Measure:
    low, high = _pair(best.p99_change_pct_low, best.p99_change_pct_high)
    value = best.p99_change_pct
    return Measure("p99 wait against fifo", value if math.isfinite(value) else None, "%", low, high)


def _kept(best: PolicyResult) -> Measure:
    low, high = _pair(best.kept_pct_low, best.kept_pct_high)
    value = best.kept_pct if math.isfinite(best.kept_pct) else None
    return Measure("of the oracle's gain kept", value, "%", low, high)


def _change(best: PolicyResult) -> Measure:
    low, high = _pair(best.change_pct_low, best.change_pct_high)
    return Measure("mean completion time against fifo", best.change_pct, "%", low, high)


def _pair(low: float, high: float) -> tuple[float | None, float | None]:
    return (low, high) if math.isfinite(low) else (None, None)
