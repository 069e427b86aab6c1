"""prophase simulate: what would the cluster do?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, emit, finite, progress_bar
from prophase.cli.replay_options import (
    ClusterSettings,
    ReplayRules,
    ReplaySettings,
    SlurmOption,
)
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import SeedOption
from prophase.cli.simulate_output import (
    SimulateOutputs,
    class_rows,
    measure_rows,
    page_of,
    print_classes,
    write_table,
)
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import InputError, ParameterError
from prophase.plural import counted

if TYPE_CHECKING:
    import pandas as pd

    from prophase.plots.page import Page
    from prophase.sim import Cluster
    from prophase.sim.theory_comparison import TheoryComparison
    from prophase.trace.trace_tables import Trace


_PUBLISHED = "Published simulators"


@dataclass(frozen=True)
class PublishedSettings:
    """Settings of the two published simulators that can be repeated exactly."""

    preset: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_PUBLISHED,
            help="pai: exactly as Alibaba's PAI simulator; openb: the published fragmentation "
            "experiments, --seed being the arrival order.",
        ),
        Formerly("--semantics", "--protocol"),
    ] = None
    pai_gpus: Annotated[
        int,
        typer.Option(rich_help_panel=_PUBLISHED, min=1, help="pai: GPUs of its one node."),
        Formerly("--gpus"),
    ] = 6500
    pai_arrival_rate: Annotated[
        int,
        typer.Option(
            rich_help_panel=_PUBLISHED,
            help="pai: jobs per minute; -1 keeps the trace's arrivals.",
        ),
        Formerly("--arrival-rate"),
    ] = -1
    pai_hetero: Annotated[
        bool,
        typer.Option(
            "--pai-hetero", rich_help_panel=_PUBLISHED, help="pai: its built-in node list."
        ),
        Formerly("--hetero"),
    ] = False
    pai_gpu_type_matching: Annotated[
        int,
        typer.Option(
            rich_help_panel=_PUBLISHED,
            help="pai: 0 ignore types, 1 same type, 2 only V100 jobs.",
        ),
        Formerly("--gpu-type-matching"),
    ] = 0
    pai_node_order: Annotated[
        int,
        typer.Option(
            rich_help_panel=_PUBLISHED,
            help="pai: 0 by id, 1 least idle GPU, 2 most idle, 3 least used.",
        ),
        Formerly("--node-order"),
    ] = 3
    openb_arrivals: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=_PUBLISHED, help="openb: .npz with arrival orders and node ranks."
        ),
        Formerly("--arrivals"),
    ] = None

    def pai(self, order: str) -> dict[str, Any]:
        """Return the settings of the PAI simulator by their names."""
        return {
            "gpus": self.pai_gpus,
            "order": order,
            "arrival_rate": self.pai_arrival_rate,
            "hetero": self.pai_hetero,
            "gpu_type_matching": self.pai_gpu_type_matching,
            "node_order": self.pai_node_order,
        }


def command(
    path: TraceArgument,
    cluster: ClusterSettings,
    replay: ReplaySettings,
    rules: ReplayRules,
    wanted: SimulateOutputs,
    published: PublishedSettings,
    source: SourceOption = None,
    slurm: SlurmOption = None,
    run_time: Annotated[
        str, typer.Option(help="Column with the true run times, in seconds.")
    ] = "duration_s",
    theory: Annotated[
        bool,
        typer.Option("--theory", help="Put the trace's waits and queueing formulas beside it."),
    ] = False,
    seed: SeedOption = 42,
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

    `prophase simulate jobs.csv --source pai-sim --preset pai --pai-gpus 600 --order shortest`

    `prophase simulate pods.csv --nodes n.csv --preset openb --openb-arrivals o.npz`
    """
    from prophase.cli.provenance import open_trace

    preset = published.preset
    if preset not in (None, "pai", "openb"):
        raise ParameterError(f"--preset {preset!r} is unknown. Known: pai, openb.")
    if theory and preset == "openb":
        raise ParameterError("--theory: pods of --preset openb never leave, so nobody queues.")
    out, shown = wanted.out, format in (Format.html, Format.markdown)
    schedule_page: Callable[[], Page] | None = None
    wanted.check(preset=preset)
    with progress_bar() as progress:
        progress("reading the trace", None)
        table: pd.DataFrame | None
        if preset == "pai":
            document, table = _pai(path, source, theory=theory, **published.pai(replay.order))
        elif preset == "openb":
            nodes, arrivals = cluster.nodes, published.openb_arrivals
            document, table = _openb(path, source, nodes, arrivals, seed, replay.place), None
        else:
            trace = open_trace(path, source=source)
            document, table, schedule_page = _replay(
                trace,
                cluster.of(trace, path, source),
                wanted,
                run_time=run_time,
                theory=theory,
                shown=shown,
                policies=replay.values(slurm=slurm, seed=seed, **rules.values()),
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
    trace: Trace,
    machines: Cluster,
    wanted: SimulateOutputs,
    *,
    run_time: str,
    theory: bool,
    shown: bool,
    policies: dict[str, Any],
) -> tuple[dict[str, Any], pd.DataFrame, Callable[[], Page]]:
    from prophase.sim import Workload, simulate
    from prophase.sim.results import schedule_values

    workload = Workload.from_jobs(trace.jobs, run_time=run_time)
    wanted.check_measures(workload, machines)
    schedule = simulate(workload, machines, **policies)
    metrics = wanted.measure(schedule, shown=shown)
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
        raise ParameterError(
            "--preset openb needs --nodes NODE_LIST and --openb-arrivals FILE.npz."
        )
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
