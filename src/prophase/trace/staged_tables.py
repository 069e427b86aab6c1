"""Read a dump into finished Parquet files, and account for every row on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import ibis

from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.trace import source_files as files
from prophase.trace.dump import Dump, keep_lines, kept_lines
from prophase.trace.engine import Engine, open_engine
from prophase.trace.identity.choice import COMPARED, choose_rule
from prophase.trace.identity.job_identity import HELD, file_rule, identified, with_categories
from prophase.trace.identity.rule import IdentityRule
from prophase.trace.reader import Reader
from prophase.trace.row_rules import REPAIRED, finish, keep_rules, refuse_damage, typed
from prophase.trace.schema import IDENTITY, SCHEMAS
from prophase.trace.text_table import BAD, REASON
from prophase.trace.workspace import columns_without_values
from prophase.version import __version__

_JOINED = "_joined_"
#: tables up to this size are stored in time order
_SORTED_ROWS = 2_000_000
_ID = {"jobs": "job_id", "nodes": "node_id"}
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
    #: of the bytes, the reader, its options and the rules that left rows out
    source_hash: str
    #: the same without the rules
    dump_hash: str
    files: Mapping[str, str]
    tables: Mapping[str, TableCount]
    notes: Sequence[str] = ()
    clock: str = "relative"
    version: str = __version__
    #: by which columns jobs are grouped, as :class:`IdentityRule` has it
    identity: JsonObject = field(default_factory=dict)

    def to_dict(self) -> JsonObject:
        return asdict(self)


@dataclass(frozen=True)
class Staged:
    """Finished Parquet files that no workspace knows yet."""

    parts: Mapping[str, Path]
    report: ImportReport


#: called with what is being done and how far it is, 0..100 (None: not known)
Progress = Callable[[str, float | None], object]


def silent(step: str, percent: float | None) -> None:
    """Show no progress."""


def stage(
    reader: Reader,
    path: Path,
    scratch: Path,
    *,
    engine: str = "duckdb",
    options: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    max_bad: float = 0.01,
    by: str | None = None,
    progress: Progress = silent,
) -> Staged:
    """Read a dump into Parquet files below ``scratch``."""
    rules = keep_rules(keep)
    reader.refuse_unknown(options or {})
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
        likely: IdentityRule | None = None
        for name, table in tables.items():
            finished = finish(name, table, source=reader.name, keep=rules)
            if name == "jobs":
                finished, likely = _with_likely_identity(running, finished, by)
            parts[name], counts[name] = _stage_table(
                running, name, finished, scratch, dump, max_bad, progress, likely
            )
        for said in _remarks(running, parts):
            dump.note(said)
    finally:
        running.close()
    identity: JsonObject = {}
    if "jobs" in parts:
        progress("grouping jobs", None)
        parts["jobs"], rule = identified(parts["jobs"], by=by)
        identity = rule.to_dict()
    hashes = dump.hashes()
    dumped = [reader.name, *sorted(hashes.values()), *sorted_options(options)]
    report = ImportReport(
        source=reader.name,
        path=str(path),
        engine=engine,
        source_hash=files.combined_hash([*dumped, *_rules_applied(keep, max_bad, counts)]),
        dump_hash=files.combined_hash(dumped),
        files=hashes,
        tables=counts,
        notes=tuple(dump.notes),
        clock=dump.clock or reader.clock,
        identity=identity,
    )
    return Staged(parts, report)


def _remarks(engine: Engine, parts: Mapping[str, Path]) -> Iterator[str]:
    """Count rows that are kept and yet say little: runs of 0 s, samples of no job."""
    if "jobs" not in parts:
        return
    jobs = engine.open_parquet(parts["jobs"])
    if "duration_s" in jobs.columns:
        at_once = jobs.filter(jobs.duration_s == 0)
        count = int(engine.to_pandas(at_once.agg(rows=at_once.count()))["rows"].iloc[0])
        if count:
            yield f"{counted(count, 'job')} ran for 0 s: nothing is learnt from a run of no length."
    if "usage" in parts:
        usage = engine.open_parquet(parts["usage"])
        series = usage.group_by("series_id").agg(rows=usage.count())
        orphans = series.anti_join(jobs, series.series_id == jobs.job_id)
        every, lost = (
            engine.to_pandas(some.agg(series=some.count(), rows=some.rows.sum())).fillna(0)
            for some in (series, orphans)
        )
        count = int(lost["series"].iloc[0])
        # where no series is a job's, series are of something else
        if 0 < count < int(every["series"].iloc[0]):
            rows = counted(int(lost["rows"].iloc[0]), "usage row")
            yield f"{rows} of {counted(count, 'series', 'series')} belong to no job of the table."


def _rules_applied(
    keep: Sequence[str], max_bad: float, counts: Mapping[str, TableCount]
) -> list[str]:
    """Return what decided about the rows, as text; without damage no share of it was needed."""
    damaged = any(count.bad for count in counts.values())
    return [f"keep {name}" for name in sorted(set(keep))] + [f"max_bad {max_bad:g}"] * damaged


def _with_likely_identity(
    engine: Engine, jobs: ibis.Table, by: str | None
) -> tuple[ibis.Table, IdentityRule | None]:
    """Return a large job table with its identity, by the rule that some of its rows suggest.

    What all of them suggest is seen when they are written; if it is the same, that is once.
    """
    if {*IDENTITY} & {*jobs.columns}:
        return jobs, None
    looked_at = [c for c in jobs.columns if not c.startswith("_") and (by or c in COMPARED)]
    some = engine.first_look(jobs.filter(jobs[REASON].isnull()).select(*looked_at))
    rule = None if some is None else choose_rule(with_categories(some), by=by)
    made = None if rule is None else rule.expressed(jobs)
    if rule is None or made is None:
        return jobs, None
    return jobs.mutate(**made).relocate(*IDENTITY, before="source"), rule


def _stage_table(
    engine: Engine,
    name: str,
    table: ibis.Table,
    scratch: Path,
    dump: Dump,
    max_bad: float,
    progress: Progress,
    likely: IdentityRule | None = None,
) -> tuple[Path, TableCount]:
    """Write all rows with their reasons, count them, then write the kept ones in time order.

    A big table that needs no row left out is taken as it is: the second write would cost
    as much as the import. Its helper columns stay in the file, out of the column list.
    """
    raw, final = scratch / f"{name}.raw.parquet", scratch / f"{name}.parquet"
    if not raw.exists():
        part = raw.with_suffix(".part")
        rule = likely if name == "jobs" else None
        attributes = "" if rule is None else json.dumps({HELD: rule.to_dict()})
        engine.write_parquet(
            table, part, lambda share: progress(f"reading {name}", share), attributes
        )
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
    kept, repeats = unique_ids(engine, name, rows.filter(rows[REASON].isnull()))
    if repeats:
        mended = {**count.repaired, f"repeated {_ID[name]}, numbered #2, #3 ...": repeats}
        count = replace(count, repaired=mended)
    if name == "jobs":
        dump.count_orphans(rows, unique=not repeats and not count.dropped)
    if count.read > _SORTED_ROWS and not count.dropped and not repeats:
        return raw, count
    absent = columns_without_values(raw)
    if file_rule(raw) is not None:
        # the jobs that are left may be grouped otherwise
        absent |= {*IDENTITY}
    kept = kept.drop(*(c for c in kept.columns if c.startswith("_") or c in absent))
    if name in SCHEMAS:
        schema = SCHEMAS[name]
        kept = typed(schema, kept.select(*schema.in_order(kept.columns)))
    engine.write_parquet(
        in_order(name, kept), final, lambda share: progress(f"writing {name}", share)
    )
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


def unique_ids(engine: Engine, name: str, table: ibis.Table) -> tuple[ibis.Table, int]:
    """Number the second and later rows of a repeated id, so that an id names one row."""
    if name not in _ID:
        return table, 0
    ids = table[_ID[name]]

    def repeated(values: ibis.Value) -> int:
        totals = engine.to_pandas(table.agg(rows=table.count(), ids=values.nunique()))
        return int(totals["rows"].iloc[0] - totals["ids"].iloc[0])

    # all hashes different: all ids different; otherwise it may be a collision, so count exactly
    repeats = repeated(engine.hashed(ids)) and repeated(ids)
    if not repeats:
        return table, 0
    order = [table[column] for column in table.columns if not column.startswith("_")]
    copy = ibis.row_number().over(group_by=ids, order_by=order)
    suffix = (copy == 0).ifelse("", ibis.literal("#") + (copy + 1).cast("string"))
    return table.mutate(**{_ID[name]: ids + suffix}), repeats


def in_order(name: str, table: ibis.Table) -> ibis.Table:
    """Return a table in the order of time, as far as it has a clock."""
    order = [table[column] for column in _SORT.get(name, ()) if column in table.columns]
    return table.order_by(order) if order else table


def sorted_options(options: Mapping[str, str] | None) -> list[str]:
    """Return options as text in one order, for hashes."""
    return [f"{key}={value}" for key, value in sorted((options or {}).items())]
