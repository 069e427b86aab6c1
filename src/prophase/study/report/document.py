"""A report as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prophase.errors import FormatError, storage_error
from prophase.plain import finite
from prophase.study.report.charts import Chart
from prophase.study.report.parts import (
    Answer,
    DataUsed,
    Measure,
    Reproduction,
    ResultTable,
    Step,
)
from prophase.study.report.report import Finding, Report

#: what a report file says it is
FORMAT = "prophase-report"
FORMAT_VERSION = 1
_LISTS = {"facts": Measure, "data": DataUsed, "apply": Step, "answers": Answer}
_OF_FINDING = {"tables": ResultTable, "charts": Chart}


def to_dict(report: Report) -> dict[str, Any]:
    """Return a report as plain values that fit into JSON.

    Examples
    --------
    >>> document = to_dict(Report("Sizing", question="How much?"))
    >>> document["format"], document["question"]
    ('prophase-report', 'How much?')
    """
    held = finite(report)
    for part in held["findings"]:
        # finished figures lie beside the report as files
        del part["figures"]
    return {"format": FORMAT, "format_version": FORMAT_VERSION, **held}


def from_dict(document: Mapping[str, Any], *, name: str = "report") -> Report:
    """Return the report that `to_dict` was given.

    Raises
    ------
    FormatError
        If the document is no report, or one of a newer version.

    Examples
    --------
    >>> from_dict(to_dict(Report("Sizing", question="How much?"))).title
    'Sizing'
    """
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise FormatError(
            f'{name}: is no report of Prophase: it lacks "format": "{FORMAT}". '
            "Name a report.json that prophase wrote."
        )
    version = document.get("format_version")
    if version != FORMAT_VERSION:
        raise FormatError(
            f"{name}: has report format {version}, and this version reads {FORMAT_VERSION}. "
            "Update prophase, or write the report again."
        )
    values = {k: v for k, v in document.items() if k not in ("format", "format_version")}
    try:
        for key, kind in _LISTS.items():
            values[key] = [kind(**item) for item in values.get(key, ())]
        values["findings"] = [_finding(item) for item in values.get("findings", ())]
        again = values.get("reproduce")
        values["reproduce"] = Reproduction(**again) if again else None
        return Report(**values)
    except (TypeError, AttributeError) as cause:
        raise FormatError(f"{name}: is damaged: {cause}. Write the report again.") from cause


def read_report(path: str | Path) -> Report:
    """Read a report from its JSON file."""
    path = Path(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise storage_error(cause, path) from cause
    except ValueError as cause:
        raise FormatError(
            f"{path}: is no JSON ({cause}). Name a report.json that prophase wrote."
        ) from cause
    return from_dict(document, name=str(path))


def _finding(item: Mapping[str, Any]) -> Finding:
    parts = {key: [kind(**one) for one in item.get(key, ())] for key, kind in _OF_FINDING.items()}
    return Finding(**{**item, **parts})
