"""prophase profile classify: how well does metadata tell the profile of a job?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    finite,
    progress_bar,
    say,
    show_result,
    text_table,
)
from prophase.cli.profile.options import LabelledJobs, LabelSettings, labelled_jobs
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import FiguresOption, SeedOption
from prophase.cli.split_options import SplitBy, SplitOption, TestShareOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.profile.classify.classifier_comparison import (
        ClassifierComparison,
        ClassifierScores,
    )

#: profiles that the table of the report shows
_MOST_SHOWN = 30


def command(
    path: TraceArgument,
    told: LabelSettings,
    methods: Annotated[
        str,
        typer.Option(
            "--classifiers", help="Classifiers joined by commas, or 'all'. The first is reported."
        ),
        Formerly("--methods"),
    ] = "all",
    split: SplitOption = SplitBy.time,
    test_share: TestShareOption = "20%",
    save: Annotated[
        Path | None, typer.Option(help="Train the first classifier on all jobs and keep it here.")
    ] = None,
    unknown_below: Annotated[
        str, typer.Option(help="With --save: probability below which a job is unknown, or auto.")
    ] = "auto",
    figures: FiguresOption = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Test how well the profile of a job is predicted from what is known at its submission.

    Every classifier is trained and judged on the same jobs: by row as in papers, by job, and
    by time, which is what happens in service. most-frequent learns nothing. The profiles
    themselves come from the use of all jobs, those judged on among them.

    Examples:

    `prophase profile classify ws`

    `prophase profile classify ws --metadata all --classifiers xgboost,rules --split job`

    `prophase profile classify ws --label workload --metadata user,group --save kind.model`
    """
    from prophase.profile.classify.classifier_comparison import SPLITS, compare_classifiers

    names = _methods(methods)
    share = units.parse_share(test_share, where="--test-share")
    line = _line(unknown_below)
    if split not in SPLITS:
        raise ParameterError(f"--split is {split.value!r}; choose {', '.join(SPLITS)}.")
    with progress_bar() as show:
        show("reading the jobs", None)
        held = labelled_jobs(path, source, told.label, told.profiles, seed)
        found = compare_classifiers(
            held.jobs,
            held.labels,
            names,
            metadata=told.metadata,
            test_share=share,
            random_state=seed,
            progress=lambda step: show(step, None),
        )
    # the last one there is if the wanted one is impossible; the notes say why
    shown = split.value if split.value in found.sides else list(found.sides)[-1]
    report = found.reports[names[0], shown]
    notes = [*held.notes, *found.notes]
    document: JsonObject = {**found.to_dict(), "notes": notes, "reported_split": shown}
    remarks = [*_report(report, names[0], shown), *_remarks(found, notes)]
    if figures is not None:
        from prophase.plots.profiles.classifier import write_confusion

        write_confusion(report, figures, f"{names[0]}, split by {shown}")
        remarks.append(f"Wrote confusion.png, .svg and .csv to {figures}.")
        remarks.append(_tree(held, names[0], told.metadata, seed, figures))
    if save is not None:
        remarks += _save(save, held, names[0], told.metadata, line, seed, document)
    rows = [_row(one) for one in found.table.to_dict("records")]
    show_result(
        Result.of_rows("profile-classify", rows, values=finite(document), notes=remarks), format
    )


def _methods(text: str) -> list[str]:
    from prophase.profile.classify.methods import METHODS, method_named

    words = [word.strip() for word in text.split(",") if word.strip()]
    names = [name for word in words for name in (METHODS if word == "all" else (word,))]
    for name in names:
        method_named(name)
    if not names:
        raise ParameterError(
            "--classifiers names none. Write for example: --classifiers xgboost,rules"
        )
    return list(dict.fromkeys(names))


def _line(text: str) -> float | str:
    try:
        return text if text == "auto" else float(text)
    except ValueError as cause:
        raise ParameterError(
            f"--unknown-below is {text!r}; write a probability such as 0.6, or auto."
        ) from cause


def _row(one: dict[Any, Any]) -> JsonObject:
    return {str(key): round(v, 4) if isinstance(v, float) else v for key, v in one.items()}


def _report(report: ClassifierScores, method: str, split: str) -> list[str]:
    shown = report.per_class
    lines = [f"Per profile: {method}, split by {split}, {report.jobs:,} jobs."]
    if len(shown) > _MOST_SHOWN:
        shown = shown.nlargest(_MOST_SHOWN, "support")
        lines.append(f"The {_MOST_SHOWN} largest of {len(report.per_class)}; JSON holds all.")
    lines += text_table([_row(one) for one in shown.to_dict("records")])
    if report.never_predicted:
        told = ", ".join(map(str, report.never_predicted))
        lines.append(f"Never predicted although jobs had them: {told}.")
    if report.never_learnt:
        told = ", ".join(map(str, report.never_learnt))
        lines.append(f"Not among the training jobs: {told}.")
    return [*lines, ""]


def _remarks(found: ClassifierComparison, notes: list[str]) -> list[str]:
    sides = "; ".join(
        f"{name}: {train:,} and {test:,}" for name, (train, test) in found.sides.items()
    )
    return [
        f"Predicted from {', '.join(found.columns)}. {found.size.sentence()}",
        f"Training and test jobs, by split: {sides}.",
        *notes,
    ]


def _tree(held: LabelledJobs, method: str, metadata: str, seed: int, folder: Path) -> str:
    """Draw the first tree of the first profile, learnt from all jobs, and say what it is."""
    from prophase.plots.profiles.classifier import write_tree
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.classify.explanation import decision_tree

    if method != "xgboost":
        return f"{method} has no tree that can be drawn; --classifiers xgboost has."
    made = ProfileClassifier(method, metadata=metadata, unknown_below=0.0, random_state=seed)
    made.fit(held.jobs, held.labels)
    if len(made.classes_) < 2:
        return "There is one profile only, so no tree was drawn."
    profile = made.classes_[0]
    name = write_tree(decision_tree(made, profile), str(profile), 0, folder)
    return f"Wrote {name}: a tree of profile {profile}; profile explain --tree draws others."


def _save(
    target: Path,
    held: LabelledJobs,
    method: str,
    metadata: str,
    line: float | str,
    seed: int,
    document: JsonObject,
) -> list[str]:
    from prophase.profile.classify.classifier import ProfileClassifier

    made = ProfileClassifier(method, metadata=metadata, unknown_below=line, random_state=seed)
    made.fit(held.jobs, held.labels)
    made.save(target)
    say(f"Wrote {target}.")
    document["model"] = {"file": str(target), "threshold": made.threshold_.to_dict()}
    return [
        f"Trained {method} on {counted(made.size_.jobs, 'job')}. {made.threshold_.sentence()}",
        f"Next: prophase profile explain {as_typed(target)}",
    ]
