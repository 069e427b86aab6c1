"""prophase whatif: what would change with other nodes, jobs, policies or requests?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    RowOutputs,
    progress_bar,
    show_result,
)
from prophase.cli.replay_options import SCALING, ClusterSettings, ReplaySettings
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import (
    GoalOption,
    LoadOption,
    PricesOption,
    SeedsOption,
    SizingOption,
    WorkersOption,
)
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError

if TYPE_CHECKING:
    from prophase.sim.whatif.purchase import NodeOffer
    from prophase.sim.whatif.scenarios import WhatIfQuestion


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
    pair: Annotated[
        str | None,
        typer.Option(
            help="Which jobs to pair on a GPU: usage, measured=PATH (Gavel's) or table=FILE (kind, "
            "neighbour, speed); then settings: 'usage,gain=1.2,kind_column=task'."
        ),
    ] = None
    scaling: Annotated[str | None, typer.Option(help=SCALING)] = None
    combine: Annotated[
        bool, typer.Option("--combine", help="One more scenario: everything together.")
    ] = False


@dataclass(frozen=True)
class Goal:
    """A promise about waiting, and what may be bought to keep it."""

    goal: GoalOption = None
    options: Annotated[
        Path | None,
        typer.Option(
            help="Kinds of nodes to buy (.csv: gpus, gpu_type, cpu_cores, memory_gib, and if you "
            "like name, price_per_hour, most); needs --goal."
        ),
    ] = None
    prices: PricesOption = None


def command(
    path: TraceArgument,
    cluster: ClusterSettings,
    replay: ReplaySettings,
    outputs: RowOutputs,
    changes: Changes,
    promise: Goal,
    source: SourceOption = None,
    measure: Annotated[str, typer.Option(help="Measure that ranks.")] = "mean_wait_s",
    seeds: SeedsOption = 10,
    block: Annotated[
        str,
        typer.Option(
            help="Time kept together in resampling, such as 7d; auto: as long as the backlog lasts."
        ),
        Formerly("--block-h"),
    ] = "auto",
    workers: WorkersOption = "0",
    format: FormatOption = Format.table,
) -> None:
    """Compare changes with a baseline, each on its own, on the same jobs.

    The change is that of the trace as recorded. Its 95 % interval comes from --seeds resampled
    traces, whose blocks are as long as the backlog lasts; where the trace is too short for
    that there is none, and the answer says so.

    Examples:

    `prophase whatif ws --cluster 20x8 --add 4x8 --load 1.3 --policy shortest --out changes.csv`

    `prophase whatif ws --add 16xA10 --requests requests.csv --combine --leave-out-unfit`

    `prophase whatif ws --sizing recommended,recommendation.json --measure gib_hours.allocated`

    `prophase whatif ws --cluster 20x8 --pair usage`

    `prophase whatif ws --cluster 60x8 --scaling floor=5,boot=10min`

    `prophase whatif ws --cluster 20x8 --policy shortest --goal 'p95 wait < 15 min'`

    `prophase whatif ws --target 'p95_wait<15min' --options nodes.csv --prices prices.toml`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sim import Workload
    from prophase.sim.whatif.result import what_if
    from prophase.sim.whatif.smallest_cluster import parse_wait_target
    from prophase.workers import parse_workers

    outputs.check(path)
    question = _question(changes)
    sizings = [item.strip() for item in changes.sizing.split(",")] if changes.sizing else []
    goal = promise.goal
    target = parse_wait_target(goal) if goal else None
    buys = _offers(promise)
    if target is None and question.is_empty and not sizings and not changes.pair:
        raise ParameterError(
            "nothing to compare with the baseline. Add an option such as --add 4x8, --load 1.3, "
            "--policy shortest, --sizing recommended or --goal 'p95 wait < 15 min'."
        )
    policy = replay.values()
    leave_out_unfit = policy.pop("leave_out_unfit")
    block_h = None
    if block != "auto":
        block_h = units.parse_duration(block, bare="h", where="--block", positive=True) / 3600
    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(path, source=source)
        machines = cluster.of(trace, path, source)
        notes: list[str] = []
        if sizings:
            from prophase.study.request_scenarios import sizings_of

            sized, notes = sizings_of(
                trace.jobs, sizings, show=lambda name: progress(f"sizing jobs: {name}", None)
            )
            question = replace(question, sizings=sized)
        workload = Workload.from_jobs(trace.jobs)
        if changes.pair:
            from prophase.sim.pairing import pair_jobs

            question = replace(question, pairing=pair_jobs(workload, changes.pair))
        if buys is not None and target is not None:
            from prophase.sim.whatif.purchase import cheapest_mix, purchase_result
            from prophase.sim.whatif.scenarios import settings_of

            offers, currency = buys
            tried, remarks = settings_of(
                question, workload, machines, policy, leave_out_unfit=leave_out_unfit
            )
            bought = cheapest_mix(tried, offers, target, seeds=seeds, progress=progress)
            result = purchase_result(bought, currency, data_hash=trace.data_hash)
            result = result.noted(*remarks, *notes)
        else:
            result = what_if(
                workload,
                machines,
                question,
                policy,
                goal=goal,
                measure=measure,
                seeds=seeds,
                block_h=block_h,
                workers=parse_workers(workers),
                leave_out_unfit=leave_out_unfit,
                notes=notes,
                progress=progress,
                data_hash=trace.data_hash,
            )
    show_result(result, format)
    outputs.write(result, path)
    if result.tone == "bad":
        raise typer.Exit(1)


def _offers(promise: Goal) -> tuple[list[NodeOffer], str] | None:
    """Return what can be bought and the currency; None if nothing was offered."""
    if promise.options is None:
        if promise.prices is not None:
            raise ParameterError(
                "--prices: say which nodes can be bought, too: --options nodes.csv."
            )
        return None
    if not promise.goal:
        raise ParameterError(
            "--options: says what can be bought, but not what for. Add for example "
            "--target 'p95_wait<15min'."
        )
    from prophase.sim.whatif.purchase import read_offers
    from prophase.trace.prices import Prices

    prices = Prices.read(promise.prices) if promise.prices is not None else None
    return read_offers(promise.options, prices), prices.currency if prices else ""


def _question(asked: Changes) -> WhatIfQuestion:
    from prophase.sim.request_variants import read_requests
    from prophase.sim.rules.node_availability import Autoscaler
    from prophase.sim.rules.parsing import as_rule
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
        scaling=as_rule(Autoscaler, asked.scaling, "scaling"),
        combine=asked.combine,
    )
