"""prophase prove: is an advice safe to apply?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, emit, progress_bar, say, typed_command
from prophase.cli.replay_options import (
    OrderOption,
    PlaceOption,
    QueueOption,
    SetOption,
    other_settings,
)
from prophase.cli.trace_options import SourceOption
from prophase.errors import InputError
from prophase.plain import finite
from prophase.plural import counted

if TYPE_CHECKING:
    from prophase.sizing.recommender import Gate
    from prophase.study.proof.candidate import Candidate
    from prophase.study.proof.proof import Proof
    from prophase.study.report.report import Report
    from prophase.trace.trace_tables import Trace

HistoryOption = Annotated[
    Path | None,
    typer.Option(
        "--history", envvar="PROPHASE_WORKSPACE",
        help="The jobs to prove it on: a workspace, or a file or folder of a trace.",
    ),
]  # fmt: skip
NodesOrText = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Node list (a file or workspace), or in short: nodes x GPUs, then GPU type, cores "
        "(c) and GiB (g) per node, e.g. '20x0 64c 512g'. [default: the history's nodes]",
    ),
]


def command(
    advice: Annotated[
        Path,
        typer.Argument(
            help="An advice (.json or .csv of prophase size --export), or a history to make it of."
        ),
    ],
    history: HistoryOption = None,
    cluster: NodesOrText = None,
    max_oom: Annotated[
        str, typer.Option(help="Share of runs that may be killed at their first request.")
    ] = "1%",
    min_saving: Annotated[
        str, typer.Option(help="Share of what is reserved today that must be saved.")
    ] = "20%",
    max_longer_wait: Annotated[
        str | None, typer.Option(help="Share by which the mean wait may grow; else not judged.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(help="Prices of GPU-, core- and GiB-hours: .toml or .csv.")
    ] = None,
    risk: Annotated[
        str | None,
        typer.Option(help="Risk of the advice that is made here. [default: the advice's, or 1%]"),
    ] = None,
    resource: Annotated[
        str, typer.Option(help="What is sized if the advice is made here: memory, cpu, gpu.")
    ] = "memory",
    kind: Annotated[
        str | None,
        typer.Option(
            help="Columns that name what the advice is for, e.g. group,task; 'auto' tries. "
            "[default: those of the advice, else task]"
        ),
    ] = None,
    advise_above: Annotated[
        str, typer.Option(help="Tasks that would save less keep their request.")
    ] = "50%",
    min_runs: Annotated[int, typer.Option(help="Tasks with fewer runs keep their request.")] = 10,
    splits: Annotated[
        int, typer.Option(min=0, help="Points of the past at which predictions are tested.")
    ] = 10,
    seeds: Annotated[
        int, typer.Option(min=0, help="Resampled traces behind the intervals of waits.")
    ] = 10,
    kills_after: Annotated[
        str, typer.Option(help="Share of its run after which too small an attempt is killed.")
    ] = "100%",
    by: Annotated[
        str, typer.Option(help="Waits per class, gpus, or a column such as user or queue.")
    ] = "class",
    order: OrderOption = "fifo",
    place: PlaceOption = "best_fit",
    queue: QueueOption = "skip",
    settings: SetOption = None,
    report: Annotated[
        Path | None, typer.Option(help="Write report.html, .md and .json into this folder.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of intervals and replays.")] = 0,
    workers: Annotated[
        str,
        typer.Option("--workers", "--dask", help="Processes (0: all cores), or dask://HOST:PORT."),
    ] = "1",
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Prove an advice on your own history before you apply it.

    Replays the history with today's requests and with the advised ladder: hours, kills and
    retries, waits per class, utilisation, cost. At ten points of the past an advice is made and
    its promise held against what came later. The verdict is about the limits you set; the exit
    code is 0 for a pass, else 1.

    Examples:

    `prophase prove advice.json --history ws --cluster nodes.csv --max-oom 1% --min-saving 20%`

    `prophase prove ws --risk 0.5% --cluster '20x0 64c 512g' --prices prices.toml --report proof`
    """
    from prophase.plots.report.page import report_page
    from prophase.plots.report.writing import write_report
    from prophase.sizing.recommender import Gate
    from prophase.study.cluster import machines
    from prophase.study.proof.prover import prove
    from prophase.study.proof.verdict import Limits
    from prophase.workers import parse_workers

    limits = Limits(
        units.parse_share(max_oom, where="--max-oom", below_one=True),
        units.parse_share(min_saving, where="--min-saving", below_one=True),
        None
        if max_longer_wait is None
        else units.parse_share(max_longer_wait, where="--max-longer-wait", below_one=True),
    )
    gate = Gate(min_runs, units.parse_share(advise_above, where="--advise-above", below_one=True))
    after = units.parse_share(kills_after, where="--kills-after")
    with progress_bar() as show:
        show("reading", None)
        given, trace, where = _subject(advice, history, source)
        nodes = machines(trace, cluster)
        proof = prove(
            trace.jobs,
            given,
            nodes,
            limits=limits,
            prices=prices,
            risk=None if risk is None else units.parse_share(risk, where="--risk", below_one=True),
            gate=gate,
            resource=resource,
            kind=_kind(kind, trace, gate, resource, seed),
            splits=splits,
            seeds=seeds,
            fails_after=after,
            by=by,
            policy={"order": order, "place": place, "queue": queue, **other_settings(settings)},
            seed=seed,
            workers=parse_workers(workers),
            show=show,
        )
    document = {"history": str(where), "data_hash": trace.data_hash, **proof.to_dict()}
    emit(
        proof.rows(),
        format,
        document=document,
        remarks=_remarks(proof, cluster),
        page=lambda: report_page(_told(proof, trace, where, advice)),
    )
    if report is not None:
        say(f"Wrote {write_report(_told(proof, trace, where, advice), report)}.")
    raise typer.Exit(0 if proof.verdict.outcome == "pass" else 1)


def _subject(
    advice: Path, history: Path | None, source: str | None
) -> tuple[Candidate | None, Trace, Path]:
    """Return the advice, if it is one, and the history it is proven on."""
    from prophase.cli.provenance import open_trace
    from prophase.study.proof.candidate import read_candidate
    from prophase.trace.workspace import Workspace

    given, where = None, advice
    if history is not None and history != advice:
        given, where = read_candidate(advice), history
    elif advice.suffix == ".json" or not advice.exists():
        given, where = read_candidate(advice), Path()
        if not Workspace.is_at(where):
            raise InputError(
                f"{advice} is an advice; name the history to prove it on: --history WORKSPACE "
                "(or a file of a trace)."
            )
    return given, open_trace(where, source=source, tables=["jobs", "nodes"]), where


def _kind(
    text: str | None, trace: Trace, gate: Gate, resource: str, seed: int
) -> tuple[str, ...] | None:
    from prophase.study.proof.kinds import choose_kinds

    if text is None:
        return None
    if text == "auto":
        return choose_kinds(trace.jobs, resource=resource, gate=gate)
    return tuple(one.strip() for one in text.split(","))


def _remarks(proof: Proof, cluster: str | None) -> list[str]:
    from prophase.study.proof.prover import NO_CLUSTER

    said = [
        f"{proof.advised_jobs:,} of {proof.jobs:,} jobs follow the advice; "
        f"{proof.saving.value:.1%} of the {proof.totals[0].name} saved, "
        f"{finite(100 * proof.predicted) or 0:.1f} % were predicted; {proof.retries:,} retries.",
    ]
    if proof.splits is not None:
        said.append(proof.splits.sentence())
    if proof.replays is None:
        can = cluster is None and proof.why_no_replay == NO_CLUSTER
        said.append(f"No waits: {proof.why_no_replay}." + (" Use --cluster." if can else ""))
    else:
        said += proof.replays.notes
    if proof.losers:
        named = ", ".join(f"{one.task} ({one.saved_h:,.2f})" for one in proof.losers[:5])
        more = f" and {len(proof.losers) - 5} more" if len(proof.losers) > 5 else ""
        said.append(f"Advice that loses, in {proof.unit} h: {named}{more}.")
    if proof.unknown_tasks:
        some = proof.unknown_tasks
        more = f" and {len(some) - 5} more" if len(some) > 5 else ""
        said.append(f"Advised, but not in this history: {', '.join(some[:5])}{more}.")
    if not proof.advised_jobs:
        kept = [f"{task} ({why.removeprefix('keep: ')})" for task, why in proof.kept_tasks.items()]
        more = f"; and {len(kept) - 3} more" if len(kept) > 3 else ""
        said.append(f"Nothing is advised for this history: {'; '.join(kept[:3])}{more}.")
    said += [
        f"Follow no advice, {why}: {counted(count, 'job')}."
        for why, count in proof.left_out.items()
    ]
    return [*said, "", proof.verdict.sentence()]


def _told(proof: Proof, trace: Trace, where: Path, advice: Path) -> Report:
    from prophase.study.proof.report import proof_report
    from prophase.study.report.parts import DataUsed

    data = DataUsed(str(where), len(trace.jobs), trace.data_hash, dropped=proof.left_out)
    return proof_report(proof, data=data, command=typed_command(), advice_file=str(advice))
