"""Errors over HTTP: the words of the command line, as problem+json (RFC 9457)."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from prophase import errors
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

    def __init__(
        self, status: int, words: str, headers: dict[str, str] | None = None, code: str = "Problem"
    ) -> None:
        super().__init__(words)
        self.status, self.headers, self.code = status, headers or {}, code


def status_of(error: ProphaseError) -> int:
    """Return the HTTP status of an error.

    Examples
    --------
    >>> status_of(ParameterError("seed is -1.")), status_of(Problem(404, "no such task"))
    (422, 404)
    """
    return error.status if isinstance(error, Problem) else _status(type(error))


def failed_task(words: str, code: str | None, address: str) -> Problem:
    """Return the problem of a task that failed while its caller waited, as if it had been asked.

    Examples
    --------
    >>> failed_task("seed is -1.", "ParameterError", "/v1/tasks/4f").status
    422
    """
    kind = getattr(errors, code or "", ProphaseError)
    return Problem(_status(kind), words, {"location": address}, code or "ProphaseError")


def _status(error: type[ProphaseError]) -> int:
    return next((status for kind, status in _STATUS if issubclass(error, kind)), 500)


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


#: makes a page of a problem: request, status, words
ProblemPage = Callable[[Request, int, str], Response]


def install(app: FastAPI, page: ProblemPage) -> None:
    """Make every error of the application a problem, or a page where a browser asks for one."""

    def answer(
        request: Request, status: int, words: str, code: str, headers: dict[str, str], **more: Any
    ) -> Response:
        if not wants_page(request):
            return problem(status, words, code=code, headers=headers, **more)
        if status == 401:
            asked = request.url.path
            return RedirectResponse(f"/login?next={quote(asked)}", 303)
        return page(request, status, words)

    @app.exception_handler(ProphaseError)
    async def _ours(request: Request, error: ProphaseError) -> Response:
        code, headers = type(error).__name__, {}
        if isinstance(error, Problem):
            code, headers = error.code, error.headers
        return answer(request, status_of(error), str(error), code, headers)

    @app.exception_handler(HTTPException)
    async def _theirs(request: Request, error: HTTPException) -> Response:
        words = str(error.detail)
        if error.status_code == 404 and words == "Not Found":
            words = "there is nothing at this address. See /v1/openapi.json for all there is."
        headers = dict(error.headers or {})
        return answer(request, error.status_code, words, type(error).__name__, headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        errors = [
            {"where": ".".join(map(str, one["loc"])), "what": one["msg"]} for one in error.errors()
        ]
        words = "; ".join(f"{one['where']}: {one['what']}" for one in errors[:5])
        status = 400 if any(one["type"] == "json_invalid" for one in error.errors()) else 422
        return answer(request, status, f"{words}.", "InvalidRequest", {}, errors=errors[:20])


def wants_page(request: Request) -> bool:
    """Say whether a browser asks for a page."""
    told = request.headers.get("accept", "")
    return "text/html" in told and not request.url.path.startswith("/v1/")
