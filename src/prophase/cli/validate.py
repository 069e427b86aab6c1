"""prophase validate: does the simulation do what the cluster did?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    keep_result,
    kept_folder,
    progress_bar,
    show_result,
    write_figures,
    write_page,
    write_table,
)
from prophase.cli.replay_options import ByOption, ClusterSettings, ReplaySettings, SlurmOption
from prophase.cli.shared_options import FiguresOption, PageOption, SaveOption, SeedOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import InputError, ParameterError, storage_error
from prophase.json_types import JsonObject


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
    learn_rules: Annotated[
        bool,
        typer.Option(
            "--learn-rules",
            help="Learn hours, outages and limits per user from the first half of the log, score "
            "the second half, and say whether they beat naive guesses.",
        ),
    ] = False
    time_zone: Annotated[
        str, typer.Option(help="Whose days and nights --learn-rules goes by, e.g. Europe/Paris.")
    ] = "UTC"
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
    keep: SaveOption = None


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

    `prophase validate ws --cluster '100x8 96c 512g' --queue easy`

    `prophase validate log.swf --source swf --cluster '128x0 1c' --by queue --warm-up 1d`

    `prophase validate run/ --nodes slurm.conf --slurm slurm.conf --clocks 10 --page report.html`

    `prophase validate log.swf --source swf --queue easy --learn-rules --time-zone Europe/Paris`
    """
    from prophase.cli.provenance import open_trace
    from prophase.plots.illustrations import with_validation_figures
    from prophase.sim.validation.replay_check import Scoring, check_replay
    from prophase.sim.validation.verdict import Thresholds

    kept_folder(outputs.keep, path)
    if scored.learn_rules:
        _refuse_beside_rules(slurm, scored)
    scoring = Scoring(
        by=by,
        clocks=clocks,
        warm_up_s=units.parse_duration(scored.warm_up, bare="s", where="--warm-up"),
        score_first=scored.score_first,
        score_ids=_read_ids(scored.score_ids),
        thresholds=Thresholds.parse(_pairs(scored.limit)),
        learn_rules=scored.learn_rules,
        time_zone=scored.time_zone,
        seed=seed,
    )
    policy = replay.values(slurm=slurm, seed=seed)
    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(path, source=source)
        machines = cluster.of(trace, path, source)
        found, result = check_replay(trace, machines, policy, scoring, progress)
        result = with_validation_figures(result, found)
    show_result(result, format)
    keep_result(result, outputs.keep, path)
    if outputs.jobs_out is not None:
        write_table(found.jobs, outputs.jobs_out, "job")
    if outputs.page is not None:
        write_page(result, outputs.page)
    if outputs.figures is not None:
        write_figures(result, outputs.figures)


def _refuse_beside_rules(slurm: Path | None, scored: ScoreSettings) -> None:
    """Refuse what does not go with learning rules."""
    if slurm is not None:
        raise ParameterError(
            "--learn-rules is for sites whose rules are not known; --slurm states them. Give one."
        )
    if scored.score_ids is not None or scored.score_first is not None:
        raise ParameterError(
            "--learn-rules scores the second half of the log: leave out --score-ids and "
            "--score-first."
        )


def _pairs(texts: list[str] | None) -> dict[str, str]:
    pairs: JsonObject = {}
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
