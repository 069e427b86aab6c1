"""Whatever the tables hold, the linter answers."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prophase.trace.lint.check_registry import SEVERITIES, all_checks
from prophase.trace.lint.linter import LintReport, lint_tables
from prophase.trace.schema import SCHEMAS, STATUSES, Column

DTYPES = {"text": "str", "number": "float64"}
FREE = ("attr_a", "attr_split", "after_b", "attr_error_pct", "attr_c_frac")
NAMES = ("a", "b", "c#2", "", "-1", "test", "train", "ü")
NUMBERS = (0.0, 1.0, 0.5, 1e-309, 1e-6, 7.3, 1000.0, 1024.0, 4294967295.0, 2.0**63, 1e12, 1e300)


def column_of(known: Column, rows: int, rng: np.random.Generator) -> pd.Series:
    """Make cells the schema allows: a few odd ones over and over, or many different ones."""
    missing = 0.0 if known.required else rng.choice([0.0, 0.3, 1.0])
    text = known.kind == "text" or (known.kind == "any" and rng.random() < 0.5)
    if known.name == "status":
        cells = rng.choice(STATUSES, rows).tolist()
    elif text:
        cells = rng.choice(NAMES, rows).tolist()
    elif rng.random() < 0.5:
        cells = rng.choice(NUMBERS, rows).tolist()
    else:
        cells = np.exp(rng.normal(rng.normal(0, 5), rng.exponential(3), rows)).tolist()
    if known.high is not None:
        cells = [min(cell, known.high) for cell in cells]
    gone = rng.random(rows) < missing
    cells = [None if lost else cell for lost, cell in zip(gone, cells, strict=True)]
    return pd.Series(cells, dtype="str" if text else "float64")


@st.composite
def tables(draw) -> dict[str, pd.DataFrame]:
    """Draw some of the three tables, with some of their columns."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    drawn = {}
    for name in draw(st.sets(st.sampled_from(list(SCHEMAS)), min_size=1)):
        schema = SCHEMAS[name]
        rows = draw(st.sampled_from([0, 1, 2, 7, 60]))
        wanted = [*schema.names, *(FREE if schema.prefixes else ("metric",))]
        share = draw(st.floats(0, 1))
        chosen = [column for column in wanted if rng.random() < share]
        needed = [column.name for column in schema if column.required]
        columns = {column: schema.get(column) for column in dict.fromkeys([*needed, *chosen])}
        drawn[name] = pd.DataFrame(
            {key: column_of(known, rows, rng) for key, known in columns.items() if known}
        )
    return drawn


def well_formed(report: LintReport) -> None:
    for finding in report.findings:
        assert finding.check in all_checks()
        assert finding.severity in SEVERITIES
        assert finding.rows >= 0
        assert 0 <= finding.share <= 1
        assert finding.explanation
        assert finding.advice
    order = [SEVERITIES.index(finding.severity) for finding in report.findings]
    assert order == sorted(order)
    json.dumps(report.to_dict(), allow_nan=False)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), tables())
def test_random_tables_are_answered_with_well_formed_findings(first, second):
    inputs = [str(column) for column in first.get("jobs", pd.DataFrame()).columns]
    well_formed(lint_tables(first, test=second, inputs=inputs))


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("rows", [0, 1, 50])
def test_tables_with_every_column_missing_are_answered(name, rows):
    frame = pd.DataFrame(
        {
            column.name: pd.Series(
                [None] * rows, dtype="str" if column.kind == "text" else "float64"
            )
            for column in SCHEMAS[name]
        }
    )
    well_formed(lint_tables({name: frame}))


def test_no_tables_at_all_are_answered():
    assert lint_tables({}).findings == []


def test_the_same_trace_gives_the_same_report_twice(sound):
    sound["jobs"].loc[:20, "duration_s"] = 0.0
    assert lint_tables(sound).to_dict() == lint_tables(sound).to_dict()


def test_linting_changes_nothing_in_the_tables(sound):
    before = {name: frame.copy() for name, frame in sound.items()}
    lint_tables(sound, test=sound, inputs=["user"])
    for name, frame in sound.items():
        pd.testing.assert_frame_equal(frame, before[name])
