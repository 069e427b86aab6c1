"""Propose a mapping for a foreign table, with the reasons beside each line."""

from __future__ import annotations

import csv
import json
import lzma
import re
import tomllib
import zlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from prophase.errors import FormatError, MissingColumnError, MissingFileError, storage_error
from prophase.plural import as_typed
from prophase.trace import source_files as files
from prophase.trace.dump import column_names, first_line_of
from prophase.trace.json_records import LINES, flat_records, is_json
from prophase.trace.mapping.column_mapping import free_name
from prophase.trace.mapping.column_matches import (
    ColumnMatch,
    end_of,
    known_beforehand,
    match_columns,
    table_of,
)
from prophase.trace.mapping.column_traits import ColumnTraits
from prophase.trace.mapping.unit_guesses import CLOCK_COLUMNS
from prophase.trace.schema import AFTERWARDS_PREFIX, ATTRIBUTE_PREFIX
from prophase.trace.text_table import MISSING_WORDS

#: rows looked at, spread over the first bytes of the file (unpacked)
_ROWS = 5000
_BYTES = 1 << 26
#: a table with none of these says nothing that could be used
_TELLING = re.compile(
    r"^(submit_s|start_s|end_s|duration_s|time_s|request_.*|.*_(peak|mean)_.*"
    r"|cpu_cores|memory_gib|gpus)$"
)
#: names of files that may be tables
TABLE_FILES = ("*.csv", "*.tsv", "*.psv", "*.txt", "*.parquet", *LINES)


def guess_mapping(path: Path | str) -> str:
    """Return a mapping for the file or folder at ``path`` as TOML, with comments.

    Each line says how certain it is: *sure*, *likely* or *unsure*. What cannot be decided
    from the name is put under ``after``, which no predictor uses.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name) / "jobs.csv"
    >>> rows = ["id,queued_at,mem_mb", "a,1600000000,512", "b,1600000060,1024"]
    >>> _ = file.write_text(chr(10).join(rows))
    >>> print(guess_mapping(file))
    # Proposed from the names and a sample of rows; check the lines marked unsure, then:
    ...
    submit_s = { column = "queued_at", unit = "s" } # sure: s since 1970: values around 1600000060
    request_memory_gib = { column = "mem_mb", unit = "MiB" } # unsure: mem_mb holds multiples ...
    >>> folder.cleanup()
    """
    path = Path(path)
    sections: dict[str, tuple[tuple[int, int], list[str], str, str]] = {}
    unread: list[str] = []
    for group in _same_header(path):
        looks, separator = look_at(group[0])
        table = table_of(looks, group[0].name)
        size = sum(file.stat().st_size for file in group)
        fit = (len(match_columns(table, looks)), size)
        if table == "nodes" and len(group) > 1:
            # node lists with the same columns are versions of each other, not parts
            group = [max(group, key=lambda file: file.stat().st_size)]
        names = _file_patterns(group, path)
        if table in sections and sections[table][0] >= fit:
            unread += names
            continue
        if table in sections:
            unread += sections[table][1]
        text, clock = _section(table, looks, separator, names)
        sections[table] = (fit, names, text, clock)
    clocks = {clock for _, _, _, clock in sections.values() if clock}
    lines = [
        "# Proposed from the names and a sample of rows; check the lines marked unsure, then:",
        f"#   prophase import csv {as_typed(path)} --map THIS_FILE",
        f'clock = "{min(clocks, default="relative")}"  # {_CLOCK_WORDS[min(clocks, default="")]}',
        *(f"# Not mapped, because another file fits better: {name}" for name in unread),
    ]
    return "\n".join([*lines, *(text for _, _, text, _ in sections.values())]) + "\n"


def usable_mapping(path: Path, tables: Sequence[str]) -> str:
    """Return a mapping guessed from the names of columns, if they say what one of ``tables`` is."""
    text = guess_mapping(path)
    found = tomllib.loads(text)
    named = {
        column
        for table in tables
        for column, source in found.get(table, {}).get("columns", {}).items()
        if not (isinstance(source, dict) and "constant" in source)
    }
    if any(_TELLING.match(column) for column in named):
        return text
    raise MissingColumnError(
        f"{path}: no reader recognises these files, and the names of their columns do not "
        "tell what they are. Say which column is which: "
        f"prophase import csv {as_typed(path)} --guess > mapping.toml, complete it, then "
        "give it with --map mapping.toml. "
        "For a known source with other names: --source (prophase import list)."
    )


def unsure_columns(mapping: str) -> list[str]:
    """Return the guesses that a mapping marks as unsure.

    Examples
    --------
    >>> unsure_columns("duration_s = 'len' # unsure: no unit")
    ['duration_s (no unit)']
    """
    return [
        f"{found['target']} ({found['why'].strip()})"
        for line in mapping.splitlines()
        if (found := re.match(r"(?P<target>\w+) = .*# unsure: (?P<why>.*)", line))
    ]


_CLOCK_WORDS = {
    "": "no clock was found",
    "local": "wall-clock text without a zone",
    "relative": "seconds after a start of its own",
    "unix": "seconds since 1970",
}


def look_at(path: Path, rows: int = _ROWS) -> tuple[list[ColumnTraits], str]:
    """Return the columns of a table as a sample of its rows shows them, and its separator."""
    if files.is_parquet(path):
        names = files.parquet_columns(path)
        sample = files.parquet_rows(path, rows)
        if not sample:
            raise FormatError(f"{path}: has {len(names)} columns but no rows. Export it again.")
        return [
            ColumnTraits(name, ["" if row[name] is None else str(row[name]) for row in sample])
            for name in names
        ], ","
    if is_json(path):
        records = list(islice(flat_records(path), rows))
        named = dict.fromkeys(name for record in records for name in record)
        return [ColumnTraits(name, [r.get(name, "") for r in records]) for name in named], ","
    lines = _head(path)
    separator = separator_of(lines[0])
    header = column_names(lines[0], separator, path)
    # a quoted cell may hold a line break, so rows are counted by the CSV reader
    table = [row for row in csv.reader(lines[1:], delimiter=separator) if len(row) == len(header)]
    fitting = table[:: max(1, len(table) // rows)]
    if not fitting:
        raise FormatError(
            f"{path}: has a header of {len(header)} columns but no row of that width below it. "
            "Check that it is a table with a header line."
        )
    return [
        ColumnTraits(name, [row[place].strip() for row in fitting])
        for place, name in enumerate(header)
    ], separator


def separator_of(line: str) -> str:
    """Return what splits a header line into most columns.

    Examples
    --------
    >>> separator_of('id;"name, first";gpus')
    ';'
    """
    return max(",;|\t", key=lambda mark: len(next(csv.reader([line], delimiter=mark), [])))


def separator_in(path: Path) -> str:
    """Return what separates the columns of a table; of a Parquet file, any mark will do."""
    return "," if files.is_parquet(path) else separator_of(files.first_lines(path, 1)[0])


def _head(path: Path) -> list[str]:
    try:
        with files.open_bytes(path) as stream:
            head = stream.read(_BYTES)
    except (EOFError, zlib.error, lzma.LZMAError) as cause:
        raise FormatError(f"{path}: the compressed data are damaged. Fetch it again.") from cause
    except OSError as cause:
        raise storage_error(cause, path) from cause
    cut = len(head) == _BYTES
    lines = files.decoded(head, path, cut=cut).splitlines()
    return lines[:-1] if cut and len(lines) > 1 else lines


def _same_header(path: Path) -> list[list[Path]]:
    """Return the text tables at ``path``, those with the same first line together."""
    found = files.files_below(path)
    tables = [file for file in found if path.is_file() or files.matches(file, TABLE_FILES)]
    if not tables:
        raise MissingFileError(f"{path}: holds no {', '.join(TABLE_FILES)} file to look at.")
    groups: dict[str, list[Path]] = {}
    for file in tables:
        # one that cannot be read is reported when it is read
        groups.setdefault(first_line_of(file) or str(file), []).append(file)
    return list(groups.values())


def _file_patterns(group: Sequence[Path], root: Path) -> list[str]:
    """Return one pattern for the group, or its names if the pattern would fit other files too."""
    names = [files.plain_name(file) for file in group]
    start, end = _shared_start(names), _shared_start([name[::-1] for name in names])[::-1]
    pattern = names[0] if len(names) == 1 else f"{start}*{end}"
    fits = [file for file in files.files_below(root) if files.matches(file, [pattern])]
    return [pattern] if root.is_file() or len(fits) == len(group) else names


def _shared_start(names: Sequence[str]) -> str:
    shortest = min(names, key=len)
    for place, letter in enumerate(shortest):
        if any(name[place] != letter for name in names):
            return shortest[:place]
    return shortest


def _section(
    table: str, looks: Sequence[ColumnTraits], separator: str, names: Sequence[str]
) -> tuple[str, str]:
    """Return the lines of one table, and its clock."""
    matches = _on_one_clock(match_columns(table, looks))
    used = {match.look.name for match in matches}
    left = [look for look in looks if look.name not in used]
    dropped = [look for look in left if _row_number(look)]
    odd = [look for look in left if look.percent_signs or look.decimal_comma]
    free = [look for look in left if look not in dropped and look not in odd]
    lines = ["", f"[{table}]", f"files = {_listed(names)}", f"separator = {_quoted(separator)}"]
    missing = _words_for_unknown(matches)
    if missing:
        lines.append(f"missing = {_listed(missing)} # words and numbers that stand for unknown")
    lines += _free_lines(table, free)
    lines += ["", f"[{table}.columns]", *map(_line, matches)]
    filled = {match.target.name for match in matches}
    lines += _odd_lines(table, odd, filled)
    lines += [
        f"# {look.name} stays text: its commas may be thousands or decimals; if decimals, map it "
        'with decimal = ","'
        for look in left
        if look.unclear_commas
    ]
    if table == "jobs" and "job_id" not in filled:
        lines.append("# no column names a job: jobs will be numbered")
    if table == "jobs" and not filled:
        lines.append("instances = { constant = 1 } # unsure: no column was recognised, name them")
    if table == "usage" and "series_id" not in filled:
        lines.append('series_id = { constant = "all" } # unsure: no column names a series')
    lines += [f"# left out: {look.name} (a row number)" for look in dropped]
    status = next((m.look for m in matches if m.target.name == "status"), None)
    if status is not None:
        lines += ["", "[jobs.status]", *map(_status_line, status.common)]
    return "\n".join(lines), _clock(matches)


def _on_one_clock(matches: Sequence[ColumnMatch]) -> list[ColumnMatch]:
    """Leave out times with a zero of their own where others are dates: they share no axis."""
    clocks = [match for match in matches if match.target.name in CLOCK_COLUMNS]
    dated = [match for match in clocks if _is_dated(match)]
    return [match for match in matches if not dated or match not in clocks or match in dated]


def _is_dated(match: ColumnMatch) -> bool:
    return "1970" in match.why or (match.unit or "").startswith("datetime")


def _line(match: ColumnMatch) -> str:
    comma = match.look.decimal_comma and match.target.kind == "number"
    value = _source(match.look, match.unit, comma)
    why = f"{match.why}; with a decimal comma" if comma else match.why
    return f"{match.target.name} = {value} # {match.certainty}: {why}"


def _source(look: ColumnTraits, unit: str | None, comma: bool) -> str:
    parts = [f"column = {_quoted(look.name)}"]
    parts += [f'unit = "{unit}"'] if unit is not None else []
    parts += ['decimal = ","'] if comma else []
    return _quoted(look.name) if len(parts) == 1 else f"{{ {', '.join(parts)} }}"


def _odd_lines(table: str, looks: Sequence[ColumnTraits], taken: set[str]) -> list[str]:
    """Map further columns whose numbers are not plain: as listed ones they would stay text."""
    lines = []
    for look in looks:
        before = known_beforehand(look) or table == "nodes"
        prefix = "" if table == "usage" else ATTRIBUTE_PREFIX if before else AFTERWARDS_PREFIX
        name = free_name(prefix, look.name)
        if look.percent_signs:
            name = name.removesuffix("_pct") + "_pct"
        if name not in taken:
            taken.add(name)
            value = _source(look, "percent" if look.percent_signs else None, look.decimal_comma)
            lines.append(f"{name} = {value} # sure: written like {look.present[0]!r}")
    return lines


def _free_lines(table: str, looks: Sequence[ColumnTraits]) -> list[str]:
    """List further columns: known at submit time, or not, or unknown and so not."""
    if table == "usage":
        metrics = [look.name for look in looks if look.numeric]
        return [f"after = {_listed(metrics)} # further metrics"] if metrics else []
    marks = {look.name: known_beforehand(look) for look in looks}
    before = [name for name, mark in marks.items() if mark or table == "nodes"]
    after = [name for name in marks if name not in before]
    unclear = [name for name in after if marks[name] is None]
    lines = [f"attr = {_listed(before)} # known at submit time, by their names"] if before else []
    if after:
        lines.append(
            f"after = {_listed(after)} # known only afterwards; predictors do not use them"
        )
    if unclear:
        lines.append(
            f"# unsure when these are known; if at submit time, move to attr: {_listed(unclear)}"
        )
    return lines


def _status_line(word: str) -> str:
    known = end_of(word)
    mark = "sure" if known else "unsure: replace by what it means"
    if word.strip().startswith("137"):
        mark = "unsure: a kill; by lack of memory it is oom"
    return f'{_quoted(word)} = "{known or "unknown"}" # {mark}'


def _words_for_unknown(matches: Sequence[ColumnMatch]) -> list[str]:
    """Return odd cells in columns of numbers, and -1 where nothing can be negative."""
    words: dict[str, None] = {}
    for match in matches:
        if match.target.kind != "number":
            continue
        words |= dict.fromkeys(match.look.words_for_unknown)
        below_zero = match.look.numbers[match.look.numbers < 0]
        amount = match.target.low == 0 or match.target.name in CLOCK_COLUMNS
        if amount and below_zero.size and np.all(below_zero == -1):
            words |= dict.fromkeys(c for c in match.look.present if c in ("-1", "-1.0"))
    return [word for word in words if word not in MISSING_WORDS]


def _row_number(look: ColumnTraits) -> bool:
    """Return whether an unnamed column just counts the rows."""
    return look.name.startswith(("column_", "Unnamed")) and look.numeric and look.unique


def _clock(matches: Sequence[ColumnMatch]) -> str:
    clocks = [match for match in matches if match.target.name in CLOCK_COLUMNS]
    if not clocks:
        return ""
    if any(match.unit and match.unit.startswith("datetime") for match in clocks):
        zoned = all(
            cell.endswith("Z") or "+" in cell for m in clocks for cell in m.look.present[:9]
        )
        return "unix" if zoned else "local"
    return "unix" if any("1970" in match.why for match in clocks) else "relative"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, names))}]"
