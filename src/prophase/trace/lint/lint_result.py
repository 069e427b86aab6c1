"""What is wrong with a trace, as a result."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from prophase import units
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import Result
from prophase.trace.lint.check_registry import SEVERITIES, LintFinding
from prophase.trace.lint.linter import LintReport

_WIDTH = 100
_INDENT = " " * 9
#: people see fewer examples than JSON and CSV have, because ids may be long
_EXAMPLES = 3


def lint_result(report: LintReport) -> Result:
    """Return what was found: for people a paragraph per finding, for programs a row."""
    return Result(
        "lint",
        notes=list(_lines(report)),
        records=_rows(report),
        values=finite(report.to_dict()),
    )


def _lines(report: LintReport) -> Iterator[str]:
    """Yield a line per finding with its reason and recommendation below, then what was checked."""
    places = [len(finding.check) for finding in report.findings]
    for finding in report.findings:
        yield from _paragraph(finding, max(places))
    if report.findings:
        yield ""
    yield _summary(report)
    yield from _left_out(report)


def _paragraph(finding: LintFinding, name_width: int) -> Iterator[str]:

    count = (
        f"{counted(finding.rows, 'row')} ({units.percent(finding.share)})" if finding.rows else ""
    )
    head = f"{finding.severity:<7}  {finding.check:<{name_width}}  {finding.place}  {count}"
    yield head.rstrip()
    if finding.where:
        yield from _wrapped("e.g. " + ", ".join(finding.where[:_EXAMPLES]))
    yield from _wrapped(finding.explanation)
    yield from _wrapped(finding.advice)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(report: LintReport) -> str:
    checked = report.checked
    what = [f"{counted(rows, 'row')} of {name}" for name, rows in checked["tables"].items()]
    what += [counted(len(checked["files"]), "file")] if checked["files"] else []
    words = {"error": "error", "warning": "warning", "info": "remark"}
    counts = ", ".join(counted(report.count(s), words[s]) for s in SEVERITIES)
    checks = counted(len(checked["checks"]), "check")
    return f"{counts} from {checks} on {', '.join(what) or 'nothing'}."


def _left_out(report: LintReport) -> Iterator[str]:
    yield from report.checked["not_checked"]
    if not report.checked["source"] and not report.checked["tables"]:
        yield (
            "No reader recognises these files, so only the files themselves were checked. "
            "Name the source with --source."
        )
    skipped = len(report.checked["checks_without_data"])
    if skipped:
        yield f"{counted(skipped, 'check')} had nothing to look at (--format json names them)."


def _rows(report: LintReport) -> list[JsonObject]:
    return [
        {
            "severity": finding.severity,
            "check": finding.check,
            "table": finding.table,
            "column": finding.column,
            "rows": finding.rows,
            "share": round(finding.share, 6),
            "where": "; ".join(finding.where),
            "explanation": finding.explanation,
            "advice": finding.advice,
        }
        for finding in report.findings
    ]
