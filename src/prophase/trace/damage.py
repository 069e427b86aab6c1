"""Stop an import whose rows are damaged, and show where: file, line and value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import ibis

from prophase.errors import BadRowsError, InputError
from prophase.trace.dump import Dump
from prophase.trace.engine import BadLine, Engine
from prophase.trace.sheet import BAD, REASON

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
