"""prophase schedule-study: what are predictions worth in the queue?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, emit, progress_bar, say, typed_command
from prophase.cli.replay_options import ByOption, ClusterOption, QueueSettings
from prophase.cli.shared_options import MOST_JOBS, MethodsOption, ReportOption, ResampleSettings
from prophase.cli.split_options import TestShareOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import MissingColumnError, ParameterError, not_among

if TYPE_CHECKING:
    from prophase.study.scheduling.comparison import ScheduleStudy
    from prophase.study.scheduling.policies import PolicyResult


def command(
    path: TraceArgument,
    replay: QueueSettings,
    runs: ResampleSettings,
    cluster: ClusterOption = None,
    methods: MethodsOption = "default,baselines",
    test_share: TestShareOption = "50%",
    by: ByOption = "class",
    classes: Annotated[bool, typer.Option("--classes", help="Show every class of jobs.")] = False,
    most_jobs: Annotated[int, MOST_JOBS] = 100_000,
    report: ReportOption = None,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Say how much of a perfect schedule's gain predictions keep.

    Learns from the earlier jobs and replays the later ones under first come first served,
    shortest true run time (which no scheduler knows) and shortest predicted by each predictor,
    beside GPU sharing, load balancing, and reserving and packing, on the same cluster.
    --cluster 90% takes as many nodes as the jobs keep that busy.

    Examples:

    `prophase schedule-study ws --cluster 100x8`

    `prophase schedule-study ws --methods all --queue strict --seeds 20 --report schedules`
    """
    from prophase.cli.provenance import open_trace
    from prophase.plots.report.page import report_page
    from prophase.plots.report.writing import write_report
    from prophase.study.cluster import machines
    from prophase.study.report.parts import DataUsed
    from prophase.study.scheduling.comparison import require_cluster, schedule_study
    from prophase.study.scheduling.report import schedule_report
    from prophase.workers import parse_workers

    names = _names(methods)
    share = units.parse_share(test_share, where="--test-share")
    with progress_bar() as show:
        show("reading", None)
        trace = open_trace(path, source=source, tables=["jobs", "nodes"])
        clock = next((c for c in ("submit_s", "start_s") if c in trace.jobs), None)
        if clock is None:
            raise MissingColumnError(
                f"{path}: says neither when jobs were submitted (submit_s) nor when they started "
                "(start_s): there is no queue to replay."
            )
        jobs = trace.jobs.sort_values(clock).tail(most_jobs)
        left = len(trace.jobs) - len(jobs)
        later = jobs.tail(max(1, round(share * len(jobs))))
        nodes = require_cluster(machines(trace, cluster, replayed=later))
        study = schedule_study(
            jobs,
            nodes,
            names,
            test_share=share,
            seeds=runs.seeds,
            by=by,
            policy=replay.values(),
            workers=parse_workers(runs.workers),
            seed=runs.seed,
            show=show,
        )
    shown = study.results if classes else study.overall
    rows = [_row(one, classes) for one in shown] if format is Format.table else [
        one.to_dict() for one in shown
    ]  # fmt: skip
    document = {"data_hash": trace.data_hash, **study.to_dict()}
    data = DataUsed(str(path), len(jobs), trace.data_hash, dropped=study.left_out)
    told = schedule_report(study, data=data, command=typed_command())
    emit(
        rows,
        format,
        document=document,
        remarks=_remarks(study, left),
        page=lambda: report_page(told),
    )
    if report is not None:
        say(f"Wrote {write_report(told, report)}.")


def _names(text: str) -> list[str]:
    from prophase.profile.predict.methods import BASELINES, METHODS

    found: list[str] = []
    for name in (one.strip() for one in text.split(",")):
        known = ["default", "baselines", "all", *METHODS]
        if name not in known:
            raise ParameterError(not_among(f"--methods: there is no {name!r}.", name, known))
        named = {"all": METHODS, "baselines": BASELINES}.get(name, (name,))
        found += [one for one in named if one not in found]
    return found


def _row(one: PolicyResult, classes: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"policy": one.policy}
    if classes:
        row["of"] = one.of
    return row | {
        "jobs": one.jobs,
        "mean_jct_s": one.mean_jct_s,
        "mean_wait_s": one.mean_wait_s,
        "p99_wait_s": one.p99_wait_s,
        "change_pct": _ranged(one.change_pct, one.change_pct_low, one.change_pct_high),
        "gain_kept_pct": _ranged(one.kept_pct, one.kept_pct_low, one.kept_pct_high),
        "p99_change_pct": _ranged(
            one.p99_change_pct, one.p99_change_pct_low, one.p99_change_pct_high
        ),
    }


def _ranged(value: float, low: float, high: float) -> str:
    return units.estimate(value, low, high)


def _here(row: dict[str, Any]) -> str:
    value, low, high = (
        math.nan if row[key] is None else row[key]
        for key in ("ours_pct", "ours_pct_low", "ours_pct_high")
    )
    return _ranged(value, low, high) + (" %" if math.isfinite(value) else "")


def _remarks(study: ScheduleStudy, left: int) -> list[str]:
    from prophase.study.scheduling.comparison import published_beside
    from prophase.study.scheduling.report import sentence

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
