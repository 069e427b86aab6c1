"""prophase simulate: what would the cluster do?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, emit, finite, progress_bar
from prophase.cli.replay_options import (
    BackfillOption,
    CalendarOption,
    ClusterOption,
    EstimateOption,
    FailuresOption,
    HalfLifeOption,
    LadderOption,
    LeaveOutOption,
    NodesOption,
    NoiseOption,
    OrderOption,
    OrderOptionsOption,
    PlaceOption,
    PreemptOption,
    QueueOption,
    QuotasOption,
    ScalingOption,
    SetOption,
    ShareOption,
    SharesOption,
    SlurmOption,
    SourceOption,
    SpeedsOption,
    given_rules,
    named_cluster,
    replay_settings,
    typed_values,
)
from prophase.cli.simulate_output import (
    SimulateOutputs,
    class_rows,
    measure_rows,
    page_of,
    print_classes,
    write_table,
)
from prophase.cli.trace_options import TraceArgument
from prophase.errors import InputError, ParameterError
from prophase.plural import counted

if TYPE_CHECKING:
    import pandas as pd

    from prophase.plots.page import Page
    from prophase.sim.theory_comparison import TheoryComparison


def command(
    path: TraceArgument,
    source: SourceOption = None,
    nodes: NodesOption = None,
    cluster: ClusterOption = None,
    order: OrderOption = "fifo",
    place: PlaceOption = "best_fit",
    queue: QueueOption = "skip",
    estimate: EstimateOption = "time_limit_s",
    run_time: Annotated[
        str, typer.Option(help="Column with the true run times, in seconds.")
    ] = "duration_s",
    noise: NoiseOption = 0.0,
    leave_out_unfit: LeaveOutOption = False,
    slurm: SlurmOption = None,
    backfill: BackfillOption = None,
    preempt: PreemptOption = None,
    share: ShareOption = None,
    speeds: SpeedsOption = None,
    scaling: ScalingOption = None,
    failures: FailuresOption = None,
    calendar: CalendarOption = None,
    ladder: LadderOption = None,
    quotas: QuotasOption = None,
    shares: SharesOption = None,
    half_life: HalfLifeOption = "0",
    order_option: OrderOptionsOption = None,
    settings: SetOption = None,
    by: Annotated[
        str | None,
        typer.Option(help="Measure classes too: class, gpus, or a column such as user."),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(help="Prices per GPU-hour by type, core-hour and GiB-hour: .toml or .csv."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write one row per job to this .csv, .parquet or .json file."),
    ] = None,
    attempts_out: Annotated[
        Path | None,
        typer.Option(help="Write one row per attempt and instance, with node and GPUs."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--page", "--html", help="Write everything as one self-contained page."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures", "--plots", help="Write every figure into this folder, as PNG and SVG."
        ),
    ] = None,
    theory: Annotated[
        bool,
        typer.Option("--theory", help="Put the trace's waits and queueing formulas beside it."),
    ] = False,
    semantics: Annotated[
        str | None, typer.Option(help="pai: exactly as Alibaba's PAI simulator.")
    ] = None,
    gpus: Annotated[int, typer.Option(min=1, help="pai: GPUs of its one node.")] = 6500,
    arrival_rate: Annotated[
        int, typer.Option(help="pai: jobs per minute; -1 keeps the trace's arrivals.")
    ] = -1,
    hetero: Annotated[bool, typer.Option("--hetero", help="pai: its built-in node list.")] = False,
    gpu_type_matching: Annotated[
        int, typer.Option(help="pai: 0 ignore types, 1 same type, 2 only V100 jobs.")
    ] = 0,
    node_order: Annotated[
        int, typer.Option(help="pai: 0 by id, 1 least idle GPU, 2 most idle, 3 least used.")
    ] = 3,
    protocol: Annotated[
        str | None, typer.Option(help="openb: the published fragmentation experiments.")
    ] = None,
    arrivals: Annotated[
        Path | None, typer.Option(help="openb: .npz with arrival orders and node ranks.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of random policies; openb: which arrival order.")
    ] = 42,
    format: FormatOption = Format.table,
) -> None:
    """Replay a trace on a cluster and say how long jobs wait and how busy it is.

    Examples:

    `prophase simulate ws --cluster '100x8' --order shortest`

    `prophase simulate jobs.csv.gz --source philly --cluster 100x8 --queue strict --out jobs.csv`

    `prophase simulate ws --cluster '100x8' --theory`

    `prophase simulate ws --cluster 20x8 --order shortest_remaining --preempt checkpoint=10min`

    `prophase simulate sacct.psv --nodes slurm.conf --slurm slurm.conf --shares shares.csv`

    `prophase simulate ws --by user --prices prices.toml --page report.html`

    `prophase simulate jobs.csv --source pai-sim --semantics pai --gpus 600 --order shortest`

    `prophase simulate pods.csv --source openb --nodes n.csv --protocol openb --arrivals o.npz`
    """
    if semantics not in (None, "pai"):
        raise ParameterError(f"semantics {semantics!r} is unknown. Known: pai.")
    if protocol not in (None, "openb"):
        raise ParameterError(f"protocol {protocol!r} is unknown. Known: openb.")
    if theory and protocol == "openb":
        raise ParameterError("--theory: pods of --protocol openb never leave, so nobody queues.")
    shown = format in (Format.html, Format.markdown)
    wanted = SimulateOutputs(by, prices, out, attempts_out, page, figures, shown)
    schedule_page: Callable[[], Page] | None = None
    preset = "--semantics pai" if semantics else "--protocol openb" if protocol else None
    wanted.check(preset=preset)
    with progress_bar() as progress:
        progress("reading the trace", None)
        if semantics == "pai":
            document, table = _pai(
                path,
                source,
                gpus=gpus,
                order=order,
                arrival_rate=arrival_rate,
                hetero=hetero,
                gpu_type_matching=gpu_type_matching,
                node_order=node_order,
                theory=theory,
            )
        elif protocol == "openb":
            document, table = _openb(path, source, nodes, arrivals, seed, place), None
        else:
            document, table, schedule_page = _replay(
                path,
                source,
                nodes,
                cluster,
                wanted,
                run_time=run_time,
                theory=theory,
                policies=replay_settings(
                    slurm,
                    settings,
                    order=order,
                    place=place,
                    queue=queue,
                    estimate=estimate,
                    leave_out_unfit=leave_out_unfit,
                    seed=seed,
                    **given_rules(
                        noise=noise or None,
                        backfill=backfill,
                        preempt=preempt,
                        share=share,
                        speeds=speeds,
                        scaling=scaling,
                        failures=failures,
                        calendar=calendar,
                        ladder=ladder,
                        quotas=quotas,
                        shares=shares,
                        half_life_s=None if half_life == "0" else half_life,
                        order_options=typed_values(order_option, "--order-option") or None,
                    ),
                ),
            )
    if out is not None and table is None:
        raise ParameterError("--out writes one row per job; this protocol has curves only.")
    if out is not None and table is not None:
        write_table(table, out, "job")
    notes = document.pop("notes", [])
    beside, classes = document.get("theory"), document.get("classes")
    single = {n: value for n, value in document.items() if n not in ("theory", "classes", "by")}
    rows = _rows(single, format)
    if classes and format is Format.csv:
        rows += class_rows(classes, document["by"])
    if beside is not None and format is Format.csv:
        rows += _theory_rows(beside)
    emit(rows, format, document=finite(document), remarks=notes, page=schedule_page)
    if classes and format is Format.table:
        print_classes(classes, document["by"])
    if beside is not None and format is Format.table:
        _print_theory(beside)


def _replay(
    path: Path,
    source: str | None,
    nodes: Path | None,
    cluster: str | None,
    wanted: SimulateOutputs,
    *,
    run_time: str,
    theory: bool,
    policies: dict[str, Any],
) -> tuple[dict[str, Any], pd.DataFrame, Callable[[], Page]]:
    from prophase.cli.provenance import open_trace
    from prophase.sim import Workload, simulate
    from prophase.sim.results import schedule_values

    trace = open_trace(path, source=source)
    machines = named_cluster(trace, path, source, nodes, cluster)
    workload = Workload.from_jobs(trace.jobs, run_time=run_time)
    wanted.check_measures(workload, machines)
    schedule = simulate(workload, machines, **policies)
    metrics = wanted.measure(schedule)
    document = schedule_values(schedule, machines, metrics, trace.data_hash)
    if theory:
        from prophase.sim.theory_comparison import schedule_beside_theory

        document["theory"] = _theory(lambda: schedule_beside_theory(schedule))

    def page() -> Page:
        return page_of(
            schedule, metrics, clock=trace.clock, data=trace.data_hash, seed=policies["seed"],
            theory=document.get("theory"),
        )  # fmt: skip

    wanted.write(schedule, trace.clock, page)
    return document, schedule.table, page


def _pai(
    path: Path, source: str | None, *, theory: bool, **settings: Any
) -> tuple[dict[str, Any], pd.DataFrame]:
    from prophase.cli.provenance import open_trace
    from prophase.papers.pai_sim.simulator import HETERO, simulate_pai

    trace = open_trace(path, source=source)
    result = simulate_pai(trace.jobs, **settings)
    document = {
        "semantics": "pai",
        **settings,
        "jobs": len(result.jobs),
        "mean_jct_s": result.mean_jct_s,
        "mean_wait_s": result.mean_wait_s,
        "makespan_s": result.makespan_s,
        "data_hash": trace.data_hash,
    }
    if theory:
        from prophase.sim.theory_comparison import beside_theory

        pool = sum(count * each for _, count, each, _ in HETERO) if settings["hetero"] else None
        simulated = result.jobs
        document["theory"] = _theory(
            lambda: beside_theory(
                trace.jobs.reset_index(drop=True).assign(
                    submit_s=simulated["submit_s"], duration_s=simulated["duration_s"]
                ),
                simulated["wait_s"],
                pool or settings["gpus"],
            )
        )
    return document, result.jobs


def _theory(compare: Callable[[], TheoryComparison]) -> dict[str, Any]:
    """Return the comparison, or why there is none: the replay is still worth showing."""
    try:
        found = compare()
    except InputError as cause:
        return {"not_computable": str(cause)}
    return {"table": found.rows(), **found.to_dict()}


def _theory_rows(beside: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"measure": f"{row['measure']} by {view}", "value": value}
        for row in beside.get("table", [])
        for view, value in row.items()
        if view != "measure"
    ]


def _print_theory(beside: dict[str, Any]) -> None:
    if "not_computable" in beside:
        typer.echo(f"\nTheory: not computable: {beside['not_computable']}")
        return
    typer.echo(
        f"\nTheory: {counted(beside['jobs'], 'job')} on one pool of {beside['servers']:,} "
        f"{beside['resource']}\n"
    )
    remarks = [
        f"{one['view']}: mean wait, 95 % interval over days: "
        f"{units.cell(one['wait_mean_low_s'])} to {units.cell(one['wait_mean_high_s'])} s."
        for one in beside["columns"]
        if one["wait_mean_high_s"] is not None
    ]
    remarks.append(
        "Queue and utilisation: from the first submission to the last end; formulas: steady state."
    )
    remarks += [f"{one['view']}: {one['note']}." for one in beside["columns"] if one["note"]]
    remarks += [
        f"Left out: {counted(count, 'job')} {why}." for why, count in beside["left_out"].items()
    ]
    remarks += [f"Verdict: {line}" for line in beside["verdict"]]
    emit(beside["table"], Format.table, remarks=remarks)


def _openb(
    path: Path,
    source: str | None,
    nodes: Path | None,
    arrivals: Path | None,
    seed: int,
    place: str,
) -> dict[str, Any]:
    from prophase.cli.provenance import open_trace
    from prophase.papers.openb.protocol import arrival_order, simulate_openb

    if nodes is None or arrivals is None:
        raise ParameterError("--protocol openb needs --nodes NODE_LIST and --arrivals FILE.npz.")
    trace = open_trace(path, source=source or "openb")
    order, rank = arrival_order(arrivals, path, seed)
    machines = open_trace(nodes, source=source or "openb").nodes
    result = simulate_openb(
        trace.jobs, machines, arrivals=order, node_rank=rank, place=place, seed=seed
    )
    return {"protocol": "openb", **result.to_dict(), "data_hash": trace.data_hash}


def _rows(document: dict[str, Any], format: Format) -> list[dict[str, Any]]:
    """One line per number; of a curve, what it is at each tenth."""
    curves = {name: value for name, value in document.items() if isinstance(value, list)}
    rest = {name: value for name, value in document.items() if name not in curves}
    return measure_rows(rest, format) + [
        {"measure": f"{name} at {percent} % arrival", "value": value[percent]}
        for name, value in curves.items()
        for percent in range(10, len(value), 10)
    ]
