"""prophase prove: is a recommendation safe to apply?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    OptionalWorkspace,
    progress_bar,
    show_result,
    typed_command,
    write_report,
)
from prophase.cli.replay_options import ClusterOption, PolicySettings
from prophase.cli.shared_options import PricesOption, ReportOption, ResampleSettings
from prophase.cli.sizing_options import (
    MAX_OOM,
    MIN_SAVING,
    GateSettings,
    GroupOption,
    ResourceOption,
    RiskOption,
)
from prophase.cli.trace_options import SourceOption
from prophase.errors import InputError

if TYPE_CHECKING:
    from prophase.study.proof.candidate import Candidate
    from prophase.study.proof.verdict import Limits
    from prophase.trace.trace_tables import Trace


@dataclass(frozen=True)
class LimitSettings:
    """What a recommendation has to keep to pass."""

    max_oom: Annotated[str, MAX_OOM] = "1%"
    min_saving: Annotated[str, MIN_SAVING] = "0%"
    max_longer_wait: Annotated[
        str | None, typer.Option(help="Share by which the mean wait may grow; else not judged.")
    ] = None

    def limits(self) -> Limits:
        """Return them as the verdict has them."""
        from prophase.study.proof.verdict import Limits

        wait = self.max_longer_wait
        return Limits(
            units.parse_share(self.max_oom, where="--max-oom", below_one=True),
            units.parse_share(self.min_saving, where="--min-saving", below_one=True),
            None
            if wait is None
            else units.parse_share(wait, where="--max-longer-wait", below_one=True),
        )


@dataclass(frozen=True)
class BackTestSettings(ResampleSettings):
    """How the past is tried, and how often."""

    splits: Annotated[
        int, typer.Option(min=0, help="Cut-off dates at which predictions are back-tested.")
    ] = 10
    kills_after: Annotated[
        str, typer.Option(help="Share of its run after which too small an attempt is killed.")
    ] = "100%"
    waits_by: Annotated[
        str, typer.Option(help="Waits are shown by class, gpus, or a column such as user.")
    ] = "class"


@dataclass(frozen=True)
class RecommendationSettings:
    """How a recommendation is made that is not given."""

    risk: RiskOption = None
    resource: ResourceOption = "auto"
    by: GroupOption = None


def command(
    advice: Annotated[
        Path,
        typer.Argument(
            metavar="RECOMMENDATION",
            help="A recommendation (.json or .csv of prophase size --export), or the jobs to "
            "make it from: a workspace, or a file or folder of a trace.",
        ),
    ],
    wanted: LimitSettings,
    made: RecommendationSettings,
    kept: GateSettings,
    runs: BackTestSettings,
    replay: PolicySettings,
    workspace: OptionalWorkspace = None,
    cluster: ClusterOption = None,
    prices: PricesOption = None,
    report: ReportOption = None,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Prove a recommendation on your own history before you apply it.

    Replays the history with today's requests and with the recommended ladder: hours, kills and
    retries, waits per class, utilisation, cost. At ten cut-off dates of the past a recommendation
    is made and its prediction compared with what came later. The verdict is about the limits you
    set; the exit code is 0 for a pass, else 1.

    Examples:

    `prophase prove recommendation.json --workspace ws --cluster nodes.csv --max-oom 1%`

    `prophase prove ws --risk 0.5% --cluster '20x0 64c 512g' --prices prices.toml --report proof`
    """
    from prophase.result import DataUsed
    from prophase.sizing.gpu_grants import parts_given
    from prophase.study.cluster import machines
    from prophase.study.proof.prover import prove
    from prophase.study.proof.report import proof_result
    from prophase.workers import parse_workers

    limits, seed = wanted.limits(), runs.seed
    fails_after = units.parse_share(runs.kills_after, where="--kills-after")
    with progress_bar() as show:
        show("reading", None)
        given, trace, where = _subject(advice, workspace, source)
        nodes = machines(trace, cluster)
        gate = kept.gate(parts_given(trace.jobs, trace.tables.get("nodes")))
        proof = prove(
            trace.jobs,
            given,
            nodes,
            limits=limits,
            prices=prices,
            risk=None
            if made.risk is None
            else units.parse_share(made.risk, where="--risk", below_one=True),
            gate=gate,
            resource=made.resource,
            kind=() if made.by is None else made.by.split(","),
            splits=runs.splits,
            seeds=runs.seeds,
            fails_after=fails_after,
            by=runs.waits_by,
            policy=replay.values(),
            seed=seed,
            workers=parse_workers(runs.workers),
            show=show,
        )
    data = DataUsed(str(where), len(trace.jobs), trace.data_hash, dropped=proof.left_out)
    result = proof_result(
        proof, data=data, command=typed_command(), advice_file=str(advice), source=trace.source
    )
    show_result(result, format)
    if report is not None:
        write_report(result, report)
    raise typer.Exit(0 if proof.verdict.outcome == "pass" else 1)


def _subject(
    advice: Path, history: Path | None, source: str | None
) -> tuple[Candidate | None, Trace, Path]:
    """Return the recommendation, if it is one, and the history it is proven on."""
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
                f"{advice} is a recommendation; name the jobs to prove it on: --workspace "
                "WORKSPACE (or a file of a trace)."
            )
    return given, open_trace(where, source=source, tables=["jobs", "nodes"]), where
