"""Nothing but ``prophase.units`` reads or writes amounts, and nothing but ``plain`` cleans JSON."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import prophase

ROOT = Path(prophase.__file__).parent
#: whole columns are read by expressions; tests/units/test_columns.py compares them with units
COLUMNS = {"trace/readers/nextflow.py", "trace/readers/sacct_cells.py", "trace/text_formats.py"}
#: these tell in which unit a column is, and read nothing
GUESSES = {"trace/mapping/column_traits.py", "trace/mapping/unit_guesses.py"}
STRAYS = {
    "a pattern of memory units": r"\[[KkMmGgTtPpEe]*(?:KMG|kmg|mMgG)[KkMmGgTtPpEe]*\]",
    "a table of memory units": r"[\"'](?:gib|Gi|GiB|g|G)[\"']: ?(?:1\.0|2\*\*30|2\.0\*\*30|1024)",
    "a pattern of time units": r"\(\?*:?(?:ms\|)?(?:s|d)\|(?:m|h)\|",
    "a table of time units": r"[\"'](?:h|hour|hours)[\"']: ?3_?600",
    "a number without NaN": r"def \w+\((\w+): float\) -> float \| None:\n    return .*isfinite",
    "MiB rounded up": r"ceil\((?:1024 \*|\w+ \* 1024)",
    "a number made short": r"float\(f[\"']\{[^}]+:\.\dg\}",
}


def sources() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("units/") and name not in COLUMNS | GUESSES | {"plain.py"}:
            yield name, path.read_text(encoding="utf-8")


@pytest.mark.parametrize("what", STRAYS)
def test_amounts_are_read_and_written_in_one_place(what):
    pattern = re.compile(STRAYS[what])
    assert [name for name, text in sources() if pattern.search(text)] == []


def test_no_other_function_is_a_number_to_text_or_makes_json_finite():
    known = re.compile(
        r"_?(finite_or_none|jsonable|number_text|format_(cell|number)|say_\w+|cell_text)"
    )
    found = [
        f"{name}: {node.name}"
        for name, text in sources()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and known.fullmatch(node.name)
    ]
    assert found == []


def test_the_patterns_of_strays_find_strays():
    seen = {
        "a pattern of memory units": '_SIZE = r"([KMGT]?)B"',
        "a table of memory units": '{"g": 1.0}',
        "a pattern of time units": 'r"(ms|s|m|min|h|d)?"',
        "a table of time units": '{"h": 3600.0}',
        "a number without NaN": "def _known(value: float) -> float | None:\n"
        "    return value if math.isfinite(value) else None",
        "MiB rounded up": "math.ceil(1024 * gib)",
        "a number made short": "float(f'{value:.3g}')",
    }
    assert [what for what in STRAYS if not re.search(STRAYS[what], seen[what])] == []
