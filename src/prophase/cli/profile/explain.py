"""prophase profile explain: which metadata decides about the profile of a job?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, finite, progress_bar, show_result, text_table
from prophase.cli.profile.options import JobsOption, LabelSettings, TopOption, labelled_jobs
from prophase.cli.shared_options import FiguresOption, SeedOption
from prophase.cli.trace_options import SourceOption
from prophase.errors import InputError, ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from prophase.profile.classify.classifier import ProfileClassifier


def command(
    told: LabelSettings,
    path: Annotated[
        Path,
        typer.Argument(
            help="A workspace or trace to learn from, or a file that profile classify --save wrote."
        ),
    ],
    jobs: JobsOption = None,
    job: Annotated[str | None, typer.Option(help="Id of a job.")] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="Number of a profile. [default: that of the job]"),
    ] = None,
    tree: Annotated[
        int | None,
        typer.Option(help="With --profile: show the tree of this round of training, from 0 on."),
    ] = None,
    top: TopOption = 20,
    figures: FiguresOption = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Say which metadata decides about profiles, over all jobs or for one.

    SHAP values are in log-odds: 0.7 towards a profile doubles its odds. Those of one job add
    up to what the classifier says of it.

    Examples:

    `prophase profile explain ws`

    `prophase profile explain kind.model --trace ws --job 17`

    `prophase profile explain ws --profile 8 --tree 0`
    """
    if tree is not None and profile is None:
        raise ParameterError("--tree needs --profile: each profile has its own trees.")
    with progress_bar() as show:
        show("learning", None)
        made, table, notes = _classifier(
            path, jobs, told.metadata, told.label, told.profiles, seed, source
        )
        if tree is not None and profile is not None:
            _tree(made, profile, tree, figures, format)
        elif job is not None:
            _one(made, table, job, profile, notes, figures, format)
        else:
            show("explaining", None)
            _all(made, table, top, notes, figures, seed, format)


def _classifier(
    path: Path,
    jobs: Path | None,
    metadata: str,
    label: str | None,
    profiles: Path | None,
    seed: int,
    source: str | None,
) -> tuple[ProfileClassifier, pd.DataFrame | None, list[str]]:
    """Return a saved classifier, or one learnt now, and the jobs to look at."""
    from prophase.cli.provenance import open_trace
    from prophase.profile.classify.classifier import ProfileClassifier

    if _is_model(path):
        made = ProfileClassifier.load(path)
        table = None
        if jobs is not None:
            table = open_trace(jobs, source=source, tables=["jobs"]).jobs
        return made, table, list(made.notes_)
    if jobs is not None:
        raise ParameterError("--trace goes with a file of --save; a trace has its own jobs.")
    held = labelled_jobs(path, source, label, profiles, seed)
    made = ProfileClassifier(metadata=metadata, unknown_below=0.0, random_state=seed)
    made.fit(held.jobs, held.labels)
    return made, held.jobs, [*held.notes, *made.notes_]


def _is_model(path: Path) -> bool:
    """Say whether this is, or by its name should be, a file of a classifier."""
    if path.suffix == ".model" or not path.is_file():
        return path.suffix == ".model"
    with path.open("rb") as held:
        return b"manifest.json" in held.read(100)


def _all(
    made: ProfileClassifier,
    table: pd.DataFrame | None,
    top: int,
    notes: list[str],
    figures: Path | None,
    seed: int,
    format: Format,
) -> None:
    from prophase.profile.classify.explanation import decision_tree, importance, shap_summary

    found = importance(made, top)
    document: JsonObject = {
        "classes": list(made.classes_),
        "columns": list(made.columns_),
        "importance": found.to_dict("records"),
        "notes": notes,
    }
    remarks: list[str] = []
    rows: Any = found.to_dict("records")
    summary = None
    if table is not None:
        summary = shap_summary(made, table, top=top, random_state=seed)
        document["shap"] = {
            "jobs": summary.jobs,
            "columns": summary.columns.to_dict("records"),
            "values": summary.words.to_dict("records"),
            "per_profile": summary.per_profile.round(6).to_dict("index"),
        }
        remarks += [f"SHAP, mean over {summary.jobs:,} jobs and summed over profiles:"]
        remarks += [*text_table(_plain(summary.columns)), ""]
        remarks += [*text_table(_plain(summary.words)), ""]
    else:
        remarks.append("For SHAP values add the jobs: --trace WORKSPACE")
    if figures is not None:
        from prophase.plots.profiles.classifier import write_explanation, write_tree

        names = write_explanation(found, summary, figures)
        profile = made.classes_[0]
        names.append(write_tree(decision_tree(made, profile), str(profile), 0, figures))
        remarks.append(f"Wrote {', '.join(names)} to {figures}.")
    show_result(
        Result.of_rows(
            "profile-explain-all", rows, values=finite(document), notes=[*remarks, *notes]
        ),
        format,
    )


def _one(
    made: ProfileClassifier,
    table: pd.DataFrame | None,
    job: str,
    profile: str | None,
    notes: list[str],
    figures: Path | None,
    format: Format,
) -> None:
    from prophase.profile.classify.explanation import shap_of_job

    if table is None:
        raise ParameterError("--job needs the jobs themselves. Add --trace WORKSPACE.")
    ids = table["job_id"].astype(str)
    chosen = table[(ids == job).to_numpy()]
    if chosen.empty:
        known = [str(one) for one in ids.head(200)]
        raise InputError(not_among(f"there is no job {job!r}.", job, known, most=3))
    found = shap_of_job(made, chosen.head(1), profile)
    told = made.assign(chosen.head(1), partial=True).iloc[0]
    document = {
        "job_id": job,
        "profile": found.profile,
        "probability": found.probability,
        "assigned": told["profile"],
        "reason": told["reason"],
        "base": found.base,
        "pushes": found.pushes.to_dict("records"),
        "notes": notes,
    }
    remarks = [
        *found.sentences(),
        f"Profile {found.profile} has probability {found.probability:.2f}: {told['reason']}.",
    ]
    if figures is not None:
        from prophase.plots.profiles.classifier import write_job

        remarks.append(f"Wrote {write_job(found, job, figures)} to {figures}.")
    show_result(
        Result.of_rows(
            "profile-explain-one",
            _plain(found.pushes),
            values=finite(document),
            notes=[*remarks, *notes],
        ),
        format,
    )


def _tree(
    made: ProfileClassifier, profile: str, tree: int, figures: Path | None, format: Format
) -> None:  # fmt: skip
    from prophase.profile.classify.explanation import decision_tree

    root = decision_tree(made, profile, tree)
    text = "\n".join(root.lines())
    document = {"profile": profile, "round": tree, "tree": text}
    written = []
    if figures is not None:
        from prophase.plots.profiles.classifier import write_tree

        written = [f"Wrote {write_tree(root, profile, tree, figures)} to {figures}."]
    if format is Format.table:
        typer.echo("\n".join([text, *written]))
        return
    lines = [{"tree": line} for line in text.splitlines()]
    show_result(
        Result.of_rows("profile-explain-tree", lines, values=document, notes=written), format
    )


def _plain(table: pd.DataFrame) -> list[JsonObject]:
    return [{str(k): finite(v) for k, v in row.items()} for row in table.to_dict("records")]
