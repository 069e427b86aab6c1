"""The TOML file that says which column of a foreign table is which of ours, in which unit.

clock = "unix"                 # or "local", "relative", "utc+8"

[jobs]                         # or [usage], [nodes]; several may stand in one file
files = "jobs*.csv"
separator = ";"
missing = ["n/a", "-1"]        # words for "unknown", besides the usual ones
attr = ["batch_size", "req_*"] # further columns known at submit time
after = ["exit_code"]          # further columns known only afterwards

[jobs.columns]
job_id = "id"
request_memory_gib = { column = "mem_mb", unit = "MB" }
submit_s = { column = "submitted", unit = "datetime" }
request_cpu_cores = { column = "kerne", decimal = "," }
instances = { constant = 1 }

[jobs.status]
Pass = "completed"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prophase.errors import MissingFileError, ParameterError, nearest, storage_error
from prophase.trace.schema import SCHEMAS, STATUSES, Column, TableSchema
from prophase.units.parsers import CONVERTIBLE, factor_to

CLOCKS = ("unix", "local", "relative", "utc+8")
_CLOCK = re.compile(r"unix|local|relative|utc[+-]\d{1,2}(\.\d+)?")
#: units that are not a factor but a way of writing -> what they can fill, and an example
TEXT_UNITS = {
    "datetime": ("s", "2021-05-01 02:26:23, with or without T, Z or +02:00"),
    "datetime dmy": ("s", "1.5.2021 02:26:23 or 01/05/2021"),
    "datetime mdy": ("s", "5/1/2021 02:26:23"),
    "hms": ("s", "02:26:23 or 1-02:26:23, days first"),
    "size": ("GiB", "512Mi, 16GB or 2.5 GiB; G and GB are 10^9 bytes"),
    "size binary": ("GiB", "512M or 16G, where G and GB are GiB, as in Slurm"),
    "quantity": ("cores", "500m for half a core, or 2"),
}
_SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
_TABLE_KEYS = ("files", "separator", "missing", "attr", "after", "columns", "status")
_COLUMN_KEYS = ("column", "unit", "decimal", "constant")
#: how the name of a free column gives its unit
_UNIT_BY_ENDING = {"_s": "s", "_gib": "GiB", "_cores": "cores", "_pct": "%", "_bytes": "bytes",
                   "_gpus": "GPUs"}  # fmt: skip


@dataclass(frozen=True)
class ColumnRule:
    """Where the values of one of our columns come from."""

    target: Column
    column: str | None = None
    unit: str | None = None
    decimal: str = "."
    constant: str | float | None = None

    @property
    def factor(self) -> float:
        if self.unit is None or self.unit in TEXT_UNITS:
            return 1.0
        return factor_to(self.target.unit, self.unit)


@dataclass(frozen=True)
class TableRule:
    """How one table is read from files."""

    schema: TableSchema
    columns: Sequence[ColumnRule]
    files: Sequence[str] = ("*",)
    separator: str | None = None
    missing: Sequence[str] = ()
    attr: Sequence[str] = ()
    after: Sequence[str] = ()
    status: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ColumnMapping:
    """The content of a mapping file."""

    path: Path
    tables: Sequence[TableRule]
    clock: str | None = None


def is_clock(text: object) -> bool:
    """Return whether a word names a clock: unix, local, relative, or utc+8 and the like.

    Examples
    --------
    >>> is_clock("utc+8"), is_clock("sundial")
    (True, False)
    """
    return isinstance(text, str) and _CLOCK.fullmatch(text) is not None


def read_mapping(path: Path | str) -> ColumnMapping:
    """Return a mapping file, or say which line of it is wrong and how to mend it.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name) / "jobs.toml"
    >>> _ = file.write_text('jobs.columns.duration_s = {column = "min", unit = "min"}')
    >>> read_mapping(file).tables[0].columns[0].factor
    60.0
    >>> folder.cleanup()
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as cause:
        raise MissingFileError(
            f"{path}: there is no such mapping. Make one with: "
            "prophase import csv PATH --guess > mapping.toml"
        ) from cause
    except OSError as cause:
        raise storage_error(cause, path) from cause
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise ParameterError(f"{path}: is not valid TOML: {cause}. Correct that place.") from cause
    clock = content.pop("clock", None)
    if clock is not None and not is_clock(clock):
        raise ParameterError(f"{path}: clock is {clock!r}; it is one of {', '.join(CLOCKS)}.")
    if not content:
        raise ParameterError(f"{path}: maps nothing. Add [jobs.columns] and a line per column.")
    for name, section in content.items():
        if name not in SCHEMAS or not isinstance(section, dict):
            raise ParameterError.among(
                f"{path}: {name!r} is not a table.",
                name,
                SCHEMAS,
                heading="A mapping has clock at the top and one section per table",
            )
    tables = [_table_rule(path, SCHEMAS[name], section) for name, section in content.items()]
    return ColumnMapping(path, tables, clock)


def _table_rule(path: Path, schema: TableSchema, section: Mapping[str, object]) -> TableRule:
    for key in section:
        if key not in _TABLE_KEYS:
            ours = schema.get(key) is not None and not schema.open_metrics
            said = f"{path}: [{schema.name}] does not know {key!r}."
            said += f" Move it to [{schema.name}.columns]." if ours else ""
            raise ParameterError.among(said, "" if ours else key, _TABLE_KEYS)
    columns = section.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise ParameterError(
            f"{path}: [{schema.name}] maps no columns. Add [{schema.name}.columns] with lines "
            f'such as {schema.columns[0].name} = "id".'
        )
    rules = [_column_rule(path, schema, target, spec) for target, spec in columns.items()]
    return TableRule(
        schema=schema,
        columns=rules,
        files=_words(path, schema, section, "files") or ("*",),
        separator=_separator(path, schema, section.get("separator")),
        missing=_words(path, schema, section, "missing"),
        attr=_words(path, schema, section, "attr"),
        after=_words(path, schema, section, "after"),
        status=_status(path, schema, section.get("status", {})),
    )


def _column_rule(path: Path, schema: TableSchema, target: str, spec: object) -> ColumnRule:
    place = f"{path}: [{schema.name}.columns] {target}"
    column = schema.get(target)
    if column is None or target == "source":
        hint = nearest(target, schema.names) or f"It has {', '.join(schema.names)}."
        own = " Columns of your own start with attr_ or after_." if schema.prefixes else ""
        raise ParameterError(f"{place}: the {schema.name} table has no such column. {hint}{own}")
    column = with_unit_of_its_name(column)
    if isinstance(spec, str):
        return ColumnRule(column, spec)
    if not isinstance(spec, dict) or ("column" in spec) == ("constant" in spec):
        raise ParameterError(
            f'{place}: is {spec!r}. Write "name", {{ column = "name", unit = "s" }} or '
            "{ constant = 1 }."
        )
    for key in spec:
        if key not in _COLUMN_KEYS:
            raise ParameterError.among(f"{place}: does not know {key!r}.", key, _COLUMN_KEYS)
    if "constant" in spec:
        return ColumnRule(column, constant=_constant(place, column, spec["constant"]))
    unit = spec.get("unit")
    if unit is not None:
        _check_unit(place, column, str(unit))
    decimal = spec.get("decimal", ".")
    if decimal not in (".", ",") or (decimal == "," and column.kind == "text"):
        raise ParameterError(
            f"{place}: decimal is {decimal!r}. It is the mark in front of the tenths of a number: "
            'decimal = "," for 3,5.'
        )
    return ColumnRule(column, str(spec["column"]), None if unit is None else str(unit), decimal)


def free_name(prefix: str, column: str) -> str:
    """Return the name under which a further column is kept.

    Examples
    --------
    >>> free_name("attr_", "Max GPU Memory (MiB)")
    'attr_max_gpu_memory_mib'
    """
    plain = re.sub(r"[^0-9a-z]+", "_", column.lower()).strip("_")
    return plain if plain.startswith(prefix) else prefix + plain


def with_unit_of_its_name(column: Column) -> Column:
    """Give a free column such as after_gpu_memory_gib the unit that its name ends in."""
    if column.unit or column.kind == "text" or column.low is not None:
        return column
    for ending, unit in _UNIT_BY_ENDING.items():
        if column.name.endswith(ending):
            return Column(column.name, "number", column.known, column.text, unit=unit)
    return column


def _check_unit(place: str, column: Column, unit: str) -> None:
    if unit in TEXT_UNITS and TEXT_UNITS[unit][0] == column.unit:
        return
    written = [name for name, (fills, _) in TEXT_UNITS.items() if fills == column.unit]
    try:
        factor_to(column.unit, unit)
    except ParameterError as cause:
        known = [*CONVERTIBLE.get(column.unit, ()), *written]
        what = column.unit or ("text" if column.kind == "text" else "a plain number")
        raise ParameterError.among(
            f"{place}: unit {unit!r} cannot become {what}.",
            unit,
            known,
            heading="Known units",
            none="none, leave the unit out",
        ) from cause


def _constant(place: str, column: Column, value: object) -> str | float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if (column.kind == "number" and not number) or not isinstance(value, int | float | str):
        raise ParameterError(f"{place}: constant is {value!r}, but the column holds a number.")
    return str(value) if column.kind == "text" else float(value) if number else str(value)


def _separator(path: Path, schema: TableSchema, value: object) -> str | None:
    if value is None:
        return None
    separator = _SEPARATORS.get(str(value), value)
    if not isinstance(separator, str) or len(separator) != 1:
        raise ParameterError(
            f"{path}: [{schema.name}] separator is {value!r}; it is one character, or one of "
            f"{', '.join(_SEPARATORS)}."
        )
    return separator


def _words(path: Path, schema: TableSchema, section: Mapping[str, object], key: str) -> list[str]:
    """Return a text or a list of texts as a list."""
    value = section.get(key, [])
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ParameterError(
            f'{path}: [{schema.name}] {key} is {value!r}; write texts in quotes, ["a", "b"].'
        )
    return words


def _status(path: Path, schema: TableSchema, words: object) -> dict[str, str]:
    for word, status in words.items() if isinstance(words, dict) else ():
        if status not in STATUSES:
            raise ParameterError.among(
                f"{path}: [{schema.name}.status] {word} is {status!r}.", str(status), STATUSES
            )
    if not isinstance(words, dict):
        raise ParameterError(
            f'{path}: [{schema.name}.status] holds lines such as Pass = "completed".'
        )
    return dict(words)
