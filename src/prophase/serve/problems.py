"""Errors over HTTP: the words of the command line, as problem+json (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from prophase.errors import (
    DatabaseError,
    ExecutorError,
    InputError,
    MissingExtraError,
    MissingFileError,
    ModelFileError,
    ParameterError,
    ProphaseError,
    RefusedError,
    StorageError,
    WorkspaceError,
)

#: the first class that fits decides
_STATUS: tuple[tuple[type[ProphaseError], int], ...] = (
    (MissingFileError, 404),
    (InputError, 422),
    (ParameterError, 422),
    (RefusedError, 409),
    (WorkspaceError, 409),
    (MissingExtraError, 501),
    (ExecutorError, 502),
    (DatabaseError, 503),
    (ModelFileError, 503),
    (StorageError, 507),
)


class Problem(ProphaseError):
    """What only a service refuses, with its HTTP status."""

    def __init__(self, status: int, words: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(words)
        self.status, self.headers = status, headers or {}


def status_of(error: ProphaseError) -> int:
    """Return the HTTP status of an error.

    Examples
    --------
    >>> status_of(ParameterError("seed is -1.")), status_of(Problem(404, "no such task"))
    (422, 404)
    """
    if isinstance(error, Problem):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem(
    status: int, words: str, *, code: str = "", headers: dict[str, str] | None = None, **more: Any
) -> JSONResponse:
    """Return an answer of type problem+json."""
    title = HTTPStatus(status).phrase
    content = {"type": "about:blank", "title": title, "status": status, "detail": words}
    return JSONResponse(
        {**content, **({"code": code} if code else {}), **more},
        status,
        headers,
        media_type="application/problem+json",
    )


def install(app: FastAPI) -> None:
    """Make every error of the application a problem."""

    @app.exception_handler(ProphaseError)
    async def _ours(request: Request, error: ProphaseError) -> JSONResponse:
        headers = error.headers if isinstance(error, Problem) else None
        return problem(status_of(error), str(error), code=type(error).__name__, headers=headers)

    @app.exception_handler(HTTPException)
    async def _theirs(request: Request, error: HTTPException) -> JSONResponse:
        return problem(error.status_code, str(error.detail), headers=dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        errors = [
            {"where": ".".join(map(str, one["loc"])), "what": one["msg"]}
            for one in jsonable_encoder(error.errors(), custom_encoder={bytes: repr})
        ]
        words = "; ".join(f"{one['where']}: {one['what']}" for one in errors[:5])
        return problem(422, f"{words}.", code="InvalidRequest", errors=errors[:20])
