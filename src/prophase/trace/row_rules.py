"""What the importer does to every row: derive, check, keep by rule, and stop at damage.

All of it is expressions, so it costs no second pass and runs on any engine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import ibis

from prophase.errors import BadRowsError, InputError, ParameterError, SchemaError, not_among
from prophase.trace.dump import Dump
from prophase.trace.engine import BadLine, Engine
from prophase.trace.schema import SCHEMAS, Column, TableSchema
from prophase.trace.text_table import BAD, REASON, exactly

#: columns that start with this count what was mended, and are not kept
REPAIRED = "_repaired_"
#: start before submit by up to this much is clock resolution, not an error
CLOCK_STEP_S = 1.0
#: the largest number that is not infinite
_MOST = sys.float_info.max


@dataclass(frozen=True)
class KeepRule:
    """A reason to leave whole rows out, chosen by the user."""

    text: str
    reason: str
    needs: str
    fails: Callable[[ibis.Table], ibis.Value]


KEEP_RULES = {
    "finished": KeepRule(
        "only jobs that completed",
        "not completed",
        "status",
        lambda t: (t.status != "completed") | t.status.isnull(),
    ),
    "known-workload": KeepRule(
        "only jobs whose workload is known",
        "workload unknown",
        "workload",
        lambda t: t.workload.isnull(),
    ),
    "positive-duration": KeepRule(
        "only jobs with a run time above zero",
        "run time zero or unknown",
        "duration_s",
        lambda t: (t.duration_s <= 0) | t.duration_s.isnull(),
    ),
    "gpu": KeepRule(
        "only jobs that ask for GPUs",
        "no GPU requested",
        "request_gpus",
        lambda t: (t.request_gpus <= 0) | t.request_gpus.isnull(),
    ),
    "measured-memory": KeepRule(
        "only jobs with a measured memory peak",
        "memory peak not measured",
        "memory_peak_gib",
        lambda t: t.memory_peak_gib.isnull(),
    ),
}


def keep_rules(names: Sequence[str]) -> list[KeepRule]:
    """Return the rules of these names, or say which there are."""
    for name in names:
        if name not in KEEP_RULES:
            raise ParameterError.among(
                f"--keep {name}: there is no such rule.", name, KEEP_RULES, heading="Known rules"
            )
    return [KEEP_RULES[name] for name in names]


def finish(
    name: str, table: ibis.Table, *, source: str, keep: Sequence[KeepRule] = ()
) -> ibis.Table:
    """Return a table with the schema's types, derived columns and a reason per unfit row."""
    schema = SCHEMAS.get(name)
    if schema is None:
        return table if REASON in table.columns else table.mutate(**{REASON: ibis.null("string")})
    _refuse_unknown_columns(schema, table)
    if REASON not in table.columns:
        table = table.mutate(**{REASON: ibis.null("string")})
    table = typed(schema, table)
    if name == "jobs":
        table = _derive_times(table.mutate(source=ibis.literal(source)))
    return table.mutate(**{REASON: _reason(schema, table, keep if name == "jobs" else ())})


def _refuse_unknown_columns(schema: TableSchema, table: ibis.Table) -> None:
    """A reader that invents a column has a mistake in it; say so before any work."""
    named = [column for column in table.columns if not column.startswith("_")]
    unknown = [column for column in named if schema.get(column) is None]
    lacking = [c.name for c in schema if c.required and c.name not in table.columns]
    if unknown or lacking:
        raise SchemaError(
            not_among(
                f"the {schema.name} table knows no column {unknown[0]!r}.",
                unknown[0],
                schema.names,
                heading="It has",
            )
            if unknown
            else f"the {schema.name} table needs the column {lacking[0]}."
        )


def typed(schema: TableSchema, table: ibis.Table) -> ibis.Table:
    """Cast text to strings and numbers to floats, whatever the engine made of them."""
    types = {"text": "string", "number": "float64"}
    wanted = {
        column: types[known.kind]
        for column in table.columns
        if not column.startswith("_")
        and (known := schema.get(column)) is not None
        and known.kind in types
    }
    return table.cast({c: t for c, t in wanted.items() if str(table[c].type()) != t})


def _derive_times(jobs: ibis.Table) -> ibis.Table:
    """Fill start, end, duration and wait from each other where the source gives only some."""
    missing = {
        c: ibis.null("float64") for c in ("submit_s", "start_s", "end_s", "duration_s", "wait_s")
    }
    jobs = jobs.mutate(**{c: v for c, v in missing.items() if c not in jobs.columns})
    jobs = jobs.mutate(
        start_s=ibis.coalesce(
            jobs.start_s, jobs.submit_s + jobs.wait_s, jobs.end_s - jobs.duration_s
        )
    )
    jobs = jobs.mutate(end_s=ibis.coalesce(jobs.end_s, jobs.start_s + jobs.duration_s))
    jobs = jobs.mutate(duration_s=ibis.coalesce(jobs.duration_s, jobs.end_s - jobs.start_s))
    wait = ibis.coalesce(jobs.wait_s, jobs.start_s - jobs.submit_s)
    skewed = (wait < 0) & (wait >= -CLOCK_STEP_S)
    backwards = wait < -CLOCK_STEP_S
    return jobs.mutate(
        wait_s=ibis.cases((skewed, 0.0), (backwards, ibis.null("float64")), else_=wait),
        **{f"{REPAIRED}start before submit, wait left out": backwards.fill_null(False)},
    )


def _reason(schema: TableSchema, table: ibis.Table, keep: Sequence[KeepRule]) -> ibis.Value:
    """Return the first reason that applies: the reader's, the schema's, the user's."""
    branches: list[tuple[ibis.Value, ibis.Value | str]] = [(table[REASON].notnull(), table[REASON])]
    # one comparison per column finds the few rows for which a reason is looked for
    fit = table[REASON].isnull()
    for column in schema:
        if column.name not in table.columns:
            continue
        value = table[column.name]
        if column.required:
            branches.append((value.isnull(), f"{BAD}{column.name} is missing"))
            fit &= value.notnull()
        if column.kind == "number":
            branches += _range_branches(value, column)
            low = -_MOST if column.low is None else column.low
            high = _MOST if column.high is None else column.high
            fit &= value.between(exactly(low), exactly(high))
    for rule in keep:
        if rule.needs not in table.columns:
            raise ParameterError(
                f"--keep needs the column {rule.needs}, which this source does not fill."
            )
        branches.append((rule.fails(table), rule.reason))
        fit &= ~rule.fails(table)
    return ibis.cases((~fit, ibis.cases(*branches)))


def _range_branches(value: ibis.Value, column: Column) -> list[tuple[ibis.Value, str]]:
    # comparing, because Ibis' isinf() is always false on Spark
    endless = (value == float("inf")) | (value == float("-inf"))
    branches = [(endless, f"{BAD}{column.name} is infinite")]
    if column.low is not None:
        word = "negative" if column.low == 0 else f"below {column.low:g}"
        branches.append((value < column.low, f"{BAD}{column.name} is {word}"))
    if column.high is not None:
        branches.append((value > column.high, f"{BAD}{column.name} is above {column.high:g}"))
    return branches


_KEYS = ("job_id", "series_id", "node_id")
_SHOWN = 3


def refuse_damage(
    name: str,
    kept: int,
    dropped: Mapping[str, int],
    max_bad: float,
    *,
    dump: Dump,
    engine: Engine,
    rows: ibis.Table,
    bad_lines: Sequence[BadLine],
) -> None:
    """Stop when nothing is left, or when more rows are damaged than the user allows."""
    read = kept + sum(dropped.values())
    if read == 0:
        raise InputError(
            f"{dump.root}: the {name} table has a header but no rows. Export it again."
        )
    bad = {r.removeprefix(BAD): n for r, n in dropped.items() if r.startswith(BAD)}
    if sum(bad.values()) <= max_bad * read and kept:
        return
    if not bad:
        raise InputError(
            f"{dump.root}: no row of {name} is left: "
            + ", ".join(f"{n:,} {reason}" for reason, n in dropped.items())
            + ". Loosen --keep."
        )
    examples = [f"{b.path.name} line {b.line}: {b.reason}" for b in bad_lines[: _SHOWN - 1]]
    examples += [text for sheet in dump.sheets for text in sheet.examples(2)][:_SHOWN]
    examples += _unfit_cells(engine, rows, dump, bad)
    listed = "\n".join(f"  {n:,} x {reason}" for reason, n in bad.items())
    total = sum(bad.values())
    raise BadRowsError(
        f"{dump.root}: {total:,} of {read:,} rows of {name} are damaged "
        f"({total / read:.1%}; {max_bad:.1%} are allowed):\n{listed}\n"
        + "\n".join(examples)
        + "\nCorrect the rows, or raise --max-bad to leave such rows out."
    )


def _unfit_cells(engine: Engine, rows: ibis.Table, dump: Dump, bad: Mapping[str, int]) -> list[str]:
    """Name values that the schema refuses, for reasons such as: duration_s is negative."""
    texts: list[str] = []
    for reason in bad:
        match = re.fullmatch(r"(\w+) is (\w+)", reason)
        if " is not " in reason:
            # the sheets have named those
            continue
        cells = match and [
            text for sheet in dump.sheets for text in sheet.unfit_examples(match[1], match[2], 1)
        ]
        texts += cells[:1] if cells else _row_by_id(engine, rows, reason)
    return texts[:_SHOWN]


def _row_by_id(engine: Engine, rows: ibis.Table, reason: str) -> list[str]:
    """Name a damaged row by id and value, where the value is made from several cells."""
    column = reason.split(" ")[0]
    if column not in rows.columns:
        return []
    key = next((name for name in _KEYS if name in rows.columns), rows.columns[0])
    damaged = engine.to_pandas(rows.filter(rows[REASON] == BAD + reason).limit(1))
    return [f"{key} {row[key]}: {reason} ({row[column]})." for _, row in damaged.iterrows()]
