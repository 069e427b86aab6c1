"""The first step of a study: the trace in a workspace, read again only if something changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from prophase.atomic_files import write_whole
from prophase.errors import (
    BadRowsError,
    MissingColumnError,
    MissingFileError,
    ParameterError,
    WorkspaceError,
    storage_error,
)
from prophase.json_types import JsonMapping
from prophase.plural import as_typed, listed
from prophase.study.plan import StudyPlan
from prophase.study.steps.cache import key_of
from prophase.study.steps.context import Show
from prophase.trace.mapping.mapping_proposal import unsure_columns, usable_mapping
from prophase.trace.source_files import file_hash, files_below
from prophase.trace.source_recognition import recognise_source, traces_in
from prophase.trace.workspace import Workspace

#: below a workspace: results of steps
CACHE = Path(".cache", "study")
#: where a guessed mapping is put, for the user to read and correct
MAPPING = "mapping.toml"
#: how tables that a study imported are marked, so that it may replace them
_COMMAND = "prophase study"
#: tables that a study can do something with
_TABLES = ("jobs", "usage")


@dataclass(frozen=True)
class Imported:
    """The workspace of a study's trace, and whether it had to be filled."""

    workspace: Path
    fresh: bool


def place_of(plan: StudyPlan, out: str | Path | None) -> Path:
    """Return the folder that a study keeps its results in."""
    path = Path(plan.trace)
    if out is not None:
        return Path(out)
    return path if _is_workspace(plan) else _beside(path)


def imported(plan: StudyPlan, place: Path, show: Show) -> Imported:
    """Return the workspace of the trace; raw files are read into ``place``."""
    path = Path(plan.trace)
    if _is_workspace(plan):
        if not Workspace(path).tables:
            raise MissingFileError(
                f"{path}: the workspace is empty. Fill it with: prophase import SOURCE PATH "
                f"--workspace {path}"
            )
        return Imported(path, False)
    if not path.exists():
        raise MissingFileError(f"{path}: there is no such trace, file or workspace.")
    plan = _with_reader(plan, place)
    try:
        return Imported(place, _filled(plan, place, show))
    except BadRowsError:
        # our names, but times or amounts written in a form that only a mapping tells
        if plan.source != "csv" or "map" in plan.options:
            raise
        try:
            guessed = _mapped(plan, place, usable_mapping(path, _TABLES))
        except MissingColumnError:
            guessed = plan
        if guessed is plan:
            raise
    return Imported(place, _filled(guessed, place, show))


def import_notes(workspace: Path) -> list[str]:
    """Return what a reader of the results must know of how the trace was read."""
    said = []
    for name, entry in Workspace(workspace).tables.items():
        counts = (entry.report.get("tables") or {}).get(name) or {}
        for what, verb in (("dropped", "left out"), ("repaired", "corrected")):
            for reason, rows in (counts.get(what) or {}).items():
                said.append(f"Import: {rows:,} rows of {name} {verb}: {reason}.")
    mapping = workspace / MAPPING
    if mapping.is_file():
        unsure = unsure_columns(mapping.read_text(encoding="utf-8"))
        said.append(
            f"The meaning of columns was guessed from their names ({mapping})"
            + (f"; unsure: {'; '.join(unsure)}" if unsure else "")
            + ". Correct that file if something is wrong, and run the study again."
        )
    return said


def _is_workspace(plan: StudyPlan) -> bool:
    return plan.source is None and Workspace.is_at(Path(plan.trace))


def _with_reader(plan: StudyPlan, place: Path) -> StudyPlan:
    """Name the reader; files that none knows are read by a mapping that is guessed."""
    if "map" in plan.options:
        return replace(plan, source=plan.source or "csv")
    if plan.source is not None:
        return plan
    source, mapping = recognise_source(Path(plan.trace), _TABLES)
    _refuse_several(Path(plan.trace), source)
    return replace(plan, source=source) if mapping is None else _mapped(plan, place, mapping)


def _refuse_several(folder: Path, source: str) -> None:
    """Stop at a folder with several traces: neither may one speak for all, nor all for one."""
    traces = traces_in(folder, source)
    if len(traces) < 2:
        return
    named = [
        f"{listed([str(path.relative_to(folder)) for path in found], most=1)} ({name})"
        for name, found in traces.items()
    ]
    first = next(iter(traces.values()))
    one = first[0] if len(first) == 1 else folder / "ONE"
    raise ParameterError(
        f"{folder}: holds several traces: {listed(named)}. Study one at a time"
        f"{'' if len(first) == 1 else ', in a folder of its own'}: prophase study "
        f"{as_typed(one)}; or read those of one source together: --source {source}."
    )


def _mapped(plan: StudyPlan, place: Path, text: str) -> StudyPlan:
    """Write a mapping from the names of columns; one that the user has corrected stays."""
    mapping, before = place / MAPPING, place / CACHE / f"{MAPPING}.guess"
    try:
        ours = (
            before.is_file() and mapping.is_file() and mapping.read_bytes() == before.read_bytes()
        )
    except OSError as cause:
        raise storage_error(cause, mapping) from cause
    if ours or not mapping.exists():
        for target in (before, mapping):
            write_whole(target, text)
    return replace(plan, source="csv", options={**plan.options, "map": str(mapping)})


def _filled(plan: StudyPlan, folder: Path, show: Show) -> bool:
    """Import the raw files unless the workspace holds just that; tell whether it was done."""
    from prophase.trace.import_pipeline import import_trace

    path, source = Path(plan.trace), plan.source
    assert source is not None
    workspace = Workspace.prepare(folder)
    stamp = _stamp(plan, path)
    before = workspace.tables if Workspace.is_at(folder) else {}
    note = folder / CACHE / "import.stamp"
    if before and note.is_file() and note.read_text(encoding="utf-8") == stamp:
        return False
    if before and not any(entry.command == _COMMAND for entry in before.values()):
        raise WorkspaceError(
            f"{folder}: already has {', '.join(before)}, which no study put there. Study them as "
            f"they are: prophase study {as_typed(folder)}; or choose another folder with --out."
        )
    import_trace(
        source, path, workspace, engine=plan.engine, options=plan.options, keep=plan.keep,
        max_bad=plan.max_bad, mode="replace" if before else "new", command=_COMMAND,
        progress=show,
    )  # fmt: skip
    write_whole(note, stamp)
    return True


def _stamp(plan: StudyPlan, path: Path) -> str:
    """Name what an import depends on: the bytes of the files, and how they are read."""
    named = [Path(value) for value in plan.options.values() if Path(value).is_file()]
    files = {str(one): file_hash(one) for one in (*files_below(path), *named)}
    settings: JsonMapping = {
        "source": plan.source, "options": plan.options, "keep": plan.keep, "max_bad": plan.max_bad,
        "engine": plan.engine, "files": files,
    }  # fmt: skip
    return key_of("import", settings)


def _beside(path: Path) -> Path:
    stem = path.name.split(".")[0] if path.is_file() else path.resolve().name
    return Path(f"{stem or 'trace'}-study")
