"""Is this trace sound? Checks that find, explain and count defects before they cost a result."""

from prophase.trace.lint.finding import SEVERITIES, Finding, LintReport, Severity
from prophase.trace.lint.linting import lint, lint_tables
from prophase.trace.lint.registry import Check, all_checks

__all__ = [
    "SEVERITIES",
    "Check",
    "Finding",
    "LintReport",
    "Severity",
    "all_checks",
    "lint",
    "lint_tables",
]
