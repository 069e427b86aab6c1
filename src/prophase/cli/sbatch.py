"""prophase sbatch: what a batch script should request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import (
    Format,
    FormatOption,
    WorkspaceOption,
    progress_bar,
    say,
    show_result,
)
from prophase.cli.trace_options import ColumnsOption, named_values
from prophase.errors import (
    InputError,
    MissingFileError,
    ParameterError,
    WorkspaceError,
    storage_error,
)
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.study.submission.job_recommender import JobRecommender


def command(
    script: Annotated[Path, typer.Argument(help="Slurm batch script.")],
    workspace: WorkspaceOption,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write a copy of the script with the recommended lines.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="The copy. [default: SCRIPT with .recommended in its name]")
    ] = None,
    set_: ColumnsOption = None,
    attempt: Annotated[
        int, typer.Option(min=1, help="2 after the job was killed for too little, and so on.")
    ] = 1,
    format: FormatOption = Format.table,
) -> None:
    """Recommend what a Slurm script should request, and say why.

    Memory, CPUs and time are recommended where the past of such jobs proves it; every other request
    stays, with the reason. The script itself is never changed.

    Examples:

    `prophase sbatch train.sbatch --workspace ws`

    `prophase sbatch train.sbatch --workspace ws --apply --attempt 2`
    """
    from prophase.profile.submission.slurm_script import is_script, script_options
    from prophase.study.submission.sbatch import command_of, recommended_options, rewritten

    text = _text(script)
    if not is_script(text):
        raise InputError(f"{script}: has no #SBATCH lines, so nothing says what it asks for.")
    recommender = _recommender(workspace)
    program = command_of(text)
    job = _job(script, text, program, recommender, set_ or [], workspace)
    counsel = recommender.counsel(job)
    advised, stay = recommended_options(counsel, script_options(text, str(script)), attempt=attempt)
    copy = None
    if apply or out is not None:
        copy = _write(script, out, rewritten(text, advised)) if advised else None
        if copy is None:
            say("Nothing is recommended, so no copy was written.")
    rows: list[JsonObject] = [
        {"advised": one.line, "if_killed": ", ".join(one.later) or "-", "why": one.why}
        for one in advised
    ]
    document = {
        "script": str(script),
        "command": program,
        "advised": [
            {"option": one.option, "value": one.value, "later": list(one.later), "why": one.why}
            for one in advised
        ],
        "stays": stay,
        "counsel": counsel.to_dict(),
        "copy": None if copy is None else str(copy),
    }
    if format is not Format.table:
        show_result(Result.of_rows("sbatch", rows, values=document), format)
        return
    _tell(advised, stay, list(counsel.silent), counsel.words(), counsel.duration is not None)
    if copy is not None:
        typer.echo(f"\nWrote {copy}. Next: sbatch {copy}")


def _tell(advised: Any, stay: list[str], silent: list[str], words: list[str], timed: bool) -> None:
    """Print the lines to use, ready to copy, and the reasons as comments."""
    if timed:
        typer.echo(f"# {words[0]}")
    for one in advised:
        typer.echo(f"{one.line}\n#   {one.why}")
        for value in one.later:
            typer.echo(f"#   if killed: sbatch --{one.option}={value}")
    for sentence in (*stay, *silent):
        typer.echo(f"# stays: {sentence}")


def _text(script: Path) -> str:
    if not script.is_file():
        raise MissingFileError(f"{script}: there is no such file.")
    try:
        return script.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as cause:
        raise InputError(f"{script}: is not text ({cause.reason}). Give a batch script.") from cause
    except OSError as cause:
        raise storage_error(cause, script) from cause


def _recommender(workspace: Path) -> JobRecommender:
    """Return the recommender of the saved models, which the service and the plugins ask, too."""
    from prophase.cli.provenance import note_model
    from prophase.study.workspace_models import answering_recommender
    from prophase.trace.workspace import Workspace

    if not Workspace.is_at(workspace):
        raise WorkspaceError(
            f"{workspace}: is not a workspace. Import finished jobs into one first."
        )
    with progress_bar() as show:
        found = answering_recommender(workspace, show=show, tell=say)
    note_model(found.requests.data_hash if found.requests is not None else "")
    return found


def _job(
    script: Path,
    text: str,
    program: str | None,
    recommender: JobRecommender,
    pairs: list[str],
    workspace: Path,
) -> Any:
    """Return the job of a script; what it leaves out is what Slurm would fill in."""
    import getpass

    from prophase.integrations.slurm.user_defaults import user_defaults
    from prophase.profile.submission.slurm_script import from_script
    from prophase.profile.submission.submission import Submission, from_fields

    found = from_script(text, str(script))
    more = from_fields(named_values(pairs, "--set"), form=found.form, where="--set")
    columns: JsonObject = {"name": script.name, **found.columns, **more.columns}
    known = set(recommender.model.columns) if recommender.model is not None else set()
    if recommender.requests is not None:
        known |= set(recommender.requests.rule.columns)
    columns.setdefault("user", getpass.getuser())
    if "attr_workdir" in known:
        columns.setdefault("attr_workdir", str(Path.cwd()))
    if "workload" in known and program:
        columns.setdefault("workload", program)
    if not {"group", "queue"} <= set(columns):
        user = str(columns["user"])
        for name, value in {**_of_history(workspace, user), **user_defaults(user)}.items():
            columns.setdefault(name, value)
    return Submission(columns, found.form, (*found.notes, *more.notes))


def _of_history(workspace: Path, user: str) -> dict[str, str]:
    """Return the account and partition that the user's jobs mostly had."""
    from prophase.trace.workspace import Workspace

    held = Workspace(workspace).tables.get("jobs")
    names = [name for name in ("group", "queue") if held is not None and name in held.columns]
    if held is None or not names or "user" not in held.columns:
        return {}
    own = Workspace(workspace).read("jobs", ["user", *names])
    own = own[own["user"] == user]
    usual = {name: own[name].mode() for name in names}
    return {name: str(values.iloc[0]) for name, values in usual.items() if len(values)}


def _write(script: Path, out: Path | None, text: str) -> Path:
    """Write the copy; a file that is not such a copy is never overwritten."""
    from prophase.study.submission.sbatch import MARK

    copy = out or script.with_name(f"{script.stem}.recommended{script.suffix}")
    try:
        if copy.exists() and (
            copy.samefile(script) or MARK not in copy.read_text("utf-8", errors="replace")
        ):
            raise ParameterError(f"{copy}: is there already. Name another file with --out.")
        copy.write_text(text, encoding="utf-8")
        copy.chmod(script.stat().st_mode & 0o777)
    except OSError as cause:
        raise storage_error(cause, copy) from cause
    return copy
