"""The reports of a workspace: one folder each, below ``reports``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from prophase.result.json_form import FORMAT

#: folder of a workspace that holds its reports
FOLDER = "reports"


@dataclass(frozen=True)
class StoredReport:
    """A report on disk: its name, what it asks and answers, and its folder."""

    name: str
    title: str
    question: str
    answer: str
    tone: str
    folder: Path
    written_s: float
    #: that made it, as it was typed
    command: str = ""

    @property
    def page(self) -> Path:
        """The report as a page."""
        return self.folder / "report.html"

    @property
    def json(self) -> Path:
        """The report as data."""
        return self.folder / "report.json"


def stored_reports(workspace: str | Path) -> list[StoredReport]:
    """Return the reports of a workspace, newest first; damaged ones are passed over.

    Examples
    --------
    >>> stored_reports("no such workspace")
    []
    """
    found = [_look(path) for path in sorted(Path(workspace, FOLDER).glob("*/report.json"))]
    held = [report for report in found if report is not None]
    return sorted(held, key=lambda report: report.written_s, reverse=True)


def _look(path: Path) -> StoredReport | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            return None
        words = {key: str(document.get(key, "")) for key in ("question", "answer")}
        written_s = path.stat().st_mtime
        return StoredReport(
            path.parent.name,
            str(document["title"]),
            **words,
            tone=str(document.get("tone") or document.get("verdict", "")),
            folder=path.parent,
            written_s=written_s,
            command=str((document.get("provenance") or {}).get("command", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
