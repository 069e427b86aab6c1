"""Reports: what studies of this workspace have found."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.responses import FileResponse, Response

from prophase.errors import not_among, storage_error
from prophase.json_types import JsonObject
from prophase.result.stored import StoredReport, stored_reports
from prophase.serve.dependencies import LoadedWorkspaceNow, require
from prophase.serve.json_bodies import JsonRoute
from prophase.serve.problems import Problem

router = APIRouter(route_class=JsonRoute, tags=["reports"], dependencies=[Depends(require("read"))])
ReportName = Annotated[str, Path(min_length=1, max_length=200)]
#: a report is a page of its own: its styles are written into it, and it runs nothing
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox"
)


@router.get("/reports")
def reports(held: LoadedWorkspaceNow) -> list[JsonObject]:
    """List the reports of the workspace, newest first."""
    return [
        {
            "name": one.name,
            "title": one.title,
            "question": one.question,
            "answer": one.answer,
            "verdict": one.tone,
            "written_at": datetime.fromtimestamp(one.written_s, UTC).isoformat(timespec="seconds"),
        }
        for one in stored_reports(held.workspace.folder)
    ]


@router.get("/reports/{name}")
def report(name: ReportName, held: LoadedWorkspaceNow) -> JsonObject:
    """Return a report as data."""
    path = _named(held, name).json
    try:
        found: JsonObject = json.loads(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise storage_error(cause, path.name) from cause
    return found


@router.get("/reports/{name}/page", response_class=FileResponse)
def report_page(name: ReportName, held: LoadedWorkspaceNow) -> Response:
    """Return a report as one self-contained page."""
    one = _named(held, name)
    if not one.page.is_file():
        raise Problem(404, f"the report {name!r} has no page.")
    headers = {"content-security-policy": _POLICY}
    return FileResponse(one.page, media_type="text/html", headers=headers)


def _named(held: LoadedWorkspaceNow, name: str) -> StoredReport:
    """Return a report that the list has; no other name reaches the disk."""
    found = {one.name: one for one in stored_reports(held.workspace.folder)}
    if name not in found:
        raise Problem(404, not_among(f"there is no report {name!r}.", name, found))
    return found[name]
