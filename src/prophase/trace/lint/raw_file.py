"""The text files of a dump before any reader drops a row: widths, last line, damage."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from prophase.errors import FormatError
from prophase.trace import source_files as files
from prophase.trace.source_files import SourceFile

#: lines beyond this are only checked for a proper end
LINES_LOOKED_AT = 3_000_000
#: rows read to look at keys and times
ROWS_SAMPLED = 1_000_000
_NOT_TABLES = (".md", ".json", ".toml", ".yaml", ".yml", ".npz", ".npy", ".parquet", ".png", ".pdf",
               ".header", ".html", ".py", ".ipynb", ".db")  # fmt: skip
_SEPARATORS = (b",", b";", b"|", b"\t")
_EXAMPLES = 5


@dataclass(frozen=True)
class RawFile:
    """What one text table looks like on disk."""

    name: str
    path: Path
    #: empty: fields are split by blanks
    separator: str = ","
    #: names in the first line; empty if that line is data
    header: tuple[str, ...] = ()
    #: fields per line -> data lines
    widths: Mapping[int, int] = field(default_factory=dict)
    #: (line number, width) of the first lines that differ from most
    odd: Sequence[tuple[int, int]] = ()
    last_width: int = 0
    ends_with_newline: bool = True
    #: every line was looked at
    whole: bool = True
    #: why the file could not be unpacked
    damage: str = ""

    @property
    def rows(self) -> int:
        return sum(self.widths.values())

    @property
    def width(self) -> int:
        """Fields in most lines."""
        return max(self.widths, key=lambda width: self.widths[width], default=0)

    def columns(self, names: Sequence[str]) -> pd.DataFrame:
        """Read some columns as text, up to a million rows; lines of odd width are left out."""
        if not self.header or len(self.header) != self.width:
            return pd.DataFrame()
        return pd.read_csv(
            self.path,
            sep=self.separator,
            usecols=list(names),
            dtype=str,
            nrows=ROWS_SAMPLED,
            on_bad_lines="skip",
            encoding_errors="replace",
        )


def scan_raw_files(root: Path, patterns: Sequence[str], scratch: Path) -> list[RawFile]:
    """Look at the text tables at ``root``; in a folder, those whose name fits a pattern."""
    found: list[RawFile] = []
    for path in files.files_below(root):
        if root.is_dir() and patterns and not _wanted(path, patterns):
            continue
        if files.plain_name(path).endswith(_NOT_TABLES) or path.name.startswith("README"):
            continue
        # one folder each: the same name may occur in several folders of a dump
        folder = scratch / f"raw-{len(found)}"
        try:
            plain = files.unpack(path, folder, lambda _: None)
        except FormatError as damage:
            found.append(RawFile(path.name, path, damage=str(damage)))
            continue
        found += [looked for file in plain if (looked := _look(file)) is not None]
    return found


def _wanted(path: Path, patterns: Sequence[str]) -> bool:
    archive = path.name.endswith((".tar.gz", ".tgz", ".tar", ".zip", ".tar.bz2", ".tar.xz"))
    return archive or files.matches(path, patterns)


def _look(file: SourceFile) -> RawFile | None:
    """Return the file's shape, or nothing if it is not a text table."""
    try:
        first = files.first_lines(file.path, 20)
    except FormatError:
        return None
    if file.name.endswith(_NOT_TABLES) or first[0].lstrip().startswith(("[", "{")):
        return None
    blanks = file.name.endswith(".swf") or first[0].startswith(";")
    separator = b"" if blanks else _separator([line.encode() for line in first])
    header = () if blanks else _header(first[0], separator)
    widths: Counter[int] = Counter()
    by_line: dict[int, list[int]] = {}
    last_width, whole = 0, True
    for number, width in _widths(file.path, separator):
        if number == 1 and header:
            continue
        if number > LINES_LOOKED_AT:
            whole = False
            break
        widths[width] += 1
        last_width = width
        lines = by_line.setdefault(width, [])
        if len(lines) < _EXAMPLES:
            lines.append(number)
    usual = max(widths, key=lambda width: widths[width], default=0)
    odd = sorted((n, width) for width, lines in by_line.items() if width != usual for n in lines)
    tail = _last_line(file.path)
    if not whole:
        last_width = next((w for w in map(_counter(separator), [tail]) if w), usual)
    return RawFile(
        name=file.name,
        path=file.path,
        separator=separator.decode(),
        header=header,
        widths=dict(widths),
        odd=odd[:_EXAMPLES],
        last_width=last_width,
        ends_with_newline=tail.endswith(b"\n"),
        whole=whole,
    )


def _widths(path: Path, separator: bytes) -> Iterator[tuple[int, int]]:
    """Yield line number and number of fields; quoted fields may hold separators and newlines."""
    width = _counter(separator)
    with path.open("rb") as handle:
        pending, begun = b"", 0
        for number, line in enumerate(handle, 1):
            if pending or line.count(b'"') % 2:
                begun = begun if pending else number
                pending += line
                # a stray quote must not swallow the file
                if pending.count(b'"') % 2 and number - begun < 50:
                    continue
                line, pending = pending, b""
                yield begun, width(line)
            elif line.strip() and not (separator == b"" and line.startswith(b";")):
                yield number, width(line)
        if pending:
            yield begun, width(pending)


def _counter(separator: bytes) -> Callable[[bytes], int]:
    if not separator:
        return lambda line: len(line.split())

    def width(line: bytes) -> int:
        if b'"' not in line:
            return line.count(separator) + 1
        # every second piece lies outside quotes
        return sum(piece.count(separator) for piece in line.split(b'"')[::2]) + 1

    return width


def _separator(lines: Sequence[bytes]) -> bytes:
    """Return the separator most lines agree on."""

    def agreement(separator: bytes) -> tuple[int, int]:
        counted = Counter(_counter(separator)(line) for line in lines if line.strip())
        counted.pop(1, None)
        width, times = max(counted.items(), key=lambda item: item[1], default=(0, 0))
        return times, width

    return max(_SEPARATORS, key=agreement)


def _header(line: str, separator: bytes) -> tuple[str, ...]:
    """Return the names in a first line; nothing if it holds numbers or repeats, as data do."""
    names = [name.strip().strip('"') for name in line.split(separator.decode())]
    plausible = len(set(names)) == len(names) and not any(map(_is_number, names))
    return tuple(names) if plausible and sum(map(bool, names)) >= len(names) - 1 else ()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _last_line(path: Path) -> bytes:
    with path.open("rb") as handle:
        handle.seek(0, os.SEEK_END)
        handle.seek(max(0, handle.tell() - (1 << 16)))
        block = handle.read()
    return block.splitlines(keepends=True)[-1] if block else b"\n"
