"""prophase sweep: which policy, how large a cluster, how much load?"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.atomic_files import write_whole
from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    progress_bar,
    say,
    show_result,
    typed_command,
)
from prophase.cli.provenance import write_provenance
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import BLOCK, SEEDS, LoadOption, SizingOption, WorkersOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.plural import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from prophase.sim import Cluster, Workload
    from prophase.sim.request_variants import Sizing
    from prophase.sim.sweep.plan import SweepPlan
    from prophase.trace.trace_tables import Trace

#: settings whose values are separated by semicolons
_RULES = (
    "backfill", "preempt", "share", "speeds", "scaling", "failures", "ladder", "depends", "defer",
    "elastic", "topology", "demand", "mig",
)  # fmt: skip


@dataclass(frozen=True)
class Axes:
    """What is combined: of each several values, joined by commas."""

    nodes: Annotated[
        Path | None,
        typer.Option(help="Node list: a workspace, a file of the same source, or a slurm.conf."),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Clusters, e.g. '50x8,60x8', 'own,own*0.8', kinds joined by +: '50x8 V100 + "
            "20x2 T4', or a node list (then own). [default: own, the trace's nodes]"
        ),
    ] = None
    order: Annotated[
        str | None, typer.Option(help="Who goes first: policies, e.g. fifo,shortest.")
    ] = None
    place: Annotated[str | None, typer.Option(help="Which node: policies, e.g. best_fit,fgd.")] = (
        None
    )
    queue: Annotated[
        str | None, typer.Option(help="Behind a job that does not fit: e.g. skip,strict,easy.")
    ] = None
    estimate: Annotated[
        str | None,
        typer.Option(help="Columns with the run times that backfilling plans with."),
    ] = None
    sharing: Annotated[
        str | None,
        typer.Option(help="Whether jobs share GPUs: on,off (off: a fraction takes a whole one)."),
    ] = None
    sizing: SizingOption = None
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B",
            help="Any other setting of a replay, e.g. estimate=duration_s; rules between "
            "semicolons, e.g. 'preempt=off;checkpoint=10min'.",
        ),
    ] = None
    load: LoadOption = None


@dataclass(frozen=True)
class Division:
    """How a sweep is divided among machines that know nothing of each other."""

    export: Annotated[
        str | None,
        typer.Option(
            metavar="slurm-array",
            help="Run nothing, but write a batch script whose array runs the sweep: slurm-array.",
        ),
    ] = None
    tasks: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000,
            help="Tasks of that array. [default: one for 10 cells, at most 100]",
        ),
    ] = None  # fmt: skip
    part: Annotated[
        str | None,
        typer.Option(metavar="K/N", help="Run only the K-th of N parts, as a task of it does."),
    ] = None


def command(
    path: TraceArgument,
    axes: Axes,
    division: Division,
    source: SourceOption = None,
    seeds: Annotated[int | None, SEEDS] = None,
    block: Annotated[str | None, BLOCK, Formerly("--block-h")] = None,
    plan: Annotated[
        Path | None, typer.Option(help="TOML file with the same settings; options go first.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            help="Measures: the first ranks, all span the Pareto front. [default: mean_wait_s, "
            "and gpus where clusters differ, gib_hours.allocated where sizings do]"
        ),
    ] = None,
    workers: WorkersOption = "0",
    leave_out_unfit: Annotated[
        bool,
        typer.Option(
            "--leave-out-unfit",
            help="Leave out, and count, jobs that do not fit on a cluster that is replayed.",
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Folder that keeps every finished cell, tables and the figure.")
    ] = Path("sweep"),
    format: FormatOption = Format.table,
) -> None:
    """Replay a trace under all combinations of policy, sharing, sizing, cluster and load.

    Each combination is replayed on the trace as recorded, which ranks it, and for intervals on
    --seeds traces of resampled days, as many in a row as the backlog lasts; all combinations use
    the same jobs, so differences are paired. Stop it
    at any time: the same command runs only what is missing. Combinations are ranked, and those
    on the Pareto front are marked.

    The nodes of the trace, or of --nodes, are the cluster called own.

    Examples:

    `prophase sweep ws --order fifo,shortest --sharing on,off --sizing asked,default`

    `prophase sweep ws --order fifo,shortest --cluster 50x8,60x8 --load 0.8,1.0,1.2`

    `prophase sweep ws --cluster 'own,own*0.8' --place best_fit,fgd --leave-out-unfit`

    `prophase sweep ws --vary 'scaling=floor=5;floor=20' --measure mean_wait_s,gpu_hours.owned`

    `prophase sweep ws --plan sweep.toml --workers dask://10.0.0.1:8786`

    `prophase sweep ws --plan sweep.toml --export slurm-array && sbatch sweep/array.sbatch`
    """
    from prophase.plots.sweep import write_sweep
    from prophase.sim import Workload
    from prophase.sim.sweep.plan import SweepPlan, read_plan
    from prophase.sim.sweep.results import SavedSweep, save_sweep
    from prophase.sim.sweep.runner import run_sweep
    from prophase.study.sweep_report import sweep_answer, usual_measures
    from prophase.workers import parse_workers

    listed = axes.nodes
    asked: JsonObject = read_plan(plan) if plan else {"policies": {}}
    for name in ("order", "place", "queue", "estimate"):
        text = getattr(axes, name)
        if text is not None:
            asked["policies"][name] = _items(text)
    for text in axes.vary or []:
        name, equals, values = text.partition("=")
        if not equals:
            raise ParameterError(f"--vary {text}: write NAME=VALUE,VALUE.")
        # rules are texts with commas of their own
        parts = values.split(";") if name.strip() in _RULES or ";" in values else _items(values)
        asked["policies"][name.strip()] = [_value(item.strip()) for item in parts if item.strip()]
    if axes.cluster is not None:
        asked["clusters"], listed = _clusters(axes)
    if axes.load is not None:
        asked["loads"] = [_number(item) for item in _items(axes.load)]
    for name, text in (("sizings", axes.sizing), ("sharing", axes.sharing)):
        if text is not None:
            asked[name] = _items(text)
    if seeds is not None:
        asked["seeds"] = seeds
    if block is not None:
        block_s = units.parse_duration(block, bare="h", where="--block", positive=True)
        asked["block_h"] = block_s / 3600
    wanted = SweepPlan(**asked)
    measures = _items(measure) if measure is not None else usual_measures(wanted)
    found: dict[str, int] = {}
    with progress_bar() as progress:
        progress("reading the trace", None)

        def done(count: int, total: int) -> None:
            found.update(count=count, total=total, before=found.get("before", count))
            progress(f"{count:,} of {total:,} cells", 100 * count / total)

        jobs, own = _opened(path, source, listed)
        sizings, said = _sized(jobs, wanted, lambda name: progress(f"sizing jobs: {name}", None))
        if division.export or division.part:
            told = _divided(
                division, Workload.from_jobs(jobs), wanted, own, sizings, out, leave_out_unfit
            )
            say(told)
            return
        try:
            result = run_sweep(
                Workload.from_jobs(jobs),
                wanted,
                own=own,
                sizings=sizings,
                folder=out,
                workers=parse_workers(workers),
                leave_out_unfit=leave_out_unfit,
                progress=done,
            )
        except KeyboardInterrupt:
            say(
                f"Stopped. {found.get('count', 0):,} of {found.get('total', 0):,} cells are kept "
                f"in {as_typed(out)}; the same command runs the rest."
            )
            raise typer.Exit(1) from None
    kept = SavedSweep(result, wanted, measures, said, str(path), typed_command())
    ranked = write_sweep(kept, out)
    save_sweep(kept, out)
    tables = ("results.csv", "results.parquet", "cells.csv", "cells.parquet")
    write_provenance(out / "provenance.json", [out / name for name in tables])
    replayed = found["count"] - found["before"]
    answer = sweep_answer(
        kept,
        ranked,
        counts=f"{replayed:,} cells replayed, {found['before']:,} taken from an earlier run.",
        where=f"Tables, figure and report: {as_typed(out)}",
        narrow=format is Format.table,
    )
    show_result(answer, format)


def _divided(
    division: Division,
    workload: Workload,
    plan: SweepPlan,
    own: Cluster | None,
    sizings: dict[str, Sizing],
    out: Path,
    leave_out_unfit: bool,
) -> str:
    """Write the array, or run one part of the sweep; return what to say about it."""
    from prophase.sim.sweep.runner import PARTS, claim_folder, run_part
    from prophase.sim.sweep.slurm_array import SCRIPT, slurm_array, usual_tasks

    if division.part:
        number, slash, of = division.part.partition("/")
        if division.export:
            raise ParameterError("--export and --part exclude each other.")
        if not (slash and number.isdigit() and of.isdigit()):
            raise ParameterError(f"--part {division.part}: write for example 2/8.")
        part = int(number), int(of)
        cells = run_part(
            workload, plan, part, out, own=own, sizings=sizings, leave_out_unfit=leave_out_unfit
        )
        return f"Part {number} of {of}: {counted(cells, 'cell')} in {as_typed(out / PARTS)}."
    if division.export != "slurm-array":
        said = f"--export {division.export}: is unknown."
        raise ParameterError(not_among(said, str(division.export), ["slurm-array"]))
    cells = claim_folder(
        workload, plan, out, own=own, sizings=sizings, leave_out_unfit=leave_out_unfit
    )
    tasks = min(division.tasks or usual_tasks(cells), max(1, cells))
    folder = out.resolve()
    (folder / PARTS).mkdir(exist_ok=True)
    script = slurm_array(_without_export(), folder, tasks, Path.cwd())
    write_whole(folder / SCRIPT, script)
    return (
        f"{counted(cells, 'cell')} in {counted(tasks, 'task')}: sbatch {as_typed(out / SCRIPT)}\n"
        "When all have ended, run this command again without --export to see the result."
    )


def _without_export() -> list[str]:
    """Return the command that was typed, without what asked for an array."""
    program = Path(sys.executable).with_name("prophase")
    kept = [str(program) if program.exists() else "prophase"]
    words = iter(sys.argv[1:])
    for word in words:
        if word in ("--export", "--tasks", "--workers"):
            next(words, None)
        elif not word.startswith(("--export=", "--tasks=", "--workers=")):
            kept.append(word)
    return kept


def _opened(
    path: Path, source: str | None, nodes: Path | None
) -> tuple[pd.DataFrame, Cluster | None]:
    from prophase.cli.provenance import open_trace
    from prophase.sim import Cluster

    trace: Trace = open_trace(path, source=source)
    table = open_trace(nodes, source=source).nodes if nodes else trace.tables.get("nodes")
    return trace.jobs, None if table is None else Cluster.from_nodes(table)


def _sized(
    jobs: pd.DataFrame, plan: SweepPlan, show: Callable[[str], None]
) -> tuple[dict[str, Sizing], list[str]]:
    from prophase.sim.request_variants import ASKED

    if list(plan.sizings) == [ASKED]:
        return {}, []
    from prophase.study.request_scenarios import sizings_of

    return sizings_of(jobs, plan.sizings, show=show)


def _clusters(axes: Axes) -> tuple[list[str], Path | None]:
    """Return the clusters by name and the node list; a file among them is the one called own."""
    named = _items(axes.cluster or "")
    files = [name for name in named if name and Path(name).exists()]
    if not files:
        return named, axes.nodes
    if len(files) > 1 or (axes.nodes is not None and Path(files[0]) != axes.nodes):
        raise ParameterError(
            f"--cluster {axes.cluster}: one node list can be swept, the cluster called own. "
            "Write other clusters in short, such as '50x8 V100 96c 512g + 20x2 T4'."
        )
    return ["own" if name == files[0] else name for name in named], Path(files[0])


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as cause:
        raise ParameterError(f"--load {text}: is not a number, such as 0.8.") from cause


def _value(text: str) -> Any:
    """Read a number or true/false as such, anything else as text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | str) else text
