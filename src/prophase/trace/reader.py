"""What a reader is, and how readers are found by name or by the files they know."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import ibis

from prophase.errors import ParameterError
from prophase.trace import source_files as files
from prophase.trace.dump import Dump, first_line_of, having, stack, words_of
from prophase.trace.schema import SCHEMAS
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import Sheet

#: what a reader returns: table name -> expression; names beyond jobs, usage and nodes are
#: side tables (measured speeds, published results) that are kept as they are
Tables = dict[str, ibis.Table]
#: makes a column of ours from a file
ColumnMaker = Callable[[Sheet], ibis.Value]
#: columns that the importer derives, and those from which it can
_DERIVED = (
    ("start_s", {"submit_s", "wait_s"}),
    ("start_s", {"end_s", "duration_s"}),
    ("end_s", {"start_s", "duration_s"}),
    ("duration_s", {"start_s", "end_s"}),
    ("wait_s", {"submit_s", "start_s"}),
)


def text(name: str, *, optional: bool = False) -> ColumnMaker:
    """Take a column of text; an ``optional`` one may be absent."""
    return lambda sheet: sheet.text(name, optional=optional)


def number(name: str, factor: float = 1.0, *, optional: bool = False) -> ColumnMaker:
    """Take a column of numbers, each times ``factor``."""
    return lambda sheet: sheet.number(name, factor=factor, optional=optional)


def instant(name: str) -> ColumnMaker:
    """Take a column of wall-clock times as seconds since 1970."""
    return lambda sheet: sheet.instant(name)


def constant(value: float | str) -> ColumnMaker:
    """Give every row the same value."""
    return lambda sheet: ibis.literal(value)


@dataclass(frozen=True)
class SourceTable:
    """One kind of file of a source: the columns it is known by, and those of ours it fills."""

    name: str
    needs: Sequence[str]
    columns: Mapping[str, ColumnMaker]
    #: said in the report of an import that reads such a file
    note: str = ""
    #: several files of the kind are put below each other; otherwise the first is read
    many: bool = False

    @property
    def fills(self) -> list[str]:
        """Its columns and those derived from them, in the order of the schema."""
        return filled(self.name, self.columns)

    def read(self, sheet: Sheet) -> ibis.Table:
        """Return the rows of one file."""
        return sheet.select(**{ours: make(sheet) for ours, make in self.columns.items()})

    def read_all(self, dump: Dump, found: Sequence[SourceFile]) -> Tables:
        """Return the table of those files that have its columns; nothing if none has."""
        fitting = having(found, *self.needs)
        if not fitting:
            return {}
        if self.note:
            dump.note(self.note)
        chosen = fitting if self.many else fitting[:1]
        return {self.name: stack([self.read(sheet) for sheet in dump.sheets_of(chosen)])}


def filled(table: str, columns: Iterable[str]) -> list[str]:
    """Return what a table has once the importer has derived what it can.

    Examples
    --------
    >>> filled("jobs", ["end_s", "job_id", "submit_s", "start_s", "attr_qos"])
    ['job_id', 'submit_s', 'start_s', 'end_s', 'duration_s', 'wait_s', 'attr_qos']
    """
    names = dict.fromkeys(columns)
    if table == "jobs":
        for derived, basis in _DERIVED:
            if basis <= names.keys():
                names[derived] = None
    return SCHEMAS[table].in_order(names) if table in SCHEMAS else list(names)


@dataclass(frozen=True)
class Reader:
    """One source of traces: what it is, what it fills, what it does not have."""

    name: str
    title: str
    #: table -> the columns this source can fill
    fills: Mapping[str, Sequence[str]]
    #: what a user might look for and will not find
    cannot: str
    read: Callable[[Dump], Tables]
    #: names (unpacked) of the files it reads when given a folder
    patterns: Sequence[str]
    #: column names that give a file of this source away, for guessing the source
    signature: Sequence[str] = ()
    #: signatures of its other files
    also: Sequence[Sequence[str]] = ()
    #: other words for it that are understood
    aliases: Sequence[str] = ()
    #: regular expression that the first line of a file without column names fits
    first_line: str = ""
    #: option name -> what it does, given as --option NAME=VALUE
    options: Mapping[str, str] = field(default_factory=dict)
    #: name of a file -> which of several traces of this source it is part of
    trace_of: Callable[[Path], str] = lambda path: ""
    #: "unix": seconds since 1970; "local": the same from local wall time; "utc+8": wall time is
    #: that much later; "relative": a zero of its own
    clock: str = "relative"
    #: regular expression of column names that no file of this source has
    foreign: str = ""

    @classmethod
    def of_tables(
        cls,
        name: str,
        title: str,
        *tables: SourceTable,
        cannot: str,
        patterns: Sequence[str],
        signature: Sequence[str] = (),
        also: Sequence[Sequence[str]] | None = None,
        aliases: Sequence[str] = (),
        clock: str = "relative",
    ) -> Reader:
        """Return the reader of a source whose files need no more than their columns named.

        Unless ``signature`` and ``also`` say otherwise, a file is recognised by what one of the
        tables needs.
        """

        def read(dump: Dump) -> Tables:
            found = dump.find(*patterns)
            made = {n: t for table in tables for n, t in table.read_all(dump, found).items()}
            if not made:
                dump.sheet(found[0]).need(*tables[0].needs)
            return made

        return cls(
            name,
            title,
            {table.name: table.fills for table in tables},
            cannot,
            read,
            patterns,
            signature or tables[0].needs,
            [table.needs for table in tables[1:]] if also is None else also,
            aliases=aliases,
            clock=clock,
        )

    def refuse_unknown(self, options: Mapping[str, str]) -> None:
        """Stop at an option this source does not have: it would silently change nothing."""
        for name in options:
            if name not in self.options:
                raise ParameterError.among(
                    f"option {name!r}: the source {self.name} has no such option.",
                    name,
                    self.options,
                    heading="It has",
                )


@cache
def all_readers() -> dict[str, Reader]:
    """Return every reader by name: our own, and those installed packages offer."""
    from prophase.trace import readers as folder

    names = (module.name for module in pkgutil.iter_modules(folder.__path__, folder.__name__ + "."))
    modules = [import_module(name) for name in names]
    own = [module.READER for module in modules if hasattr(module, "READER")]
    foreign = [point.load() for point in entry_points(group="prophase.readers")]
    return {reader.name: reader for reader in sorted([*own, *foreign], key=lambda r: r.name)}


def reader_named(name: str) -> Reader:
    """Return one reader, or say which there are."""
    known = all_readers()
    meant = {alias: reader for reader in known.values() for alias in reader.aliases} | known
    if name not in meant:
        raise ParameterError.among(
            f"source {name!r} is unknown.", name, known, heading="Known sources"
        )
    return meant[name]


def readers_of(path: Path) -> list[str]:
    """Return the sources whose signature one file carries, the most telling first."""
    words = set(words_of(first_line_of(path)))
    scored = [
        (len(signature), reader.name)
        for reader in all_readers().values()
        for signature in (reader.signature, *reader.also)
        if _carries(reader, signature, words)
    ]
    return list(dict.fromkeys(name for _, name in sorted(scored, key=lambda one: -one[0])))


def _carries(reader: Reader, signature: Sequence[str], words: set[str]) -> bool:
    """Say whether a header has the columns of a source, and none that it cannot have."""
    if not signature or not set(signature) <= words:
        return False
    return not reader.foreign or not any(re.search(reader.foreign, word) for word in words)


def guess_reader(root: Path) -> Reader:
    """Return the reader whose signature the files at ``root`` carry."""
    lines = [first_line_of(path) for path in files.files_below(root)[:20]]
    headers = [set(words_of(line)) for line in lines]
    scored = [
        (len(signature), reader)
        for reader in all_readers().values()
        for signature in (reader.signature, *reader.also)
        if any(_carries(reader, signature, words) for words in headers)
    ]
    scored = scored or [
        (0, reader)
        for reader in all_readers().values()
        if reader.first_line and any(re.match(reader.first_line, line) for line in lines)
    ]
    if not scored:
        files.refuse_no_text(root)
        raise ParameterError(
            f"{root}: no reader recognises these files. Name the source with --source "
            f"({', '.join(all_readers())}); for your own columns use csv with a mapping."
        )
    return max(scored, key=lambda pair: pair[0])[1]
