"""prophase whatif: what would change with other nodes, jobs, policies or requests?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, emit, finite, progress_bar
from prophase.cli.replay_options import ClusterSettings, ReplaySettings
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import (
    BLOCK,
    GoalOption,
    LoadOption,
    SeedsOption,
    SizingOption,
    WorkersOption,
)
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError

if TYPE_CHECKING:
    from prophase.sim.whatif.comparison import ScenarioComparison
    from prophase.sim.whatif.scenarios import Scenario, WhatIfQuestion
    from prophase.sim.whatif.smallest_cluster import SmallestCluster


@dataclass(frozen=True)
class Changes:
    """What is compared with the baseline."""

    add: Annotated[
        list[str] | None,
        typer.Option(help="More nodes: 16xA10 (like those there are) or '16x8 A10'; repeatable."),
    ] = None
    remove: Annotated[
        list[str] | None, typer.Option(help="Fewer nodes, e.g. 10xT4; repeatable.")
    ] = None
    load: LoadOption = None
    policy: Annotated[
        str | None, typer.Option(help="order[:place[:queue]], e.g. shortest,fifo:fgd:strict.")
    ] = None
    sharing: Annotated[
        str | None,
        typer.Option(help="on: baseline gives whole GPUs, scenario the shares asked; off: reverse"),
    ] = None
    requests: Annotated[
        Path | None,
        typer.Option(help="Table of requests by job_id, or by user, task ... (.csv, .parquet)."),
    ] = None
    sizing: SizingOption = None
    combine: Annotated[
        bool, typer.Option("--combine", help="One more scenario: everything together.")
    ] = False


def command(
    path: TraceArgument,
    cluster: ClusterSettings,
    replay: ReplaySettings,
    changes: Changes,
    source: SourceOption = None,
    goal: GoalOption = None,
    measure: Annotated[str, typer.Option(help="Measure that ranks.")] = "mean_wait_s",
    seeds: SeedsOption = 10,
    block: Annotated[str, BLOCK, Formerly("--block-h")] = "24h",
    workers: WorkersOption = "0",
    format: FormatOption = Format.table,
) -> None:
    """Compare changes with a baseline, each on its own, on the same jobs.

    Every scenario is replayed on the trace as recorded and on --seeds traces whose days are
    drawn from it anew. Differences are paired and carry 95 % intervals.

    Examples:

    `prophase whatif ws --cluster 20x8 --add 4x8 --load 1.3 --policy shortest`

    `prophase whatif ws --add 16xA10 --requests advised.csv --combine --leave-out-unfit`

    `prophase whatif ws --sizing default,advice.json --measure gib_hours.allocated`

    `prophase whatif ws --cluster 20x8 --policy shortest --goal 'p95 wait < 15 min'`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sim import Workload
    from prophase.sim.whatif.comparison import compare_scenarios, runnable_scenarios
    from prophase.sim.whatif.scenarios import scenarios_of
    from prophase.sim.whatif.smallest_cluster import parse_wait_target, smallest_clusters
    from prophase.workers import parse_workers

    question = _question(changes)
    sizings = [item.strip() for item in changes.sizing.split(",")] if changes.sizing else []
    promise = parse_wait_target(goal) if goal else None
    if promise is None and question.is_empty and not sizings:
        raise ParameterError(
            "nothing to compare with the baseline. Add an option such as --add 4x8, --load 1.3, "
            "--policy shortest, --sizing default or --goal 'p95 wait < 15 min'."
        )
    base = replay.values()
    leave_out_unfit = base.pop("leave_out_unfit")
    block_h = units.parse_duration(block, bare="h", where="--block", positive=True) / 3600
    run: dict[str, Any] = {
        "seeds": seeds,
        "block_h": block_h,
        "workers": parse_workers(workers),
    }
    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(path, source=source)
        workload = Workload.from_jobs(trace.jobs)
        machines = cluster.of(trace, path, source)
        said: list[str] = []
        if sizings:
            from prophase.study.request_scenarios import sizings_of

            sized, said = sizings_of(
                trace.jobs, sizings, show=lambda name: progress(f"sizing jobs: {name}", None)
            )
            question = replace(question, sizings=sized)
        scenarios, remarks = scenarios_of(question, workload, machines, base)
        remarks += said
        scenarios = runnable_scenarios(scenarios, leave_out_unfit=leave_out_unfit)

        def shown(what: str) -> Callable[[int, int], None]:
            return lambda done, total: progress(f"{done} of {total} {what}", 100 * done / total)

        compared = compare_scenarios(scenarios, progress=shown("replays"), **run)
        sizes = (
            smallest_clusters(scenarios, promise, progress=shown("searches"), **run)
            if promise
            else None
        )
    _report(
        compared,
        scenarios,
        measure,
        seeds,
        block_h,
        trace.data_hash,
        goal,
        sizes,
        remarks,
        format,
    )


def _question(asked: Changes) -> WhatIfQuestion:
    from prophase.sim.request_variants import read_requests
    from prophase.sim.whatif.scenarios import WhatIfQuestion

    if asked.sharing not in (None, "on", "off"):
        raise ParameterError(f"--sharing {asked.sharing}: is on or off.")
    try:
        loads = [float(item) for item in asked.load.split(",")] if asked.load else []
    except ValueError as cause:
        raise ParameterError(f"--load {asked.load}: is not a number, such as 1.3.") from cause
    return WhatIfQuestion(
        add=tuple(asked.add or ()),
        remove=tuple(asked.remove or ()),
        loads=tuple(loads),
        policies=tuple(item.strip() for item in asked.policy.split(",")) if asked.policy else (),
        sharing=None if asked.sharing is None else asked.sharing == "on",
        requests=read_requests(asked.requests) if asked.requests else None,
        requests_name=asked.requests.name if asked.requests else "requests",
        combine=asked.combine,
    )


def _report(
    compared: ScenarioComparison,
    scenarios: list[Scenario],
    measure: str,
    seeds: int,
    block_h: float,
    data_hash: str,
    target: str | None,
    sizes: list[SmallestCluster] | None,
    remarks: list[str],
    format: Format,
) -> None:
    from prophase.sim.results import comparison_values, smallest_cluster_values

    document = comparison_values(
        compared,
        scenarios,
        measure=measure,
        seeds=seeds,
        block_h=block_h,
        data_hash=data_hash,
        remarks=remarks,
    )
    rows, remarks = document["rows"], document["remarks"]
    size_rows = [smallest_cluster_values(one) for one in sizes or []]
    if sizes is not None:
        document |= {"target": target, "smallest": size_rows}
    plain = [{str(key): value for key, value in row.items()} for row in finite(rows)]
    csv_rows = plain
    if format is Format.csv and sizes is not None:
        csv_rows = [row | size for row, size in _joined(plain, finite(size_rows))]
    emit(csv_rows, format, document=finite(document), remarks=remarks)
    if sizes is not None and format is Format.table:
        typer.echo(f"\nFewest nodes for: {target}\n")
        why = [
            f"{one.scenario}: no size reaches it: {one.why_not}." for one in sizes if one.why_not
        ]
        shown = [{name: row[name] for name in row if name != "why_not"} for row in size_rows]
        emit(
            shown,
            format,
            remarks=[
                *why,
                "nodes, gpus: on the trace as recorded; nodes_mean: over resampled traces; "
                "nodes_safe: enough on every one of them.",
            ],
        )


def _joined(
    rows: list[dict[str, Any]], sizes: list[dict[str, Any]]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Put what a target needs beside each scenario, under names of its own."""
    by_name = {size["scenario"]: size for size in sizes}
    return [
        (
            row,
            {
                f"target_{name}": value
                for name, value in by_name[row["scenario"]].items()
                if name != "scenario"
            },
        )
        for row in rows
    ]
