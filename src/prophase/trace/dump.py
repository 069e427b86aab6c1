"""What a reader reads from: the files of a dump, opened as text tables and joined safely."""

from __future__ import annotations

import csv
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import ibis

from prophase.errors import FanOutError, FormatError, MissingFileError
from prophase.plural import counted
from prophase.trace import source_files as files
from prophase.trace.engine import BadLine, Engine, TextLayout
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import MISSING_WORDS, REASON, Sheet

#: rows of a table that are looked up at a time, so that they fit in memory
_LOOKED_UP = 16_000_000


@dataclass(frozen=True)
class KeyRepeats:
    """How often a key that should name one row names several."""

    values: int
    rows: int
    most: int


@dataclass(frozen=True)
class LookedUp:
    """A table of which rows that belong to no job are counted in the finished job table."""

    name: str
    rows: int
    #: columns of the job table that tell the rows of this table apart
    by: tuple[str, ...]


@dataclass
class Dump:
    """The files a reader reads, the engine they are opened with, and what it notes down."""

    root: Path
    engine: Engine
    scratch: Path
    options: Mapping[str, str] = field(default_factory=dict)
    advance: Callable[[int], object] = lambda _: None
    used: dict[Path, Future[str]] = field(default_factory=dict)
    sheets: list[Sheet] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: set by a reader whose files say which clock they keep
    clock: str | None = None
    #: tables whose orphans the finished job table tells
    looked_up: list[LookedUp] = field(default_factory=list)
    _told: set[BadLine] = field(default_factory=set)
    #: broken lines of tables that were materialised, not yet reported
    _waiting: list[BadLine] = field(default_factory=list)
    #: files are hashed while the engine reads them
    _hashing: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every file that was used, by name."""
        folder = self.root if self.root.is_dir() else self.root.parent
        return {
            (
                path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
            ).as_posix(): future.result()
            for path, future in sorted(self.used.items())
        }

    def find(
        self, *patterns: str, signature: Sequence[str] = (), required: bool = True
    ) -> list[SourceFile]:
        """Return the dump's files whose unpacked name fits a pattern, in name order.

        A dump that is a single file fits any pattern: the user has chosen it. With a
        ``signature``, so does a file whose first line names these columns.
        """
        found: list[SourceFile] = []
        for path in files.files_below(self.root):
            archive = path.name.endswith((".tar.gz", ".tgz", ".tar", ".zip"))
            known = signature and set(signature) <= set(column_words(path))
            if self.root.is_file() or archive or known or files.matches(path, patterns):
                unpacked = files.unpack(path, self.scratch / "unpacked", self.advance)
                if archive:
                    unpacked = [one for one in unpacked if files.matches(one.path, patterns)]
                elif self.root.is_file() and not files.is_parquet(unpacked[0].path):
                    # the user has chosen it: say at once if it is empty or no text at all
                    files.first_lines(unpacked[0].path, 1, shown=path)
                found += unpacked
                if unpacked and path not in self.used:
                    self.used[path] = self._hashing.submit(files.file_hash, path)
        if required and not found:
            raise MissingFileError(
                f"{self.root}: holds no file named {' or '.join(patterns)} "
                "(also .gz, .xz, .zst, .zip, .tar.gz). Point to the folder or file of this source."
            )
        return found

    def leave_aside(self, found: Sequence[SourceFile]) -> None:
        """Take files out of the import's hash: found, but not read."""
        for file in found:
            self.used.pop(file.origin, None)

    def sheet(
        self,
        file: SourceFile,
        *,
        columns: Sequence[str] | None = None,
        separator: str = ",",
        skip: int = 0,
        quoted: bool = True,
        missing: Sequence[str] = MISSING_WORDS,
    ) -> Sheet:
        """Open a text table; without ``columns`` its first line names them, or it is Parquet."""
        if columns is None and files.is_parquet(file.path):
            return self._parquet_sheet([file], as_text=True, missing=missing)
        if columns is None:
            columns, skip = header_of(file, separator), 1
        else:
            files.first_lines(file.path, 1, shown=file.origin)
        layout = TextLayout(columns, separator, skip, quoted, missing)
        opened = Sheet(file, self.engine.open_text(file.path, layout), layout)
        self.sheets.append(opened)
        return opened

    def sheets_of(self, found: Sequence[SourceFile]) -> list[Sheet]:
        """Open tables with the same columns: each text file by itself, Parquet files as one."""
        parquet = [file for file in found if files.is_parquet(file.path)]
        texts = [self.sheet(file) for file in found if file not in parquet]
        return texts + ([self._parquet_sheet(parquet)] if parquet else [])

    def _parquet_sheet(
        self, found: Sequence[SourceFile], *, as_text: bool = False, missing: Sequence[str] = ()
    ) -> Sheet:
        for file in found:
            files.parquet_columns(file.path, shown=file.origin)
        table = self.engine.open_parquet(*(file.path for file in found))
        if as_text:
            cells = {name: table[name].cast("string") for name in table.columns}
            table = table.select(
                **{name: cell.isin(missing).ifelse(None, cell) for name, cell in cells.items()}
            )
        opened = Sheet(found[0], table, TextLayout(table.columns), parquet=tuple(found))
        self.sheets.append(opened)
        return opened

    def in_one(self, name: str, found: Sequence[SourceFile], *, skip: int = 0) -> SourceFile:
        """Put text files without a header below each other, so that they are read as one.

        ``skip`` lines are left out at the top of each. A trace in hundreds of parts is read faster
        so, and needs their size on the disk once more.
        """
        if len(found) == 1 and not skip:
            return found[0]
        flat = self.scratch / "flat" / f"{name}.csv"
        flat.parent.mkdir(parents=True, exist_ok=True)
        with flat.open("wb") as out:
            for file in found:
                with file.path.open("rb") as lines:
                    out.writelines(islice(lines, skip, None))
        return SourceFile(flat, found[0].origin)

    def lines(self, file: SourceFile) -> Sheet:
        """Open a text file as a table with the single column ``line``."""
        return self.sheet(file, columns=["line"], separator="\x01", quoted=False)

    def sheet_of_rows(
        self, file: SourceFile, columns: Sequence[str], rows: Iterable[Sequence[object]]
    ) -> Sheet:
        """Open rows parsed in Python (JSON, odd layouts) like any other text table."""
        flat = self.scratch / "flat" / f"{file.name}.csv"
        flat.parent.mkdir(parents=True, exist_ok=True)
        with flat.open("w", newline="", encoding="utf-8") as handle:
            csv.writer(handle).writerows(rows)
        return self.sheet(SourceFile(flat, file.origin), columns=columns)

    def note(self, text: str) -> None:
        """Keep a remark for the import report, once."""
        if text not in self.notes:
            self.notes.append(text)

    def option(self, name: str, default: str) -> str:
        return self.options.get(name, default)

    def new_bad_lines(self) -> list[BadLine]:
        """Return the lines that did not split into their columns since the last call."""
        paths = dict.fromkeys(sheet.file.path for sheet in self.sheets if not sheet.parquet)
        found = [bad for path in paths for bad in self.engine.bad_lines(path)]
        fresh = self._waiting + [bad for bad in found if bad not in self._told]
        self._told.update(fresh)
        self._waiting = []
        return fresh

    def join_one(
        self, left: ibis.Table, right: ibis.Table, keys: Sequence[str], *, name: str,
        owners: ibis.Table | Sequence[str] | None = None,
    ) -> ibis.Table:  # fmt: skip
        """Left-join a table that has at most one row per key, and mark which rows found one.

        A key that repeats in ``right`` would multiply rows; it is refused, by name. Rows of
        ``right`` whose key no row of ``owners`` has are counted in a note: at once, or in the
        finished job table if ``owners`` are those of its columns that hold the key.
        """
        keyed, by = right.filter([right[key].notnull() for key in keys]), keys
        if len(keys) > 1:
            # two hashes of 64 bits: other texts with both the same are not to be expected, and
            # they take less time and room to write, read and hold than long texts
            by = [f"_hash_{key}" for key in keys]
            left, keyed = (
                side.mutate(**{f"_hash_{key}": self.engine.hashed(side[key]) for key in keys})
                for side in (left, keyed)
            )
            keyed = keyed.drop(*keys)
        keyed = self.materialised(keyed, name)
        rows = self._count(keyed)
        # all hashes different: all keys different
        repeats = self.repeats(keyed, by)
        if repeats.values and by is not keys:
            repeats = self.repeats(right.drop_null(list(keys)), keys)
        if repeats.values:
            raise FanOutError(
                f"{name}: the key ({', '.join(keys)}) repeats for {repeats.values:,} values "
                f"({repeats.rows:,} rows, up to {repeats.most} each). "
                "Joining would multiply rows. Remove the copies, or aggregate the table "
                "to one row per key."
            )
        if isinstance(owners, ibis.Table):
            orphans = keyed.anti_join(owners.select(*keys), list(keys))
            self._note_orphans(name, self._count(orphans))
        elif owners is not None:
            self.looked_up.append(LookedUp(name, rows, tuple(owners)))
        marked = keyed.mutate(**{f"_joined_{name}": ibis.literal(True)})
        # a power of two: what is left of a hash is one of its last bits, also below zero
        parts = 1 << max(0, (-(-rows // _LOOKED_UP) - 1).bit_length())
        if parts == 1:
            return _left_joined(left, marked, by)
        # more than memory holds at a time: part by part is faster than by way of the disk
        found = []
        for at in range(parts):
            some, looked_up = (self._part(side, by[-1], at, parts) for side in (left, marked))
            joined = _left_joined(some, looked_up, by)
            found.append(self.materialised(joined, f"{name}-{at}"))
        return ibis.union(*found, distinct=False)

    def _part(self, table: ibis.Table, key: str, at: int, parts: int) -> ibis.Table:
        """Return the rows of a part; equal keys share theirs."""
        held = table[key]
        code = held if held.type().is_integer() else self.engine.hashed(held)
        return table.filter((code & (parts - 1)) == at)

    def count_orphans(self, jobs: ibis.Table, *, unique: bool) -> None:
        """Note the rows of tables that were looked up and belong to no job of this table.

        ``unique`` says that every job has a name of its own.
        """
        for table in self.looked_up:
            found = jobs.filter(jobs[f"_joined_{table.name}"])
            if not (unique and "job_id" in table.by):
                found = found.select(*table.by).distinct()
            self._note_orphans(table.name, table.rows - self._count(found))
        self.looked_up.clear()

    def _note_orphans(self, name: str, lost: int) -> None:
        if lost:
            self.note(f"{name}: {counted(lost, 'row belongs', 'rows belong')} to no job.")

    def _count(self, table: ibis.Table) -> int:
        return int(self.engine.to_pandas(table.agg(rows=table.count()))["rows"].iloc[0])

    def repeats(self, table: ibis.Table, keys: Sequence[str]) -> KeyRepeats:
        """Count the values of a key that stand in more than one row."""
        copies = table.group_by(list(keys)).agg(copies=table.count())
        again = copies.filter(copies.copies > 1)
        found = self.engine.to_pandas(
            again.agg(values=again.count(), rows=again.copies.sum(), most=again.copies.max())
        ).fillna(0)
        return KeyRepeats(*(int(found[name].iloc[0]) for name in ("values", "rows", "most")))

    def materialised(self, table: ibis.Table, name: str) -> ibis.Table:
        """Run an expression once, so that checking and joining do not parse its file twice."""
        path = self.scratch / f"joining-{name}.parquet"
        if not path.exists():
            part = path.with_suffix(".part")
            self.engine.write_parquet(table, part, lambda _: None)
            keep_lines(path, self.new_bad_lines())
            part.rename(path)
        self._waiting += kept_lines(path)
        return self.engine.open_parquet(path)


def _left_joined(left: ibis.Table, right: ibis.Table, keys: Sequence[str]) -> ibis.Table:
    """Join, and let the reasons of either side leave a row out."""
    joined = left.left_join(right, list(keys), rname="{name}_right")
    if REASON in right.columns:
        joined = joined.mutate(**{REASON: ibis.coalesce(joined[REASON], joined[f"{REASON}_right"])})
    made = [name for name in joined.columns if name.endswith("_right") or name.startswith("_hash_")]
    return joined.drop(*made)


def keep_lines(parquet: Path, lines: Sequence[BadLine]) -> None:
    """Keep broken lines beside the rows, for an import that goes on after an interruption."""
    kept = [(str(bad.path), bad.line, bad.reason) for bad in lines]
    parquet.with_suffix(".lines.json").write_text(json.dumps(kept), encoding="utf-8")


def kept_lines(parquet: Path) -> list[BadLine]:
    """Return the broken lines kept beside the rows."""
    kept = json.loads(parquet.with_suffix(".lines.json").read_text(encoding="utf-8"))
    return [BadLine(Path(path), line, reason) for path, line, reason in kept]


def header_of(file: SourceFile, separator: str = ",") -> list[str]:
    """Return the column names in the first line of a text table, or those of a Parquet file."""
    if files.is_parquet(file.path):
        return files.parquet_columns(file.path, shown=file.origin)
    line = files.first_lines(file.path, 1, shown=file.origin)[0]
    return column_names(line, separator, file.origin)


def column_names(line: str, separator: str, origin: Path) -> list[str]:
    """Return the names in a header line; one that stands there twice is refused."""
    names = [name.strip() for name in next(csv.reader([line], delimiter=separator))]
    names = [name or f"column_{place}" for place, name in enumerate(names)]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise FormatError(
            f"{origin} line 1: the header names {', '.join(repeated)} twice. "
            "Rename the columns, or add a header line if there is none."
        )
    return names


def having(found: Sequence[SourceFile], *columns: str) -> list[SourceFile]:
    """Return the files whose first line names all these columns."""
    return [file for file in found if set(columns) <= set(column_words(file.path))]


def stack(tables: Sequence[ibis.Table]) -> ibis.Table:
    """Put tables below each other; a column one of them lacks is missing there."""
    types = {name: table[name].type() for table in tables for name in table.columns}
    aligned = [
        table.select(
            **{
                name: table[name] if name in table.columns else ibis.null(kind)
                for name, kind in types.items()
            }
        )
        for table in tables
    ]
    return aligned[0] if len(aligned) == 1 else ibis.union(*aligned, distinct=False)


def numbered(table: ibis.Table, prefix: str) -> ibis.Table:
    """Give rows without a name of their own a job_id: their place in the order of all columns."""
    order = [table[name] for name in sorted(table.columns, key=lambda n: (n != "submit_s", n))]
    place = ibis.row_number().over(order_by=order)
    return table.mutate(job_id=ibis.literal(prefix) + place.cast("string"))


def column_words(path: Path) -> list[str]:
    """Return the words of a file's first line, whatever separates them; nothing if unreadable."""
    return words_of(first_line_of(path))


#: bytes of a JSON file that tell whose it is
_JSON_BEGINNING = 1 << 12


def words_of(line: str) -> list[str]:
    """Split a line at the separator it has most of."""
    separator = max(",;|\t", key=line.count)
    return [word.strip().strip('"') for word in line.split(separator)]


def first_line_of(path: Path) -> str:
    """Return the first line of a file, through its compression; nothing if unreadable.

    The columns of a Parquet file stand for it, joined by commas; of JSON its beginning, the white
    space folded.
    """
    try:
        if path.suffix == ".parquet" and files.is_parquet(path):
            return ",".join(files.parquet_columns(path))
        with files.open_bytes(path) as stream:
            line = stream.readline(1 << 16)
            if line.lstrip().startswith(b"{"):
                line = b" ".join((line + stream.read(_JSON_BEGINNING)).split())
    except (OSError, EOFError, zlib.error, lzma.LZMAError, FormatError):
        return ""
    return line.decode("utf-8-sig", errors="replace").strip()
