"""Import: a raw file becomes tables of the workspace, as a task."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from prophase.errors import storage_error
from prophase.json_types import JsonObject
from prophase.serve.api.tasks import LATER, Wait, begin
from prophase.serve.dependencies import Caller, TasksNow, WorkspaceCacheNow, require
from prophase.serve.json_bodies import JsonRoute
from prophase.serve.problems import Problem
from prophase.trace.workspace_paths import UPLOADS

router = APIRouter(route_class=JsonRoute, tags=["workspace"])
_NAME = r"^[A-Za-z0-9_\-][A-Za-z0-9_.\-]*$"
_BYTES = {"schema": {"type": "string", "format": "binary"}}


@router.post(
    "/import",
    dependencies=[Depends(require("admin"))],
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/octet-stream": _BYTES}}
    },
    **LATER,
)
async def import_file(
    request: Request,
    library: WorkspaceCacheNow,
    tasks: TasksNow,
    who: Caller,
    response: Response,
    name: Annotated[str, Query(max_length=100, pattern=_NAME, examples=["jobs.csv"])],
    source: Annotated[str | None, Query(max_length=40, pattern=r"^[a-z0-9\-]+$")] = None,
    mapping: Annotated[
        str | None, Query(max_length=20_000, description="TOML that says which column is which.")
    ] = None,
    keep: Annotated[list[str] | None, Query(max_length=20)] = None,
    max_bad: Annotated[float, Query(ge=0, le=1)] = 0.01,
    mode: Literal["new", "replace", "append"] = "new",
    wait: Wait = 0.0,
) -> JsonObject:
    """Read a file into the workspace. The result is that of `prophase import`.

    The body is the file itself, `name` what it is called. Without a `source` the file is
    recognised; columns in words of their own are guessed, and the result holds the `mapping` that
    was used and what it is `unsure` of: send it again, corrected, with `mode=replace`.
    """
    body = await request.body()
    if not body:
        raise Problem(422, f"{name}: is empty. Send the file as the body of the request.")
    upload = secrets.token_hex(8)
    await asyncio.to_thread(_keep, library.workspace.folder / UPLOADS / upload, name, body)
    arguments = {
        "upload": upload, "name": name, "source": source, "mapping": mapping,
        "keep": keep or [], "max_bad": max_bad, "mode": mode,
    }  # fmt: skip
    return await begin(tasks, "import", arguments, who, response, wait)


def _keep(room: Path, name: str, body: bytes) -> None:
    try:
        room.mkdir(parents=True)
        (room / name).write_bytes(body)
    except OSError as cause:
        raise storage_error(cause, name) from cause
