"""Run every check that applies to a trace, and report the findings in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from prophase.errors import InputError, MissingFileError, ParameterError
from prophase.json_types import JsonObject
from prophase.trace import source_files as files
from prophase.trace.lint.check_registry import (
    SEVERITIES,
    LintFinding,
    LintSubject,
    Severity,
    all_checks,
)
from prophase.trace.lint.raw_file import RawFile, scan_raw_files
from prophase.trace.reader import Reader, all_readers, guess_reader, reader_named
from prophase.trace.schema import JOBS
from prophase.trace.staged_tables import TableCount
from prophase.trace.trace_tables import Trace, open_trace
from prophase.trace.workspace import Workspace

#: damaged rows are reported, not refused
_ANY_DAMAGE = 1.0


@dataclass(frozen=True)
class LintReport:
    """All findings about one trace, worst first, and what was looked at."""

    findings: Sequence[LintFinding]
    checked: JsonObject = field(default_factory=dict)
    data_hash: str = ""

    def count(self, severity: Severity) -> int:
        """Return how many findings have that severity."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def sound(self) -> bool:
        """True when nothing was found that makes results wrong."""
        return self.count("error") == 0

    def to_dict(self) -> JsonObject:
        return {
            "findings": [asdict(finding) for finding in self.findings],
            "checked": dict(self.checked),
            "data_hash": self.data_hash,
        }


def lint(
    path: Path | str,
    *,
    source: str | None = None,
    test: Path | str | None = None,
    inputs: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> LintReport:
    """Look for defects in a trace and return what was found.

    Parameters
    ----------
    path : path
        A workspace, or the file or folder of a dump.
    source : str, optional
        Name of the reader; without it files are recognised by their columns.
    test : path, optional
        The other side of a split: a workspace or dump that ``path`` must not leak into.
    inputs : sequence of str, optional
        Columns a prediction is going to use. In a workspace the default is ``[inputs]
        columns`` of its ``prophase.toml``.
    options : mapping, optional
        Settings of the reader, as for an import.

    Returns
    -------
    LintReport
        Findings, worst first; ``report.sound`` is False if one is an error.
    """
    root = Path(path)
    held_out = {} if test is None else _test_tables(Path(test), source, options)
    if source is None and Workspace.is_at(root):
        return _lint_workspace(Workspace(root), held_out, inputs)
    reader = _reader_of(root, source)
    with TemporaryDirectory(prefix="prophase-lint-") as scratch:
        raw = scan_raw_files(root, reader.patterns if reader else (), Path(scratch))
        trace, refusal = _read(root, reader, options, raw)
        subject = LintSubject(
            tables=trace.tables if trace else {},
            files=raw,
            counts=trace.report.tables if trace and trace.report else {},
            fills=reader.fills if reader else {},
            refusal=refusal,
            inputs=_known_inputs(inputs, trace.tables if trace else {}),
            test=held_out,
            source=reader.name if reader else "",
            clock=trace.clock if trace else "relative",
        )
        data_hash = trace.data_hash if trace else _hash_of_files(root)
        return _run(subject, data_hash)


def lint_tables(
    tables: Mapping[str, pd.DataFrame],
    *,
    test: Mapping[str, pd.DataFrame] | None = None,
    inputs: Sequence[str] = (),
    clock: str = "relative",
) -> LintReport:
    """Look for defects in tables that are in memory.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "start_s": [5.0, 9.0], "end_s": [8.0, 2.0]})
    >>> [(f.check, f.severity, f.where) for f in lint_tables({"jobs": jobs}).findings]
    [('end-before-start', 'error', ('b',))]
    """
    subject = LintSubject(
        tables=tables, test=test or {}, inputs=_known_inputs(inputs, tables), clock=clock
    )
    return _run(subject, "")


def _lint_workspace(
    workspace: Workspace, held_out: Mapping[str, pd.DataFrame], inputs: Sequence[str]
) -> LintReport:
    trace = open_trace(workspace.folder, by_column=True)
    entries = workspace.tables
    counts = {
        name: TableCount(**entry.report["tables"][name])
        for name, entry in entries.items()
        if name in entry.report.get("tables", {})
    }
    known = all_readers().get(trace.source)
    subject = LintSubject(
        tables=trace.tables,
        counts=counts,
        fills=known.fills if known else {},
        inputs=_known_inputs(inputs or _declared_inputs(workspace), trace.tables),
        test=held_out,
        source=trace.source,
        clock=trace.clock,
    )
    return _run(subject, trace.data_hash)


def _run(subject: LintSubject, data_hash: str) -> LintReport:
    checks = all_checks().values()
    ran = [one for one in checks if one.applies(subject)]
    # ratios of odd values may overflow; the checks compare, they do not compute results
    with np.errstate(all="ignore"):
        findings = [finding for one in ran for finding in one.run(subject)]
    findings.sort(key=lambda f: (SEVERITIES.index(f.severity), -f.rows, f.check, f.place))
    checked: JsonObject = {
        "source": subject.source,
        "tables": {name: len(frame) for name, frame in subject.tables.items()},
        "files": {file.name: file.rows for file in subject.files},
        "inputs": list(subject.inputs),
        "checks": [one.name for one in ran],
        "checks_without_data": [one.name for one in checks if one not in ran],
        "not_checked": _not_checked(subject),
    }
    return LintReport(findings, checked, data_hash)


def _not_checked(subject: LintSubject) -> list[str]:
    """Say what was asked for and could not be looked at: silence would pass for a clean bill."""
    sides = {"the trace": subject.tables, "the other side (--test)": subject.test}
    empty = [name for name, tables in sides.items() if not len(tables.get("jobs", ()))]
    if not subject.test or not empty:
        return []
    verb = "have" if len(empty) > 1 else "has"
    return [f"Leakage between the sides was not checked: {' and '.join(empty)} {verb} no jobs."]


def _reader_of(root: Path, source: str | None) -> Reader | None:
    """Return the reader that was named or that recognises the files, or none."""
    if source is not None:
        return reader_named(source)
    files.files_below(root)
    try:
        return guess_reader(root)
    except ParameterError:
        return None


def _read(
    root: Path, reader: Reader | None, options: Mapping[str, str] | None, raw: Sequence[RawFile]
) -> tuple[Trace | None, InputError | None]:
    """Return the tables, or why the reader gave up; that is a finding, not a failure."""
    if reader is None:
        if not raw:
            raise MissingFileError(
                f"{root}: no reader recognises these files and none is a text table. "
                "Name the source with --source, or point to the folder of a trace."
            )
        return None, None
    try:
        return open_trace(root, source=reader.name, options=options, max_bad=_ANY_DAMAGE), None
    except MissingFileError:
        raise
    except InputError as refusal:
        return None, refusal


def _test_tables(
    path: Path, source: str | None, options: Mapping[str, str] | None
) -> Mapping[str, pd.DataFrame]:
    named = None if Workspace.is_at(path) else source
    return open_trace(path, source=named, options=options, max_bad=_ANY_DAMAGE).tables


def _declared_inputs(workspace: Workspace) -> list[str]:
    """Return the columns that ``[inputs] columns = [...]`` of the settings names."""
    declared = workspace.settings.get("inputs", {})
    columns = declared.get("columns", []) if isinstance(declared, Mapping) else declared
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise ParameterError(
            f"{workspace.folder}/prophase.toml: [inputs] is {declared!r}. "
            'Write it as: [inputs] and below it columns = ["user", "task"].'
        )
    return columns


def _known_inputs(inputs: Sequence[str], tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Refuse an input that neither the schema nor the job table knows."""
    jobs = tables.get("jobs", pd.DataFrame())
    for name in inputs:
        if name not in jobs and name not in JOBS.names:
            columns = [str(column) for column in jobs.columns]
            raise ParameterError.among(
                f"input {name!r}: the job table has no such column.",
                name,
                columns,
                heading="It has",
                none="nothing",
            )
    return list(inputs)


def _hash_of_files(root: Path) -> str:
    return files.combined_hash([files.file_hash(path) for path in files.files_below(root)])
