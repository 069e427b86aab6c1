"""prophase simulate: what would the cluster do?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import (
    Format,
    FormatOption,
    keep_result,
    progress_bar,
    show_result,
    write_table,
)
from prophase.cli.replay_options import (
    ClusterSettings,
    ReplayRules,
    ReplaySettings,
    SlurmOption,
)
from prophase.cli.replay_plan import PLANS, planned, read_plan
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import SeedOption
from prophase.cli.simulate_output import SimulateOutputs
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonObject

if TYPE_CHECKING:
    import pandas as pd

    from prophase.result import Result
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

    def pai(self, order: str) -> JsonObject:
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

    A file .yaml or .toml in place of the trace describes the whole replay: trace, and any of
    these options by its name; options on the command line go first.

    Examples:

    `prophase simulate plan.yaml`

    `prophase simulate ws --cluster '100x8' --order shortest`

    `prophase simulate jobs.csv.gz --source philly --cluster 100x8 --queue strict --out jobs.csv`

    `prophase simulate ws --cluster '100x8' --theory`

    `prophase simulate ws --cluster 20x8 --order shortest_remaining --preempt checkpoint=10min`

    `prophase simulate sacct.psv --nodes slurm.conf --slurm slurm.conf --shares shares.csv`

    `prophase simulate workflows --cluster '20x0 16c' --depends attr_parents`

    `prophase simulate ws --by user --prices prices.toml --page report.html --save-as by-user`

    `prophase simulate jobs.csv --source pai-sim --preset pai --pai-gpus 600 --order shortest`

    `prophase simulate pods.csv --nodes n.csv --preset openb --openb-arrivals o.npz`
    """
    from prophase.cli.provenance import open_trace

    if path.suffix in PLANS and not path.is_dir():
        plan = read_plan(path)
        single = {
            "source": (source, None), "slurm": (slurm, None), "run_time": (run_time, "duration_s"),
            "theory": (theory, False), "seed": (seed, 42),
        }  # fmt: skip
        classes = {
            "cluster_": cluster, "replay_": replay, "rules_": rules, "wanted_": wanted,
            "published_": published,
        }  # fmt: skip
        found = planned(plan, {**single, **classes}, path)
        path, slurm = Path(plan["trace"]), Path(found["slurm"]) if found["slurm"] else None
        source, run_time, theory, seed = (
            found[n] for n in ("source", "run_time", "theory", "seed")
        )
        cluster, replay, rules, wanted, published = (found[name] for name in classes)
    preset = published.preset
    if preset not in (None, "pai", "openb"):
        raise ParameterError(f"--preset {preset!r} is unknown. Known: pai, openb.")
    if theory and preset == "openb":
        raise ParameterError("--theory: pods of --preset openb never leave, so nobody queues.")
    out, shown = wanted.out, format in (Format.html, Format.markdown)
    wanted.check(path, preset=preset)
    with progress_bar() as progress:
        progress("reading the trace", None)
        table: pd.DataFrame | None
        if preset == "pai":
            result, table = _pai(path, source, theory=theory, **published.pai(replay.order))
        elif preset == "openb":
            nodes, arrivals = cluster.nodes, published.openb_arrivals
            result, table = _openb(path, source, nodes, arrivals, seed, replay.place), None
        else:
            trace = open_trace(path, source=source)
            result, table = _replay(
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
    show_result(result, format)
    kept = keep_result(result, wanted.keep, path)
    if kept is not None and table is not None:
        write_table(table, kept / "jobs.parquet", "job")


def _replay(
    trace: Trace,
    machines: Cluster,
    wanted: SimulateOutputs,
    *,
    run_time: str,
    theory: bool,
    shown: bool,
    policies: JsonObject,
) -> tuple[Result, pd.DataFrame]:
    from prophase.plots.illustrations import with_schedule_figures
    from prophase.sim import Workload, simulate
    from prophase.sim.results import schedule_values
    from prophase.sim.schedule_result import schedule_result

    without_clock = policies.get("depends") is not None
    workload = Workload.from_jobs(trace.jobs, run_time=run_time, without_clock=without_clock)
    wanted.check_measures(workload, machines)
    schedule = simulate(workload, machines, **policies)
    metrics = wanted.measure(schedule, shown=shown)
    document = schedule_values(schedule, machines, metrics, trace.data_hash)
    if theory:
        from prophase.sim.theory_comparison import schedule_beside_theory

        document["theory"] = _theory(lambda: schedule_beside_theory(schedule))

    result = schedule_result(schedule, metrics, values=document)
    result = with_schedule_figures(result, schedule, by=wanted.by, clock=trace.clock)
    wanted.write(schedule, result)
    return result, wanted.job_table(schedule)


def _pai(
    path: Path, source: str | None, *, theory: bool, **settings: Any
) -> tuple[Result, pd.DataFrame]:
    from prophase.cli.provenance import open_trace
    from prophase.papers.pai_sim.simulator import HETERO, simulate_pai
    from prophase.sim.schedule_result import replay_result

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
    return replay_result(document), result.jobs


def _theory(compare: Callable[[], TheoryComparison]) -> JsonObject:
    """Return the comparison, or why there is none: the replay is still worth showing."""
    try:
        found = compare()
    except InputError as cause:
        return {"not_computable": str(cause)}
    return {"table": found.rows(), **found.to_dict()}


def _openb(
    path: Path,
    source: str | None,
    nodes: Path | None,
    arrivals: Path | None,
    seed: int,
    place: str,
) -> Result:
    from prophase.cli.provenance import open_trace
    from prophase.papers.openb.protocol import arrival_order, simulate_openb
    from prophase.sim.schedule_result import replay_result

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
    values = {"protocol": "openb", **result.to_dict(), "data_hash": trace.data_hash}
    return replay_result(values)
