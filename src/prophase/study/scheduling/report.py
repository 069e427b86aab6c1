"""A study of schedules as a report."""

from __future__ import annotations

import math
from collections.abc import Sequence

from prophase import units
from prophase.json_types import JsonObject
from prophase.result import Chart, DataUsed, Fact, NextStep, Provenance, Result, Section, Table
from prophase.stats import Estimate
from prophase.study.scheduling.comparison import ScheduleStudy, published_beside
from prophase.study.scheduling.policies import FIFO, ORACLE, PolicyResult

#: so many percent of the oracle's gain are most of it
_MOST_OF_IT = 80


def schedule_study_result(
    study: ScheduleStudy,
    *,
    data: DataUsed,
    command: str = "",
    classes: bool = False,
    earlier_jobs: int = 0,
) -> Result:
    """Return what a study of schedules found.

    Parameters
    ----------
    data : DataUsed
        The history it was made on.
    classes : bool
        Whether rows are per class of jobs, too.
    earlier_jobs : int
        Jobs that were left out because they are too early.
    """
    shown = study.results if classes else study.overall
    best = best_predicted(study)
    return Result(
        "schedule-study",
        title="Would predictions shorten the queue?",
        question=(
            f"How much of what perfect knowledge of run times would save do our predictions keep, "
            f"on {study.jobs:,} jobs that no predictor had learnt from?"
        ),
        answer=sentence(study),
        tone="good" if best is not None and best.kept_pct.value > 0 else "note",
        facts=[] if best is None else _facts(best),
        data=[data],
        method=[
            f"Predictors learnt from the {study.learnt_jobs:,} earlier jobs; each later job was "
            "predicted as of its submission, from whatever had ended by then.",
            "The later jobs were replayed on the same cluster under every policy, as recorded and "
            f"on {study.seeds} traces with resampled blocks of time, the same for all "
            "policies. Kept is the share of the gain of knowing all run times over fifo.",
        ],
        sections=schedule_sections(study),
        tables=[Table("policies", [_row(one, classes) for one in shown])],
        notes=_notes(study, earlier_jobs),
        records=[one.to_dict() for one in shown],
        values={"data_hash": data.data_hash, **study.to_dict()},
        valid_for=["the order of the policies on this cluster at this load"],
        not_valid_for=["another load: with shorter queues every gain shrinks, with longer ones it "
                       "grows"],
        limits=[
            *study.notes,
            "Shortest first by run time is no bound where jobs differ in GPUs: an order may keep "
            "more than 100 %.",
        ],
        next_steps=[
            NextStep("Try other loads and clusters:", "prophase sweep HISTORY --load 0.8,1,1.2"),
            NextStep("Ask for a prediction of a job:", "prophase ask job.yaml --workspace HISTORY"),
        ],
        provenance=Provenance(command, {"replays and predictors": study.settings["seed"]},
                              study.settings) if command else None,
    )  # fmt: skip


def sentence(study: ScheduleStudy) -> str:
    """Say what predictions are worth in the queue."""
    fifo, oracle, best = study.of(FIFO), study.of(ORACLE), best_predicted(study)
    if fifo is None or oracle is None or best is None:
        return "No predictor could answer on this trace."
    if not math.isfinite(best.kept_pct.value):
        change = oracle.change_pct
        whole = (
            "hardly shortens that" if study.nobody_waits else
            "would change the mean completion time by "
            f"{units.estimate(change.value, change.low, change.high, '%')}, which may be nothing"
        )  # fmt: skip
        return (
            f"Nothing to gain for sure: with fifo jobs wait {fifo.mean_wait_s:,.0f} s on average, "
            f"and knowing every run time {whole}."
        )
    kept = best.kept_pct
    span = f" ({kept.low:.0f} to {kept.high:.0f} %)" if kept.known else ""
    return _told_apart(kept) + (
        f"Ordering by predicted run times ({best.policy.removeprefix('shortest, predicted by ')}) "
        f"keeps {kept.value:.0f} %{span} of the oracle's gain: the mean completion time goes "
        f"from {fifo.mean_jct_s:,.0f} to {best.mean_jct_s:,.0f} s, with true run times to "
        f"{oracle.mean_jct_s:,.0f} s. The wait that one job in a hundred exceeds goes from "
        f"{fifo.p99_wait_s:,.0f} to {best.p99_wait_s:,.0f} s."
    )


def _told_apart(kept: Estimate) -> str:
    """Say first if days differ so much that most of the gain, or all, may be kept or lost."""
    if not kept.known or not kept.low < _MOST_OF_IT <= kept.high:
        return ""
    if kept.low <= 0 and kept.high >= 100:
        return (
            "Predicted run times cannot be told apart from fifo or from true run times here: days "
            "differ too much. "
        )
    return (
        f"Whether predicted run times keep {_MOST_OF_IT} % of the oracle's gain cannot be told: "
        "days differ too much. "
    )


def best_predicted(study: ScheduleStudy) -> PolicyResult | None:
    """Return the first predictor's row: the default, not the luckiest."""
    return next(
        (one for one in study.overall if one.kind == "order" and "predicted by" in one.policy), None
    )


def schedule_sections(study: ScheduleStudy) -> list[Section]:
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
        Section.told(
            "policies", "Every policy on the same jobs", [sentence(study)],
            [Table("policies", [_shown(row, ()) for row in overall],
                   "Times in seconds; changes against fifo, 95 % intervals"),
             Table("policies_by_class", [_shown(row, ("of", "jobs")) for row in classes],
                   "The same per class of jobs")],
            charts,
        ),
        Section.told(
            "published", "Beside the NSDI 2022 study of PAI",
            ["Their cluster, load and jobs are others; what can agree is the direction."],
            [Table("published", published_beside(study), "Published and ours")],
        ),
    ]  # fmt: skip
    if study.scores:
        table = Table("scores", study.scores, "On the same later jobs, as of submission")
        found.append(Section.told("scores", "How good the predictions are", [], [table]))
    return found


def _shown(row: JsonObject, more: Sequence[str]) -> JsonObject:
    """Return what a table has room for, what matters most first."""
    parts = [name for name in row if name.startswith(("change_pct", "kept_pct"))]
    tail = [name for name in row if name.startswith(("p99_change_pct", "p99_kept_pct"))]
    names = ["policy", *more, "mean_jct_s", *parts, "mean_wait_s", "p99_wait_s", *tail]
    return {name: row[name] for name in names}


def _facts(best: PolicyResult) -> list[Fact]:
    return [
        Fact("kept", "of the oracle's gain kept", best.kept_pct, "%"),
        Fact("mean_completion", "mean completion time against fifo", best.change_pct, "%"),
        Fact("p99_wait", "p99 wait against fifo", best.p99_change_pct, "%"),
    ]


def _row(one: PolicyResult, classes: bool) -> JsonObject:
    row: JsonObject = {"policy": one.policy}
    if classes:
        row["of"] = one.of
    return row | {
        "jobs": one.jobs,
        "mean_jct_s": one.mean_jct_s,
        "mean_wait_s": one.mean_wait_s,
        "p99_wait_s": one.p99_wait_s,
        "change_pct": _ranged(one.change_pct),
        "gain_kept_pct": _ranged(one.kept_pct),
        "p99_change_pct": _ranged(one.p99_change_pct),
    }


def _ranged(found: Estimate) -> str:
    return units.estimate(found.value, found.low, found.high)


def _here(row: JsonObject) -> str:
    value, low, high = (
        math.nan if row[key] is None else row[key]
        for key in ("ours_pct", "ours_pct_low", "ours_pct_high")
    )
    return units.estimate(value, low, high) + (" %" if math.isfinite(value) else "")


def _notes(study: ScheduleStudy, left: int) -> list[str]:
    said = [
        sentence(study),
        f"Learnt from {study.learnt_jobs:,} jobs, replayed {study.jobs:,} later ones, "
        f"{study.seeds} resampled traces; changes against fifo, 95 % intervals.",
        "",
        "NSDI 2022 (PAI):",
        *(
            f"  {row['finding']}: published {row['published']}, here {_here(row)}: {row['says']}"
            for row in published_beside(study)
        ),
        "",
        *study.notes,
    ]
    if left:
        said.append(f"The {left:,} earliest jobs are left out (--most-jobs).")
    return said + [f"Left out, {why}: {count:,} jobs." for why, count in study.left_out.items()]
