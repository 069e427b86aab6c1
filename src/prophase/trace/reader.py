"""What a reader is, and how readers are found by name or by the files they know."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import ibis

from prophase.errors import ParameterError, not_among
from prophase.trace import source_files as files
from prophase.trace.dump import Dump, first_line_of, words_of

#: what a reader returns: table name -> expression; names beyond jobs, usage and nodes are
#: side tables (measured speeds, published results) that are kept as they are
Tables = dict[str, ibis.Table]


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
    #: "unix": seconds since 1970; "local": the same from local wall time; "utc+8": wall time is
    #: that much later; "relative": a zero of its own
    clock: str = "relative"

    def refuse_unknown(self, options: Mapping[str, str]) -> None:
        """Stop at an option this source does not have: it would silently change nothing."""
        for name in options:
            if name not in self.options:
                raise ParameterError(
                    not_among(
                        f"option {name!r}: the source {self.name} has no such option.",
                        name,
                        self.options,
                        heading="It has",
                    )
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
        raise ParameterError(
            not_among(f"source {name!r} is unknown.", name, known, heading="Known sources")
        )
    return meant[name]


def guess_reader(root: Path) -> Reader:
    """Return the reader whose signature the files at ``root`` carry."""
    lines = [first_line_of(path) for path in files.files_below(root)[:20]]
    headers = [set(words_of(line)) for line in lines]
    scored = [
        (len(signature), reader)
        for reader in all_readers().values()
        for signature in (reader.signature, *reader.also)
        if signature and any(set(signature) <= words for words in headers)
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
