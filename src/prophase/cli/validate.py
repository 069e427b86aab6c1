"""prophase validate: does the simulation do what the cluster did?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, emit, finite, progress_bar, say
from prophase.cli.replay_options import ByOption, ClusterSettings, ReplaySettings, SlurmOption
from prophase.cli.shared_options import FiguresOption, PageOption, SeedOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import InputError, ParameterError, storage_error

if TYPE_CHECKING:
    from prophase.plots.page import Page
    from prophase.sim.validation.wait_validation import Validation

_COLUMNS = (
    "class jobs observed_mean_s simulated_mean_s error_pct p50_observed_s p50_simulated_s "
    "p90_observed_s p90_simulated_s ks rank_correlation valid"
).split()


@dataclass(frozen=True)
class ScoreSettings:
    """Which jobs are scored, and by which limits."""

    score_first: Annotated[
        int | None, typer.Option(min=1, help="Score only the jobs submitted first.")
    ] = None
    score_ids: Annotated[
        Path | None, typer.Option(help="Score only these jobs: a file with one job_id per line.")
    ] = None
    warm_up: Annotated[
        str, typer.Option(help=f"Jobs submitted this early are not scored, {units.DURATION_HELP}.")
    ] = "0s"
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Change a limit, e.g. mean_error=0.2."),
    ] = None


@dataclass(frozen=True)
class ValidationOutputs:
    """What is written beside the answer."""

    jobs_out: Annotated[
        Path | None, typer.Option("--out", help="Write observed and simulated waits as .csv.")
    ] = None
    page: PageOption = None
    figures: FiguresOption = None


def command(
    path: TraceArgument,
    cluster: ClusterSettings,
    replay: ReplaySettings,
    scored: ScoreSettings,
    outputs: ValidationOutputs,
    source: SourceOption = None,
    slurm: SlurmOption = None,
    clocks: Annotated[
        int,
        typer.Option(
            min=0,
            help="Replay so often, the scheduler's clock beginning at other instants, and take "
            "each job's mean wait; 0: 10 times for a scheduler that backfills by the clock, else "
            "once.",
        ),
    ] = 0,
    by: ByOption = "class",
    seed: SeedOption = 0,
    format: FormatOption = Format.table,
) -> None:
    """Replay a trace whose waits are known, and say what the simulation is valid for.

    The replay sees when jobs were submitted, what they asked for and how long they ran; never
    when they started. Every class of jobs gets a verdict by stated limits (--limit: mean_error,
    quantile_error, ks, rank_correlation, least_jobs, negligible_s).

    Examples:

    `prophase validate ws --cluster 100x8 --queue easy`

    `prophase validate log.swf --source swf --cluster 128x0 --by queue --warm-up 1d`

    `prophase validate run/ --nodes slurm.conf --slurm slurm.conf --clocks 10 --page report.html`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sim import Workload
    from prophase.sim.measures.job_classes import groups_of
    from prophase.sim.validation.scheduler_clocks import replay_clocks
    from prophase.sim.validation.verdict import Thresholds
    from prophase.sim.validation.wait_validation import validate, without_outcomes

    limits = Thresholds.parse(_pairs(scored.limit))
    warm_up_s = units.parse_duration(scored.warm_up, bare="s", where="--warm-up")
    wanted = _read_ids(scored.score_ids)
    policy = replay.values(slurm=slurm, seed=seed)
    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(path, source=source)
        machines = cluster.of(trace, path, source)
        workload = Workload.from_jobs(without_outcomes(trace.jobs))
        groups_of(workload, by)  # a wrong name is told before the work begins
        progress("replaying it", None)
        schedule, *others = replay_clocks(workload, machines, policy, clocks)
        progress("comparing waits", None)
        found = validate(
            trace.jobs,
            schedule,
            others=others,
            by=by,
            score_first=scored.score_first,
            score_ids=wanted,
            warm_up_s=warm_up_s,
            thresholds=limits,
            random_state=seed,
        )
        written = _write(found, outputs)
    document = {
        "nodes": len(machines),
        "gpus": machines.gpus,
        "policy": policy,
        **found.to_dict(),
        "data_hash": trace.data_hash,
    }
    rows = found.rows()
    if format is Format.table:
        rows = [{name: row[name] for name in _COLUMNS if name in row} for row in rows]
    emit(rows, format, document=finite(document), page=lambda: _page(found))
    if format is Format.table:
        _print_rest(found)
    for line in written:
        say(line)


def _print_rest(found: Validation) -> None:
    total = next(iter(found.scores.values()), None)
    if total is not None:
        typer.echo("\nGuesses that learn nothing, on all jobs\n")
        guesses = [
            ("simulation", total.mae_s, total.ks.value),
            ("nobody waits", total.mae_zero_s, total.ks_zero),
            ("observed median", total.mae_median_s, total.ks_median),
        ]
        emit(
            [{"guess": name, "mean_absolute_error_s": mae, "ks": ks} for name, mae, ks in guesses],
            Format.table,
        )
        typer.echo("\n" + "\n".join(_intervals(found)))
    if found.theory is not None:
        typer.echo(
            f"\nTrace, simulation and formulas: {found.theory.jobs:,} jobs on one pool of "
            f"{found.theory.servers:,} {found.theory.resource}\n"
        )
        told = [f"{one.view}: {one.note}." for one in found.theory.columns if one.note]
        emit(found.theory.rows(), Format.table, remarks=[*told, *found.theory.verdict])
    else:
        typer.echo(f"\nFormulas: not computable: {found.theory_missing}")
    for reason, count in found.left_out.items():
        typer.echo(f"Not scored: {count:,} jobs, {reason}.")
    for note in found.notes:
        typer.echo(note)
    typer.echo("")
    for verdict in found.verdicts:
        typer.echo(f"{verdict.name}: {verdict.words}.")


def _intervals(found: Validation) -> list[str]:
    """Say how sure the numbers of all jobs are."""
    total = next(iter(found.scores.values()))
    lines = []
    bias = total.bias_s
    if bias.known:
        lines.append(
            f"95 % intervals over {total.days} days: bias {units.cell(bias.low)} to "
            f"{units.cell(bias.high)} s, KS {total.ks.low:.2f} to {total.ks.high:.2f}"
            + (
                f", rank correlation {total.rank_correlation.low:.2f} to "
                f"{total.rank_correlation.high:.2f}."
                if total.rank_correlation
                else "."
            )
        )
    else:
        lines.append(f"No intervals: {bias.reason}.")
    lines += [
        f"Busy {name}: {observed:.1%} observed, {simulated:.1%} simulated."
        for name, (observed, simulated) in found.utilisation.items()
    ]
    return lines


def _page(found: Validation) -> Page:
    from prophase.cli.output import typed_command
    from prophase.plots.validation import validation_page

    return validation_page(found, command=typed_command())


def _write(found: Validation, outputs: ValidationOutputs) -> list[str]:
    jobs_out, page, figures = outputs.jobs_out, outputs.page, outputs.figures
    written = []
    if jobs_out is not None:
        try:
            found.jobs.to_csv(jobs_out, index=False)
        except OSError as cause:
            raise storage_error(cause, jobs_out) from cause
        written.append(f"Wrote {len(found.jobs):,} jobs to {jobs_out}.")
    if page is not None:
        from prophase.plots.page import write_page

        write_page(_page(found), page)
        written.append(f"Wrote {page}.")
    if figures is not None:
        from prophase.plots.style import save
        from prophase.plots.validation import validation_figures

        names = []
        for name, _, figure in validation_figures(found):
            save(figure, figures, name)
            names.append(name)
        written.append(f"Wrote {len(names)} figures to {figures}: {', '.join(names)}.")
    return written


def _pairs(texts: list[str] | None) -> dict[str, str]:
    pairs: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise ParameterError(f"--limit {text}: write NAME=VALUE, such as ks=0.2.")
        pairs[name] = value
    return pairs


def _read_ids(path: Path | None) -> list[str] | None:
    if path is None:
        return None
    try:
        ids = path.read_text(encoding="utf-8").split()
    except OSError as cause:
        raise storage_error(cause, path) from cause
    if not ids:
        raise InputError(f"{path}: names no jobs. Write one job_id per line.")
    return ids
