"""prophase evaluate: how good are predictions, method beside method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.model_options import TargetOption
from prophase.cli.output import (
    Format,
    FormatOption,
    finite,
    progress_bar,
    show_result,
    typed_command,
)
from prophase.cli.shared_options import FiguresOption, MethodsOption, MlflowOption, SeedOption
from prophase.cli.split_options import (
    CutOption,
    SplitBy,
    SplitOption,
    TestOption,
    TestShareOption,
    TrainOption,
    moment,
)
from prophase.cli.trace_options import SourceOption
from prophase.errors import MissingColumnError, ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from prophase.profile.predict.evaluation import Evaluation

_SHOWN = (
    "median_ape_pct",
    "within_20_pct",
    "within_50_pct",
    "within_x2_pct",
    "r2_log",
    "signed_log_error",
    "coverage_90_pct",
    "range_factor_median",
)
#: of targets that are true or false
_SHOWN_YES_NO = ("yes_pct", "roc_auc", "balanced_accuracy_pct", "brier")


@dataclass(frozen=True)
class SideSettings:
    """What is learnt from, and what is tested on."""

    train: TrainOption = None
    test: TestOption = None
    split: SplitOption = SplitBy.time
    test_share: TestShareOption = "25%"
    cut: CutOption = None


def command(
    asked: SideSettings,
    path: Annotated[
        Path | None, typer.Argument(help="A workspace, or a file or folder of a trace.")
    ] = None,
    target: TargetOption = "duration_s",
    methods: MethodsOption = "default,baselines",
    online: Annotated[
        bool,
        typer.Option("--online", help="Let every job that ended before a submission count."),
    ] = False,
    strata: Annotated[bool, typer.Option("--strata", help="One row per stratum.")] = False,
    figures: FiguresOption = None,
    per: Annotated[
        str | None,
        typer.Option(
            help="Figures: column that groups jobs, or profile. [default: profile, else stratum]"
        ),
    ] = None,
    mlflow: MlflowOption = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Compare methods, on jobs they were not trained on, with baselines that learn nothing.

    No single measure is enough: read within_x2_pct and r2_log together; median_ape_pct
    rewards predicting too little. Intervals in JSON are 95 % bootstrap intervals.

    Examples:

    `prophase evaluate ws`

    `prophase evaluate ws --online --methods all --strata`

    `prophase evaluate ws --online --figures figures --per workload`

    `prophase evaluate --source drac --train may.csv.gz --test june.csv.gz --format json`
    """
    from prophase.profile.predict.evaluation import evaluate

    if per is not None and figures is None:
        raise ParameterError("--per groups the jobs of the figures. Add --figures FOLDER.")
    names = _methods(methods, target)
    learnt, judged, rule, notes = _sides(path, asked, seed, source)
    grouped = _groups(judged, per, lambda: _profiles(path, learnt, judged, seed))
    with progress_bar() as show:
        found = evaluate(
            learnt,
            judged,
            names,
            target=target,
            online=online,
            random_state=seed,
            progress=lambda name: show(name, None),
        )
    notes += found.notes
    remarks = [*notes, *_closing(found)]
    drawn = _draw(found, judged, figures, grouped) if figures is not None else {}
    remarks += drawn.pop("remarks", [])
    document = {
        "target": target,
        "split": rule,
        "online": online,
        "train_jobs": found.train_jobs,
        "test_jobs": found.test_jobs,
        "notes": notes,
        "methods": found.methods,
        **drawn,
    }
    if mlflow is not None:
        from prophase.integrations.mlflow.tracking import log_evaluation

        run_id = log_evaluation(finite(document), mlflow, command=typed_command())
        remarks.append(f"Logged to MLflow as run {run_id} of the experiment prophase.")
    show_result(
        Result.of_rows("evaluate", _rows(found, strata), values=finite(document), notes=remarks),
        format,
    )


def _methods(text: str, target: str) -> list[str]:
    from prophase.profile.predict.methods import BASELINES, METHODS

    sets = {"all": METHODS, "baselines": BASELINES}
    names = [name for word in text.split(",") for name in sets.get(word.strip(), (word.strip(),))]
    if target != "duration_s" and "time-limit" not in text:
        names = [name for name in names if name != "time-limit"]
    if not any(names):
        raise ParameterError("--methods names none. Write for example: --methods default,forest")
    return list(dict.fromkeys(name for name in names if name))


def _sides(
    path: Path | None, asked: SideSettings, seed: int, source: str | None
) -> tuple[pd.DataFrame, pd.DataFrame, str, list[str]]:
    """Return the jobs to learn from and to be judged on, and how they were told apart."""
    from prophase.cli.provenance import open_trace
    from prophase.trace.split import SEEDED_SPLITS, split_by_time

    train, test, by, test_share = asked.train, asked.test, asked.split, asked.test_share
    if (train is None) != (test is None):
        raise ParameterError("--train and --test go together.")
    if (path is None) == (train is None):
        raise ParameterError("give either a trace or --train and --test, and not both.")
    if train is not None and test is not None:
        sides = [open_trace(p, source=source, tables=["jobs"]).jobs for p in (train, test)]
        return sides[0], sides[1], "separate files", []
    assert path is not None
    jobs = open_trace(path, source=source, tables=["jobs"]).jobs
    if asked.cut is not None:
        if by is not SplitBy.time:
            raise ParameterError(f"--cut goes with --split time, not with --split {by}.")
        split = split_by_time(jobs, moment(asked.cut))
    elif by is SplitBy.time:
        split = split_by_time(jobs, test_share=units.parse_share(test_share, where="--test-share"))
    else:
        share = units.parse_share(test_share, where="--test-share")
        split = SEEDED_SPLITS[by](jobs, share, random_state=seed)
    return jobs.iloc[split.train], jobs.iloc[split.test], split.rule, list(split.notes)


def _rows(found: Evaluation, strata: bool) -> list[JsonObject]:
    rows = []
    for name, measures in found.methods.items():
        rows.append(_row(name, "all", measures) if strata else _row(name, None, measures))
        if strata:
            rows += [_row(name, kind, part) for kind, part in measures["strata"].items()]
    return rows


def _row(name: str, stratum: str | None, measures: JsonObject) -> JsonObject:
    told = measures["jobs"] - measures.get("abstained", 0)
    start: JsonObject = {"method": name} | ({"stratum": stratum} if stratum else {})
    shown = [key for key in (*_SHOWN, *_SHOWN_YES_NO) if key in measures]
    return start | {"jobs": told} | {key: finite(measures[key]) for key in shown}


def _groups(
    jobs: pd.DataFrame, per: str | None, profiles: Callable[[], pd.Series]
) -> tuple[str, pd.Series | None]:  # fmt: skip
    """Return what groups the jobs of a figure, and the group of each; strata come with answers."""
    named = per or ("profile" if "profile" in jobs else "stratum")
    if named == "stratum":
        return named, None
    if named in jobs:
        return named, jobs[named]
    if named == "profile":
        return named, profiles()
    known = ["stratum", "profile", *map(str, jobs)]
    raise MissingColumnError(not_among(f"--per {named}: no such column.", named, known))


def _profiles(
    path: Path | None, learnt: pd.DataFrame, judged: pd.DataFrame, seed: int
) -> pd.Series:  # fmt: skip
    """Return the profile of each job by its use: those of the workspace, else of earlier jobs."""
    import pandas as pd

    from prophase.cli.profile.options import open_profiles
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.trace.workspace_paths import PROFILES

    if path is not None and (path / PROFILES).is_file():
        profiler = open_profiles(path)
    else:
        profiler = WorkloadProfiler(random_state=seed).fit(ended_jobs(learnt).jobs)
    names = {one.profile: f"{one.profile}: {one.name}" for one in profiler.profiles_}
    numbers = profiler.predict(judged).tolist()
    return pd.Series([names.get(one, "none") for one in numbers], judged.index)


def _draw(
    found: Evaluation, judged: pd.DataFrame, folder: Path, grouped: tuple[str, pd.Series | None]
) -> JsonObject:
    """Write the figures of Fig. 5 and return their numbers, with words about the worst groups."""
    from prophase.plots.prediction_errors import write_error_figures
    from prophase.profile.predict.submit_columns import outcomes

    first, answers = next(iter(found.answers.items()))
    jobs = judged.loc[answers.index]
    named, own = grouped
    groups = answers["stratum"] if own is None else own.loc[answers.index]
    curves, table = write_error_figures(
        folder, outcomes(jobs, found.target), found.answers, groups, per=named
    )
    said = [f"Wrote error-cdf and error-boxes to {folder}."]
    for curve in curves:
        parts = [
            f"{100 * share:.1f} % of jobs within {mark:g} % "
            f"({100 * curve.within_ratio[mark]:.1f} % if the ratio {mark:g} is read as {mark:g} %)"
            for mark, share in curve.within.items()
        ]
        said.append(f"{curve.method}: {', '.join(parts)}.")
    worst = table[table["cause"] != ""].head(5)
    said += [
        f"{first}, {named} {row.group}: {row.large:,} of {row.jobs:,} errors over 100 %, median "
        f"{row.q50:.0f} %; cause: {row.cause}."
        for row in worst.itertuples()
    ]
    return {
        "remarks": said,
        "errors": {
            curve.method: {
                "within_pct": {f"{mark:g}": share for mark, share in curve.within.items()},
                "within_ratio": {f"{mark:g}": share for mark, share in curve.within_ratio.items()},
            }
            for curve in curves
        },
        "groups": {"per": named, "rows": table.to_dict("records")},
    }


def _closing(found: Evaluation) -> list[str]:
    said = [f"Learnt from {found.train_jobs:,} jobs, judged on {found.test_jobs:,}."]
    silent = {n: m["abstained"] for n, m in found.methods.items() if m["abstained"]}
    if silent:
        listed = ", ".join(f"{name} {count:,}" for name, count in silent.items())
        said.append(f"Without an answer, and not judged: {listed}.")
    return said
