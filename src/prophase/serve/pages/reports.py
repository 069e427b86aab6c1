"""Reports: what studies of this workspace have found, to open and to keep."""

from __future__ import annotations

import filecmp
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from prophase.result.stored import FOLDER, stored_reports
from prophase.serve.dependencies import LoadedWorkspaceNow
from prophase.serve.pages.table_view import (
    Format,
    ViewNow,
    as_csv,
    choices,
    rows_table,
    shown_part,
)
from prophase.serve.pages.templates import page
from prophase.serve.problems import Problem

router = APIRouter()

#: a report is a page of its own: its styles are written into it, and it runs nothing
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox allow-popups"
)


@dataclass(frozen=True)
class ListedReport:
    """A report of the workspace."""

    name: str
    title: str
    answer: str
    verdict: str
    written_s: float
    path: Path
    json: Path | None

    @property
    def written(self) -> str:
        """When it was written, in UTC."""
        return datetime.fromtimestamp(self.written_s, UTC).isoformat(" ", "minutes")[:16]


#: what the verdict of a report is called
_VERDICTS = {"good": "proven", "warning": "undecided", "bad": "fails"}


@router.get("/reports")
def reports(
    request: Request, held: LoadedWorkspaceNow, view: ViewNow, form: Format = "page"
) -> Response:
    """List the reports of the workspace, by words, verdict and when they were written."""
    table = rows_table(
        [
            {"name": one.name, "title": one.title, "answer": one.answer,
             "verdict": _VERDICTS.get(one.verdict), "written": one.written,
             "written_s": one.written_s, "json": one.json is not None}
            for one in listed(held.workspace.folder)
        ]
    )  # fmt: skip
    rows, wrong = view.chosen(table, clock="unix", time="written_s")
    if form == "csv":
        return as_csv(rows.drop(columns=["written_s", "json"], errors="ignore"), "reports")
    return page(
        request,
        "reports.html",
        section="reports",
        status=422 if wrong else 200,
        wrong=wrong,
        offered={key: one for key, one in choices(table).items() if key == "verdict"},
        any=len(table) > 0,
        tones={words: tone for tone, words in _VERDICTS.items()},
        **shown_part(rows, view),
    )


@router.get("/reports/{name}")
def open_report(held: LoadedWorkspaceNow, name: str) -> Response:
    """Open a report. Only names that the list has are looked for on disk."""
    one = _named(held.workspace.folder, name)
    return FileResponse(
        one.path, media_type="text/html", headers={"content-security-policy": _POLICY}
    )


@router.get("/reports/{name}/json")
def report_as_json(held: LoadedWorkspaceNow, name: str) -> Response:
    """Return a report as data."""
    one = _named(held.workspace.folder, name)
    if one.json is None:
        raise Problem(404, f"the report {name!r} is a page alone.")
    return FileResponse(one.json, media_type="application/json")


def listed(folder: Path) -> list[ListedReport]:
    """Return all reports: those with data beside them first, then plain pages."""
    found = [
        ListedReport(
            one.name, one.title, one.answer or one.question, one.tone,
            one.written_s, one.page, one.json,
        )
        for one in stored_reports(folder)
        if one.page.is_file()
    ]  # fmt: skip
    told = [one.path for one in found]
    for path in sorted([*folder.glob("*.html"), *(folder / FOLDER).glob("*.html")]):
        if path.is_file() and not path.is_symlink() and not _is_copy(path, told):
            written_s = path.stat().st_mtime
            found.append(ListedReport(path.name, path.stem, "", "note", written_s, path, None))
    return found


def _is_copy(path: Path, told: list[Path]) -> bool:
    """Say whether a page is one of the reports, put where it is found at once."""
    return any(filecmp.cmp(path, one, shallow=False) for one in told)


def _named(folder: Path, name: str) -> ListedReport:
    one = next((one for one in listed(folder) if one.name == name), None)
    if one is None:
        raise Problem(404, f"there is no report {name!r}. See /reports for all.")
    return one
