"""prophase schedule-study: what are predictions worth in the queue?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    progress_bar,
    show_result,
    typed_command,
    write_report,
)
from prophase.cli.replay_options import ByOption, ClusterOption, QueueSettings
from prophase.cli.shared_options import MOST_JOBS, MethodsOption, ReportOption, ResampleSettings
from prophase.cli.split_options import TestShareOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import MissingColumnError, ParameterError, not_among

if TYPE_CHECKING:
    pass


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
    from prophase.result import DataUsed
    from prophase.study.cluster import machines
    from prophase.study.scheduling.comparison import require_cluster, schedule_study
    from prophase.study.scheduling.report import schedule_study_result
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
    data = DataUsed(str(path), len(jobs), trace.data_hash, dropped=study.left_out)
    result = schedule_study_result(
        study, data=data, command=typed_command(), classes=classes, earlier_jobs=left
    )
    show_result(result, format)
    if report is not None:
        write_report(result, report)


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
