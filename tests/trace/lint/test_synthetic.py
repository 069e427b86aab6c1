"""Synthetic traces are sound: the linter must not cry over them."""

from __future__ import annotations

import pytest

from prophase.trace.lint.linter import lint_tables
from prophase.trace.synth.generator import all_generators


@pytest.mark.parametrize("name", all_generators())
def test_a_synthetic_trace_gives_no_finding_above_info(name):
    trace = all_generators()[name].make(random_state=1)
    report = lint_tables(trace.tables, clock=trace.clock)
    assert [(f.check, f.place) for f in report.findings if f.severity != "info"] == []
