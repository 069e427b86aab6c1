"""Import a dump: find its files, read them, count every row, and switch the workspace over."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import ibis

from prophase import __version__
from prophase.errors import StorageError, WorkspaceError, storage_error
from prophase.trace import files
from prophase.trace.damage import refuse_damage
from prophase.trace.engine import Engine, open_engine
from prophase.trace.reader import (
    Dump,
    Reader,
    keep_lines,
    kept_lines,
    reader_named,
    schema_columns,
    stack,
)
from prophase.trace.rules import REPAIRED, finish, keep_rules, typed
from prophase.trace.schema import SCHEMAS
from prophase.trace.sheet import BAD, REASON
from prophase.trace.workspace import Mode, Workspace, columns_without_values

_JOINED = "_joined_"
#: tables up to this size are stored in time order
_SORTED_ROWS = 2_000_000
_SORT = {
    "jobs": ("submit_s", "submit_order", "start_s", "job_id"),
    "usage": ("series_id", "time_s"),
}


@dataclass(frozen=True)
class TableCount:
    """What happened to the rows of one table."""

    read: int
    kept: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    repaired: Mapping[str, int] = field(default_factory=dict)
    #: rows that found a partner in each joined table
    joined: Mapping[str, int] = field(default_factory=dict)

    @property
    def bad(self) -> int:
        return sum(count for reason, count in self.dropped.items() if reason.startswith(BAD))


@dataclass(frozen=True)
class ImportReport:
    """What an import read, kept and left out, and from which bytes."""

    source: str
    path: str
    engine: str
    source_hash: str
    files: Mapping[str, str]
    tables: Mapping[str, TableCount]
    notes: Sequence[str] = ()
    clock: str = "relative"
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Staged:
    """Finished Parquet files that no workspace knows yet."""

    parts: Mapping[str, Path]
    report: ImportReport


#: told what is being done and how far it is, 0..100 (None: not known)
Progress = Callable[[str, float | None], object]


def _silent(step: str, percent: float | None) -> None:
    pass


def import_trace(
    source: str,
    path: Path | str,
    workspace: Workspace,
    *,
    engine: str | None = None,
    options: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    max_bad: float = 0.01,
    mode: Mode = "new",
    command: str = "",
    progress: Progress = _silent,
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
                progress=progress,
            )
            _commit(workspace, staged, mode, command, scratch)
    return staged.report


def stage(
    reader: Reader,
    path: Path,
    scratch: Path,
    *,
    engine: str = "duckdb",
    options: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    max_bad: float = 0.01,
    progress: Progress = _silent,
) -> Staged:
    """Read a dump into Parquet files below ``scratch``."""
    rules = keep_rules(keep)
    running = open_engine(engine, scratch)
    try:
        unpacked = 0

        def advance(count: int) -> None:
            nonlocal unpacked
            unpacked += count
            progress(f"unpacking ({unpacked / 1e6:,.0f} MB)", None)

        dump = Dump(path, running, scratch, dict(options or {}), advance)
        tables = reader.read(dump)
        parts: dict[str, Path] = {}
        counts: dict[str, TableCount] = {}
        for name, table in tables.items():
            finished = finish(name, table, source=reader.name, keep=rules)
            parts[name], counts[name] = _stage_table(
                running, name, finished, scratch, dump, max_bad, progress
            )
    finally:
        running.close()
    hashes = dump.hashes()
    report = ImportReport(
        source=reader.name,
        path=str(path),
        engine=engine,
        source_hash=files.combined_hash([reader.name, *sorted(hashes.values()), *_sorted(options)]),
        files=hashes,
        tables=counts,
        notes=tuple(dump.notes),
        clock=dump.clock or reader.clock,
    )
    return Staged(parts, report)


def _stage_table(
    engine: Engine,
    name: str,
    table: ibis.Table,
    scratch: Path,
    dump: Dump,
    max_bad: float,
    progress: Progress,
) -> tuple[Path, TableCount]:
    """Write all rows with their reasons, count them, then write the kept ones in time order.

    A big table that needs no row left out is taken as it is: the second write would cost
    as much as the import. Its helper columns stay in the file, out of the column list.
    """
    raw, final = scratch / f"{name}.raw.parquet", scratch / f"{name}.parquet"
    if not raw.exists():
        part = raw.with_suffix(".part")
        engine.write_parquet(table, part, lambda share: progress(f"reading {name}", share))
        keep_lines(raw, dump.new_bad_lines())
        part.rename(raw)
    rows = engine.open_parquet(raw)
    bad_lines = kept_lines(raw)
    count = _count(engine, rows, len(bad_lines))
    refuse_damage(
        name,
        count.kept,
        count.dropped,
        max_bad,
        dump=dump,
        engine=engine,
        rows=rows,
        bad_lines=bad_lines,
    )
    kept = rows.filter(rows[REASON].isnull())
    repeats = 0
    if name == "jobs":
        kept, repeats = _unique_ids(engine, kept)
        if repeats:
            repaired = {**count.repaired, "repeated job_id, numbered #2, #3 ...": repeats}
            count = TableCount(count.read, count.kept, count.dropped, repaired, count.joined)
    if count.read > _SORTED_ROWS and not count.dropped and not repeats:
        return raw, count
    absent = columns_without_values(raw)
    kept = kept.drop(*(c for c in kept.columns if c.startswith("_") or c in absent))
    if name in SCHEMAS:
        kept = typed(SCHEMAS[name], kept.select(*schema_columns(name, kept.columns)))
    order = [kept[column] for column in _SORT.get(name, ()) if column in kept.columns]
    if order:
        kept = kept.order_by(order)
    engine.write_parquet(kept, final, lambda share: progress(f"writing {name}", share))
    return final, count


def _count(engine: Engine, rows: ibis.Table, bad_lines: int) -> TableCount:
    counted = engine.to_pandas(rows.group_by(REASON).agg(rows=rows.count()))
    reasons = {reason: int(n) for reason, n in zip(counted[REASON], counted["rows"], strict=True)}
    kept = sum(n for reason, n in reasons.items() if not isinstance(reason, str))
    dropped = {r: n for r, n in sorted(reasons.items(), key=str) if isinstance(r, str)}
    flags = [column for column in rows.columns if column.startswith((REPAIRED, _JOINED))]
    sums: dict[str, int] = {}
    if flags:
        stays = rows.filter(rows[REASON].isnull())
        totals = engine.to_pandas(
            stays.agg(**{f"n{i}": stays[flag].cast("int64").sum() for i, flag in enumerate(flags)})
        )
        sums = {flag: int(totals[f"n{i}"].fillna(0).iloc[0]) for i, flag in enumerate(flags)}
    if bad_lines:
        dropped = {f"{BAD}wrong number of fields": bad_lines, **dropped}
    return TableCount(
        read=sum(reasons.values()) + bad_lines,
        kept=kept,
        dropped=dropped,
        repaired={
            k.removeprefix(REPAIRED): n for k, n in sums.items() if k.startswith(REPAIRED) and n
        },
        joined={k.removeprefix(_JOINED): n for k, n in sums.items() if k.startswith(_JOINED)},
    )


def _unique_ids(engine: Engine, jobs: ibis.Table) -> tuple[ibis.Table, int]:
    """Number the second and later rows of a repeated job_id, so that an id names one row."""

    def repeated(ids: ibis.Value) -> int:
        totals = engine.to_pandas(jobs.agg(rows=jobs.count(), ids=ids.nunique()))
        return int(totals["rows"].iloc[0] - totals["ids"].iloc[0])

    # all hashes different: all ids different; otherwise it may be a collision, so count exactly
    repeats = repeated(jobs.job_id.hash()) and repeated(jobs.job_id)
    if not repeats:
        return jobs, 0
    order = [jobs[c] for c in jobs.columns if not c.startswith("_")]
    copy = ibis.row_number().over(group_by=jobs.job_id, order_by=order)
    suffix = (copy == 0).ifelse("", ibis.literal("#") + (copy + 1).cast("string"))
    return jobs.mutate(job_id=jobs.job_id + suffix), repeats


def _commit(workspace: Workspace, staged: Staged, mode: Mode, command: str, scratch: Path) -> None:
    report = staged.report
    parts = dict(staged.parts)
    if mode == "new":
        workspace.refuse_to_overwrite(list(parts), report.source_hash)
    held = workspace.tables
    appended = [name for name in parts if name in held] if mode == "append" else []
    for name in appended:
        if report.source_hash in held[name].source_hash.split("+"):
            raise WorkspaceError(
                f"{workspace.folder}: this dump is already in the {name} table. Nothing was added."
            )
        parts[name] = _append(workspace.path_of(name), parts[name], scratch, name)
    workspace.store(
        parts,
        source=report.source,
        source_hash=report.source_hash,
        command=command,
        clock=report.clock,
        report=report.to_dict(),
        appended=appended,
    )


def _append(old: Path, new: Path, scratch: Path, name: str) -> Path:
    engine = open_engine("duckdb", scratch)
    try:
        both = stack([engine.open_parquet(old), engine.open_parquet(new)])
        if name == "jobs":
            both, _ = _unique_ids(engine, both)
        order = [both[column] for column in _SORT.get(name, ()) if column in both.columns]
        target = scratch / f"{name}.appended.parquet"
        engine.write_parquet(both.order_by(order) if order else both, target, lambda _: None)
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


def _sorted(options: Mapping[str, str] | None) -> list[str]:
    return [f"{key}={value}" for key, value in sorted((options or {}).items())]


def _dump_key(
    reader: Reader, path: Path, options: Mapping[str, str], keep: Sequence[str], engine: str
) -> str:
    """Name the scratch folder so that the same import finds its finished parts again."""
    named = [Path(value) for value in options.values() if value and Path(value).is_file()]
    stamps = [
        f"{f}:{f.stat().st_size}:{f.stat().st_mtime_ns}" for f in (*files.files_below(path), *named)
    ]
    return files.combined_hash(
        [__version__, reader.name, engine, *_sorted(options), *keep, *stamps]
    )
