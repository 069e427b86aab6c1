"""Import a dump into a workspace: stage it, then switch over in one step."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from prophase.errors import StorageError, WorkspaceError, storage_error
from prophase.trace import source_files as files
from prophase.trace.dump import stack
from prophase.trace.engine import open_engine
from prophase.trace.identity.job_identity import file_rule, identified
from prophase.trace.reader import Reader, reader_named
from prophase.trace.staged_tables import (
    ImportReport,
    Progress,
    Staged,
    in_order,
    silent,
    sorted_options,
    stage,
    unique_ids,
)
from prophase.trace.workspace import Mode, TableEntry, Workspace
from prophase.version import __version__


def import_trace(
    source: str,
    path: Path | str,
    workspace: Workspace,
    *,
    engine: str | None = None,
    options: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    max_bad: float = 0.01,
    by: str | None = None,
    mode: Mode = "new",
    command: str = "",
    progress: Progress = silent,
) -> ImportReport:
    """Read a dump into the workspace and return what was kept and what was not.

    Parameters
    ----------
    source : str
        Name of a reader, such as ``"philly"``.
    path : path
        The dump: a file or a folder.
    keep : sequence of str
        Rules that leave whole jobs out, each counted: see ``rules.KEEP_RULES``.
    max_bad : float, default=0.01
        Share of damaged rows that may be left out before the import is refused.
    by : str, optional
        Columns, joined by commas, that tell kinds of job apart; chosen from the jobs if not
        given.
    mode : {"new", "replace", "append"}
        What to do when the workspace already has such a table.
    """
    reader = reader_named(source)
    with workspace.writing() as cache:
        name = engine or str(workspace.settings.get("engine", "duckdb"))
        scratch = cache / f"import-{_dump_key(reader, Path(path), options or {}, keep, name)[:12]}"
        with _scratch(scratch):
            staged = stage(
                reader,
                Path(path),
                scratch,
                engine=name,
                options=options or {},
                keep=keep,
                max_bad=max_bad,
                by=by,
                progress=progress,
            )
            _commit(workspace, staged, mode, command, scratch, by)
    return staged.report


def _commit(
    workspace: Workspace,
    staged: Staged,
    mode: Mode,
    command: str,
    scratch: Path,
    by: str | None = None,
) -> None:
    report = staged.report
    parts = dict(staged.parts)
    if mode == "new":
        workspace.refuse_to_overwrite(list(parts), report.source_hash, appendable=True)
    held = workspace.tables
    appended = [name for name in parts if name in held] if mode == "append" else []
    for name in appended:
        if report.dump_hash in (held[name].dump_hash or held[name].source_hash).split("+"):
            raise WorkspaceError(
                f"{workspace.folder}: this dump is already in the {name} table. Nothing was added."
            )
        _refuse_other_zero(workspace, held[name], report)
        parts[name] = _append(workspace.path_of(name), parts[name], scratch, name)
        if name == "jobs":
            # one rule for all jobs of a workspace: the one it had
            held_rule = file_rule(workspace.path_of(name))
            rule = file_rule(staged.parts[name]) if by or held_rule is None else held_rule
            parts[name], _ = identified(parts[name], rule)
    workspace.store(
        parts,
        source=report.source,
        source_hash=report.source_hash,
        command=command,
        clock=report.clock,
        report=report.to_dict(),
        dump_hash=report.dump_hash,
        appended=appended,
    )


def _refuse_other_zero(workspace: Workspace, held: TableEntry, report: ImportReport) -> None:
    """Stop before times since 1970 and times since a trace's own start share a column."""
    if (held.clock == "relative") != (report.clock == "relative"):
        raise WorkspaceError(
            f"{workspace.folder}: the {held.name} table of {held.source} has the clock "
            f"{held.clock!r}, {report.source} has {report.clock!r}: their times do not count from "
            "the same moment. Nothing was added. Import it into a workspace of its own."
        )


def _append(old: Path, new: Path, scratch: Path, name: str) -> Path:
    engine = open_engine("duckdb", scratch)
    try:
        both = stack([engine.open_parquet(old), engine.open_parquet(new)])
        both, _ = unique_ids(engine, name, both)
        target = scratch / f"{name}.appended.parquet"
        engine.write_parquet(in_order(name, both), target, lambda _: None)
    finally:
        engine.close()
    return target


@contextmanager
def _scratch(folder: Path) -> Iterator[None]:
    """Keep finished parts of an interrupted import, remove those of a failed or finished one."""
    for stale in folder.parent.glob("import-*"):
        if stale != folder:
            shutil.rmtree(stale, ignore_errors=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except KeyboardInterrupt:
        raise
    except OSError as cause:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(cause, StorageError):
            raise
        raise storage_error(cause, cause.filename or folder) from cause
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _dump_key(
    reader: Reader, path: Path, options: Mapping[str, str], keep: Sequence[str], engine: str
) -> str:
    """Name the scratch folder so that the same import finds its finished parts again."""
    named = [Path(value) for value in options.values() if value and Path(value).is_file()]
    stamps = [
        f"{f}:{f.stat().st_size}:{f.stat().st_mtime_ns}" for f in (*files.files_below(path), *named)
    ]
    return files.combined_hash(
        [__version__, reader.name, engine, *sorted_options(options), *keep, *stamps]
    )
