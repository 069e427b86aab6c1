"""prophase size bins: the thesis' predictor, trained on a trace of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    progress_bar,
    show_result,
    typed_command,
)
from prophase.cli.shared_options import MlflowOption, PricesOption, SeedOption
from prophase.cli.sizing_options import RiskOption
from prophase.cli.trace_options import TraceArgument


def command(
    path: TraceArgument,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--predict-task", help="Task to predict; may be repeated. [default: the best]"
        ),
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks that get 18 models.")] = 2,
    trials: Annotated[
        int, typer.Option("--model-trials", min=1, help="Settings tried by each model.")
    ] = 5,
    penalty: Annotated[
        float,
        typer.Option(help="Over-estimates that an under-estimate counts for; 1: plain accuracy."),
    ] = 10.0,
    budget: Annotated[
        str, typer.Option(help=f"Begin no further task after so long, {units.DURATION_HELP}.")
    ] = "2min",
    out: Annotated[
        Path | None,
        typer.Option(help="File for the model. [default: models/bins.model of a workspace]"),
    ] = None,
    risk: RiskOption = None,
    prices: PricesOption = None,
    mlflow: MlflowOption = None,
    seed: SeedOption = 0,
    format: FormatOption = Format.table,
) -> None:
    """Predict into which bin of memory each run will fall, as Song's thesis does.

    Searches bins, trains 18 models for each of the heaviest tasks that depend on the scenario
    (three binnings, XGBoost and SVM, three ways of sampling), tunes them on u_score, and replays
    the latest 30 % of the runs through the bins, today's requests and the recommender with one
    accounting. The trained model is served at /v1/bins.

    Examples:

    `prophase size bins ws`

    `prophase size bins trace.txt --penalty 1 --out bins.model --prices prices.toml`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sizing.bins.pipeline_study import BinsSettings, study_bins
    from prophase.sizing.bins.study_result import bins_result
    from prophase.trace.prices import Prices
    from prophase.trace.workspace import Workspace
    from prophase.trace.workspace_paths import BINS

    target = out or (path / BINS if Workspace.is_at(path) else None)
    settings = BinsSettings(
        tasks=tuple(task or ()),
        penalty=penalty,
        trials=trials,
        most_tasks=max(tasks, len(task or ())),
        budget_s=units.parse_duration(budget, bare="s", where="--budget", positive=True),
        risk=None if risk is None else units.parse_share(risk, where="--risk", below_one=True),
        seed=seed,
    )
    with progress_bar() as show:
        show("reading", None)
        jobs = open_trace(path, tables=["jobs"]).jobs
        found = study_bins(
            jobs,
            settings,
            prices=Prices.read(prices) if prices is not None else None,
            progress=lambda step: show(step, None),
        )
    saved, further = "", []
    if target is not None:
        found.model.save(target)
        saved = as_typed(target)
    else:
        further.append("The model was not kept; name a file with --out bins.model.")
    if mlflow is not None:
        from prophase.integrations.mlflow.bins import log_bins

        run_id = log_bins(found, mlflow, command=typed_command())
        further.append(f"Logged to MLflow as run {run_id}, with a run per model below it.")
    show_result(bins_result(found, saved=saved, further=further), format)
