"""Any delimited text, Parquet file or JSON records: with a mapping of columns, or without.

The mapping is a small TOML file (see ``trace.mapping``). Without one, columns
that already have the names of our tables are taken as they are, so a table that was
exported from a workspace reads back; of others the mapping is guessed, and that is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import ibis

from prophase.errors import MissingColumnError, ParameterError
from prophase.plural import as_typed
from prophase.trace.dump import Dump, header_of, numbered, stack
from prophase.trace.json_records import as_csv, is_json
from prophase.trace.mapping.column_mapping import (
    ColumnMapping,
    ColumnRule,
    TableRule,
    free_name,
    read_mapping,
)
from prophase.trace.mapping.column_vocabulary import STATUS_WORDS
from prophase.trace.mapping.mapping_proposal import (
    TABLE_FILES,
    guess_mapping,
    separator_in,
    unsure_columns,
    usable_mapping,
)
from prophase.trace.reader import Reader, Tables
from prophase.trace.row_rules import REPAIRED
from prophase.trace.schema import (
    AFTERWARDS_PREFIX,
    ATTRIBUTE_PREFIX,
    JOBS,
    NODES,
    SCHEMAS,
    STATUSES,
    USAGE,
)
from prophase.trace.source_files import SourceFile, combined_hash, file_hash
from prophase.trace.text_formats import form_of
from prophase.trace.text_table import MISSING_WORDS, Sheet, exactly

__all__ = ["READER", "guess_mapping"]

#: the columns that give one of our own tables away
_KEYS = {"usage": ("series_id", "time_s"), "jobs": ("job_id",), "nodes": ("node_id",)}


def _read(dump: Dump) -> Tables:
    path = dump.option("map", "")
    if path:
        mapping = read_mapping(path)
        _remember(dump, mapping.path)
        return _mapped_tables(dump, mapping)
    try:
        guessed = None if _in_our_words(dump) else usable_mapping(dump.root, [*SCHEMAS])
    except MissingColumnError:
        if not _in_our_words(dump, wholly=False):
            raise
        guessed = None
    return _tables_with_our_names(dump) if guessed is None else _guessed_tables(dump, guessed)


def _in_our_words(dump: Dump, *, wholly: bool = True) -> bool:
    """Return whether a file has the columns of one of our tables, and (``wholly``) no others."""
    for file in _files(dump):
        header = header_of(file, separator_in(file.path))
        name = _table_named(header)
        if name and not (wholly and any(SCHEMAS[name].get(column) is None for column in header)):
            return True
    return False


def _files(dump: Dump, patterns: Sequence[str] = TABLE_FILES) -> list[SourceFile]:
    """Return the files as text tables or Parquet; records in JSON are written as a table first."""
    return [
        replace(file, path=as_csv(file.path, dump.scratch / _own_name(file)))
        if is_json(file.path)
        else file
        for file in dump.find(*patterns)
    ]


def _own_name(file: SourceFile) -> str:
    return f"{combined_hash([file.path])[:8]}-{file.name}.csv"


def _table_named(header: Collection[str]) -> str | None:
    """Return which of our tables has these columns, by its key."""
    return next((name for name, key in _KEYS.items() if set(key) <= set(header)), None)


def _guessed_tables(dump: Dump, text: str) -> Tables:
    file = dump.scratch / "mapping.toml"
    file.write_text(text, encoding="utf-8")
    _remember(dump, file, Path(file.name))
    unsure = unsure_columns(text)
    dump.note(
        "The meaning of columns was guessed from their names"
        + (f"; unsure: {'; '.join(unsure)}" if unsure else "")
        + f". Read it with: prophase import csv {as_typed(dump.root)} --guess > mapping.toml; "
        "if something is wrong, correct that file and import with --map mapping.toml."
    )
    return _mapped_tables(dump, read_mapping(file))


def _mapped_tables(dump: Dump, mapping: ColumnMapping) -> Tables:
    tables: Tables = {}
    for rule in mapping.tables:
        files = _files(dump, TABLE_FILES if list(rule.files) == ["*"] else rule.files)
        parts = [_mapped(dump, rule, file, mapping.path) for file in files]
        tables[rule.schema.name] = _named(dump, rule, stack(parts))
    if mapping.clock:
        dump.clock = mapping.clock
    return tables


def _remember(dump: Dump, path: Path, shown: Path | None = None) -> None:
    """Count the mapping among the files used: another mapping makes other data."""
    digest: Future[str] = Future()
    digest.set_result(file_hash(path))
    dump.used[shown or path] = digest


def _tables_with_our_names(dump: Dump) -> Tables:
    parts: dict[str, list[ibis.Table]] = {}
    for file in _files(dump):
        separator = separator_in(file.path)
        header = header_of(file, separator)
        name = _table_named(header)
        if name is not None:
            parts.setdefault(name, []).append(_unmapped(dump, name, file, header, separator))
        else:
            dump.note(f"{file.name}: left out, its columns are not those of our tables.")
    return {name: stack(tables) for name, tables in parts.items()}


def _unmapped(
    dump: Dump, name: str, file: SourceFile, header: Sequence[str], separator: str
) -> ibis.Table:
    """Take the columns that have our names; extra ones of a usage table are metrics."""
    schema = SCHEMAS[name]
    sheet = dump.sheet(file, separator=separator)
    named = [column for column in header if column in schema.names and column != "source"]
    others = [column for column in header if column not in schema.names]
    free = [column for column in others if schema.get(column) is not None]
    if schema.open_metrics:
        free = [column for column in free if column in _numeric(dump, sheet, free)]
    ignored = [column for column in others if column not in free]
    if ignored:
        dump.note(
            f"{file.name}: {', '.join(ignored)} left out: not in the {name} table. "
            "Name them attr_... or after_... to keep them, or write a mapping."
        )
    columns = [schema.get(column) for column in (*named, *free)]
    rules = [ColumnRule(column, column.name) for column in columns if column is not None]
    return _selected(dump, sheet, rules, {})


def _mapped(dump: Dump, rule: TableRule, file: SourceFile, path: Path) -> ibis.Table:
    separator = rule.separator or separator_in(file.path)
    sheet = dump.sheet(file, separator=separator, missing=(*MISSING_WORDS, *rule.missing))
    for column in rule.columns:
        if column.column is not None:
            _need(
                sheet, column.column, f"{path}: [{rule.schema.name}.columns] {column.target.name}"
            )
    carried = _carried(sheet, rule, path)
    if rule.schema.open_metrics:
        carried = _metrics_only(dump, sheet, carried)
    rules = [*rule.columns, *carried]
    return _selected(dump, sheet, [*rules, *_namespace(rule, rules)], rule.status)


def _namespace(rule: TableRule, rules: Sequence[ColumnRule]) -> list[ColumnRule]:
    """Keep a namespace that stands for the queue as what it is, too: it says whose a job is."""
    target = rule.schema.get(f"{ATTRIBUTE_PREFIX}namespace")
    held = {one.target.name for one in rules}
    return [
        ColumnRule(target, one.column)
        for one in rules
        if one.target.name == "queue" and (one.column or "").lower().endswith("namespace")
        if target is not None and target.name not in held
    ]


def _metrics_only(dump: Dump, sheet: Sheet, rules: Sequence[ColumnRule]) -> list[ColumnRule]:
    """Leave out listed columns that are not numbers: a usage table holds metrics."""
    numeric = _numeric(dump, sheet, [rule.column for rule in rules if rule.column])
    words = [rule.column for rule in rules if rule.column and rule.column not in numeric]
    if words:
        dump.note(f"{sheet.file.name}: {', '.join(words)} left out: a metric is a number.")
    return [rule for rule in rules if rule.column in numeric]


def _carried(sheet: Sheet, rule: TableRule, path: Path) -> list[ColumnRule]:
    """Return a rule for every column that the lists attr and after name or match."""
    taken = {column.column for column in rule.columns}
    rules: list[ColumnRule] = []
    lists = {"attr": (ATTRIBUTE_PREFIX, rule.attr), "after": (AFTERWARDS_PREFIX, rule.after)}
    for key, (prefix, patterns) in lists.items():
        metrics = rule.schema.open_metrics and key == "after"
        if patterns and prefix not in rule.schema.prefixes and not metrics:
            raise ParameterError(
                f"{path}: [{rule.schema.name}] has no columns that start with {prefix}. "
                f"Remove {key}."
            )
        for pattern in patterns:
            fits = [name for name in sheet.columns if fnmatch(name, pattern)]
            if not fits:
                _need(sheet, pattern, f"{path}: [{rule.schema.name}] {key}")
            for name in fits:
                target = rule.schema.get(free_name("" if metrics else prefix, name))
                if name not in taken and target is not None:
                    taken.add(name)
                    rules.append(ColumnRule(target, name))
    return rules


def _need(sheet: Sheet, column: str, place: str) -> None:
    if not sheet.has(column):
        raise MissingColumnError.among(
            f"{place}: {sheet.file.origin} has no column {column!r}.",
            column,
            sheet.columns,
            heading="It has",
            most=30,
        )


def _selected(
    dump: Dump, sheet: Sheet, rules: Sequence[ColumnRule], status_words: Mapping[str, str]
) -> ibis.Table:
    open_kind = [
        r.column
        for r in rules
        if r.target.kind == "any" and r.column and not form_of(r.unit, r.decimal)
    ]
    numeric = _numeric(dump, sheet, open_kind)
    values: dict[str, ibis.Value] = {}
    for rule in rules:
        if rule.target.name == "status" and rule.column is not None:
            word = sheet.text(rule.column)
            known = _status(word, status_words)
            values["status"] = ibis.coalesce(known, word.notnull().ifelse("unknown", None))
            strange = known.isnull() & word.notnull()
            values[f"{REPAIRED}status word not in the map, kept as unknown"] = strange
        else:
            values[rule.target.name] = _value(sheet, rule, numeric)
    return sheet.select(**values)


def _value(sheet: Sheet, rule: ColumnRule, numeric: set[str]) -> ibis.Value:
    if rule.column is None:
        return ibis.literal(rule.constant)
    form = form_of(rule.unit, rule.decimal)
    if form is not None:
        value = form.read(sheet.text(rule.column)) * exactly(rule.factor)
        return sheet.converted(rule.column, value, form.what, form.parse)
    if rule.target.kind == "number" or rule.unit or rule.column in numeric:
        return sheet.number(rule.column, factor=rule.factor)
    return sheet.text(rule.column)


def _status(text: ibis.Value, own: Mapping[str, str]) -> ibis.Value:
    """Return our word for a status: the mapping's first, then the usual ones in any case."""
    plain = text.strip().lower()
    words = {**STATUS_WORDS, **{status: status for status in STATUSES}}
    usual = plain.cases(*words.items(), else_=ibis.null("string"))
    return text.cases(*own.items(), else_=usual) if own else usual


def _numeric(dump: Dump, sheet: Sheet, names: Iterable[str]) -> set[str]:
    """Return the columns that hold only numbers; 007 is a name, not a number."""
    names = list(names)
    if not names:
        return set()
    odd = {
        f"c{place}": (
            (column.try_cast("float64").isnull() & column.notnull())
            | column.re_search(r"^[+-]?0\d").fill_null(False)
        ).any()
        | column.isnull().all()
        for place, column in enumerate(sheet.table[name] for name in names)
    }
    found = dump.engine.to_pandas(sheet.table.agg(**odd)).iloc[0]
    return {name for place, name in enumerate(names) if not bool(found[f"c{place}"])}


def _named(dump: Dump, rule: TableRule, table: ibis.Table) -> ibis.Table:
    """Number jobs whose mapping gives them no id."""
    if rule.schema is not JOBS or "job_id" in table.columns:
        return table
    dump.note("The mapping names no job_id: jobs are numbered.")
    return numbered(table, "job-")


READER = Reader(
    name="csv",
    title="Any delimited text, Parquet or JSON records, with our names, a mapping or a guessed one",
    fills={
        "jobs": [name for name in JOBS.names if name != "source"],
        "usage": USAGE.names,
        "nodes": NODES.names,
    },
    cannot="what the file does not hold; further columns are kept as attr_... and after_...",
    read=_read,
    patterns=TABLE_FILES,
    # tables with our own column names
    signature=("series_id", "time_s"),
    also=(("job_id", "submit_s"), ("job_id", "duration_s"), ("node_id", "cpu_cores")),
    options={"map": "TOML file that maps columns and units; --guess proposes one"},
)
